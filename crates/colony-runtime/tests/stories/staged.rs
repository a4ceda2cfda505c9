//! A version beside another: what is active is not touched before the swap,
//! and of what was staged nothing is left after it.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use colony_core::node::{Health, Status, staged};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, interval, timeout};

use super::world::{App, World};

const WEB: &str = "
services:
  web:
    image: IMAGE
    command: ['/bin/sh', '-c', \"trap 'exit 0' TERM; echo VERSION up; echo VERSION > /www/index.html; httpd -p 8080 -h /www; sleep 3600 & wait\"]
    ports: ['PORT:8080']
    depends_on: [side]
    healthcheck: { test: ['CMD', '/bin/wget', '-q', '-O', '/dev/null', 'http://web:8080/'], interval: 1s, timeout: 5s }
  side: { image: IMAGE, stop_grace_period: 0s }
";
/// Tolerates what it writes, and a user depends on it.
const DATA: &str = "
services:
  db: { image: IMAGE, stop_grace_period: 0s, command: ['/bin/sh', '-c', 'echo VERSION >> /data/log; sleep 3600'], volumes: ['data:/data'] }
  web: { image: IMAGE, stop_grace_period: 0s, depends_on: [db], healthcheck: { test: ['CMD', '/bin/false'] } }
  free: { image: IMAGE, stop_grace_period: 0s }
volumes: { data: {} }
";

/// Stage, look, restart the node, unstage: the old one never notices.
pub(crate) async fn beside_what_runs(world: &mut World) {
    let port = free_port();
    let [old, new] = versions(world, "beside", WEB, port);
    install(world, &old).await;
    let before = life(world, "colony-n1-beside-web-web");

    world.node.prepare(&new).await.unwrap();
    world.node.stage(&new).await.unwrap();
    let beside = world.node.until_staged(&new).await;
    assert_eq!(beside.len(), 2);
    assert!(beside.values().all(|it| it.fingerprint == staged(new.fingerprint)));
    assert_eq!(life(world, "colony-n1-beside-web-web"), before);
    assert_eq!(ask(port).await.as_deref(), Some("one"));
    let twin = world.engine.ask("GET", "/containers/colony-n1-beside-staged-web-web/json");
    assert_eq!(twin["Config"]["Labels"]["colony.staged"], "true");
    assert!(is_empty(&twin["HostConfig"]["PortBindings"]), "{}", twin["HostConfig"]);
    let inside = twin["NetworkSettings"]["Networks"].as_object().unwrap();
    let own = |it: &String| it.starts_with("colony-n1-beside-staged-default-");
    assert!(inside.keys().all(own), "{inside:?}");
    let said = [("web", "one up"), ("web (staged)", "two up")];
    world.node.until_said(&new, &said).await;

    // Doing it again, another process and the cleaning change nothing.
    world.node.stage(&new).await.unwrap();
    world.restart_node().await;
    let needed = BTreeSet::from([old.fingerprint, new.fingerprint]);
    world.node.runtime.collect(&needed).await.unwrap();
    assert_eq!(world.node.until_staged(&new).await, beside);
    world.node.clear(&old, Some(old.fingerprint)).await.unwrap();
    assert_eq!(world.node.look_staged(&new).await.len(), 2, "clearing is about active ones");
    assert_eq!(ahead(world), 2, "what is to take over waits");

    for _ in 0..2 {
        world.node.unstage(&new).await.unwrap();
    }
    assert!(world.node.look_staged(&new).await.is_empty());
    assert_eq!((ahead(world), networks(world)), (0, 1));
    assert_eq!(life(world, "colony-n1-beside-web-web"), before);
    assert_eq!(ask(port).await.as_deref(), Some("one"));
    world.node.remove(&old).await;
    assert_eq!(networks(world), 0);
}

/// The swap: the new one answers where the old one did.
pub(crate) async fn a_swap(world: &World) {
    let port = free_port();
    let [old, new] = versions(world, "swap", WEB, port);
    install(world, &old).await;
    let plain = gap(port, "one", "two", replace(world, &old, &new)).await;
    world.node.clear(&new, None).await.unwrap();
    install(world, &old).await;
    world.node.stage(&new).await.unwrap();
    world.node.until_staged(&new).await;

    let swap = gap(port, "one", "two", replace(world, &old, &new)).await;
    world.node.until_well(&new).await;
    world.node.unstage(&new).await.unwrap();
    assert!(world.node.look_staged(&new).await.is_empty());
    assert_eq!((ahead(world), networks(world)), (0, 1));
    assert_eq!(ask(port).await.as_deref(), Some("two"));
    let kind = world.engine.kind;
    println!("{kind}: no answer for {plain:?}; for {swap:?} with the next one staged");

    // And back in the same way, though the names are in use in another way.
    world.node.stage(&old).await.unwrap();
    world.node.until_staged(&old).await;
    gap(port, "two", "one", replace(world, &new, &old)).await;
    world.node.unstage(&old).await.unwrap();
    assert_eq!(world.node.until_well(&old).await.len(), 2);
    world.node.remove(&old).await;
}

/// A version that does not become healthy is reported with its output.
pub(crate) async fn a_version_that_is_sick(world: &World) {
    let sick = WEB.replace("'/bin/wget', '-q'", "'/bin/false', '-q'").replace("1s", "100ms");
    let port = free_port();
    let old = version(world, "sick-stage", 1, &filled(WEB, "one", port));
    let new = version(world, "sick-stage", 2, &filled(&sick, "two", port));
    install(world, &old).await;
    world.node.prepare(&new).await.unwrap();
    world.node.stage(&new).await.unwrap();
    let seen = world
        .node
        .until_beside(&new, "unhealthy", |it| matches!(it["web"].health, Health::Unhealthy { .. }))
        .await;
    assert_eq!(
        (seen["web"].status, &seen["web"].log),
        (Status::Running, &vec!["two up".to_owned()])
    );
    assert_eq!(world.node.until_well(&old).await.len(), 2);
    world.node.unstage(&new).await.unwrap();
    let kept = world.node.kept_logs(&new).await;
    assert_eq!(kept, [("web (staged)".to_owned(), "two up".to_owned())]);
    assert_eq!(ask(port).await.as_deref(), Some("one"));
    world.node.remove(&old).await;
}

/// What writes data is made and not started, and so is what depends on it.
pub(crate) async fn what_must_not_run_twice(world: &mut World) {
    let [old, new] = versions(world, "data", DATA, 0);
    world.node.prepare(&old).await.unwrap();
    world.node.start_app(&old).await.unwrap();
    world.node.prepare(&new).await.unwrap();
    world.node.stage(&new).await.unwrap();
    let seen = world.node.look_staged(&new).await;
    let shown = |it: &str| (seen[it].status, seen[it].health.clone());
    assert_eq!(shown("db"), (Status::Running, Health::Healthy));
    assert_eq!(shown("web"), (Status::Running, Health::Healthy));
    assert_eq!(shown("free"), (Status::Running, Health::None));
    for (service, never_ran) in [("db", true), ("web", true), ("free", false)] {
        let name = format!("colony-n1-data-staged-web-{service}");
        let state = world.engine.ask("GET", &format!("/containers/{name}/json"))["State"].clone();
        assert_eq!(state["Running"], !never_ran, "{service}: {state}");
    }
    world.restart_node().await;
    world.node.stage(&new).await.unwrap();
    assert_eq!(world.node.look_staged(&new).await, seen);

    world.node.clear(&new, Some(new.fingerprint)).await.unwrap();
    world.node.start_app(&new).await.unwrap();
    world.node.unstage(&new).await.unwrap();
    assert_eq!(world.node.look(&new).await.len(), 3);
    world.node.remove(&new).await;
    let volumes = world.engine.ask("GET", "/volumes").to_string();
    assert!(volumes.contains("colony-n1-data-web-data"), "volumes stay: {volumes}");
}

async fn install(world: &World, app: &App) {
    world.node.prepare(app).await.unwrap();
    world.node.start_app(app).await.unwrap();
    world.node.until_well(app).await;
}

/// As the core has it done.
async fn replace(world: &World, old: &App, new: &App) {
    world.node.prepare(new).await.unwrap();
    world.node.clear(old, Some(new.fingerprint)).await.unwrap();
    assert!(world.node.look(old).await.values().all(|it| it.fingerprint == new.fingerprint));
    world.node.start_app(new).await.unwrap();
}

fn versions(world: &World, name: &str, compose: &str, port: u16) -> [App; 2] {
    [(1, "one"), (2, "two")]
        .map(|(number, word)| version(world, name, number, &filled(compose, word, port)))
}

fn filled(compose: &str, word: &str, port: u16) -> String {
    compose.replace("VERSION", word).replace("PORT", &port.to_string())
}

/// Versions of one deployment come from repositories of their own.
fn version(world: &World, name: &str, number: u32, compose: &str) -> App {
    world.version(name, &format!("{name}-{number}"), compose)
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Which container it is, and since when it runs.
fn life(world: &World, name: &str) -> [Value; 2] {
    let it = world.engine.ask("GET", &format!("/containers/{name}/json"));
    [it["Id"].clone(), it["State"]["StartedAt"].clone()]
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_none_or(serde_json::Map::is_empty)
}

/// Active containers that were made and not started.
fn ahead(world: &World) -> usize {
    let all = world.engine.ask("GET", "/containers/json?all=true");
    let labels = all.as_array().unwrap().iter().filter(|it| it["State"] != "running");
    let waiting = labels.map(|it| &it["Labels"]).filter(|it| !it["colony.waits"].is_null());
    waiting.filter(|it| it["colony.staged"] != "true").count()
}

fn networks(world: &World) -> usize {
    let all = world.engine.ask("GET", "/networks");
    let ours = |it: &&Value| it["Labels"].get("colony.node").is_some();
    all.as_array().unwrap().iter().filter(ours).count()
}

/// From the last answer of one version to the first of the other.
async fn gap(port: u16, from: &str, to: &str, change: impl Future<Output = ()>) -> Duration {
    let probing = async {
        let (mut last, mut pace) = (Instant::now(), interval(Duration::from_millis(2)));
        loop {
            match ask(port).await.as_deref() {
                Some(page) if page == to => return last.elapsed(),
                Some(page) if page == from => last = Instant::now(),
                _ => {}
            }
            pace.tick().await;
        }
    };
    let both = async { tokio::join!(probing, change).0 };
    timeout(Duration::from_secs(60), both).await.expect("the other version answers")
}

/// Waits for an answer: a container without a check runs before it listens.
pub(crate) async fn until_answered(port: u16, expected: &str) {
    let mut seen = None;
    let wait = async {
        while seen.as_deref() != Some(expected) {
            seen = ask(port).await;
            tokio::task::yield_now().await;
        }
    };
    let in_time = timeout(Duration::from_secs(20), wait).await;
    assert!(in_time.is_ok(), "port {port} answers {seen:?}, not {expected}");
}

pub(crate) async fn ask(port: u16) -> Option<String> {
    let asking = async {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut stream = TcpStream::connect(address).await.ok()?;
        let request = b"GET / HTTP/1.0\r\nHost: web\r\n\r\n";
        stream.write_all(request).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        Some(answer.lines().last()?.to_owned())
    };
    timeout(Duration::from_millis(500), asking).await.ok().flatten()
}
