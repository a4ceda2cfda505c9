//! A takeover as clients see it: no connection is refused, and established ones
//! last for the drain time.

mod clients;
mod timing;

use std::net::Ipv4Addr;
use std::process::Command;

use colony_core::margo::Digest;
use serde_json::json;

use self::clients::{Clients, download, lan, page};
pub(crate) use self::timing::timing;
use super::staged::free_port;
use super::world::{App, World, app};
use crate::kit::program::find;

/// `/cgi-bin/slow` sends a line every 100 ms, and `end` after `LINES`.
const WEB: &str = "
services:
  web:
    image: IMAGE
    command: ['/bin/sh', '-c', \"trap 'exit 0' TERM; /bin/busybox mkdir -p /www/cgi-bin; echo VERSION > /www/index.html; \
      echo '#!/bin/sh' > /www/cgi-bin/slow; echo 'echo; i=0; while test $$i -lt LINES; do echo VERSION; i=$$((i+1)); sleep 0.1; done; echo end' >> /www/cgi-bin/slow; \
      /bin/busybox chmod 755 /www/cgi-bin/slow; httpd -p 8080 -h /www; sleep 3600 & wait\"]
    ports: ['PORT:8080']
    healthcheck: { test: ['CMD', '/bin/wget', '-q', '-O', '/dev/null', 'http://web:8080/'], interval: 1s, timeout: 5s }
";

/// Stage, take over, restart the node, end the takeover: no client notices.
pub(crate) async fn no_connection_fails(world: &mut World) {
    let port = free_port();
    let old = version(world, "gapless", "one", 20, port);
    let new = version(world, "gapless", "two", 100_000, port);
    install(world, &old).await;
    stage(world, &new).await;
    assert_eq!(rules(world), 0, "staging redirects nothing");

    let clients = Clients::start(port);
    let slow = download(lan(), port);
    take_over(world, &old, &new).await;
    let lines = slow.join().unwrap();
    assert_eq!(lines.last().map(String::as_str), Some("end"), "{lines:?}");
    assert!(lines[..lines.len() - 1].iter().all(|it| it == "one"), "{lines:?}");
    assert!(rules(world) > 0, "the staged container serves");

    // Another process finds the redirect and ends it.
    world.restart_node().await;
    world.node.until_well(&new).await;
    assert!(rules(world) > 0, "a redirect that leads somewhere stays");
    let [cut, cut_too] = [Ipv4Addr::LOCALHOST.into(), lan()].map(|it| download(it, port));
    world.node.unstage(&new).await.unwrap();
    for lines in [cut, cut_too].map(|it| it.join().unwrap()) {
        assert!(lines.iter().all(|it| it == "two"), "cut after the drain time: {lines:?}");
        assert!(lines.len() > 2, "cut before the drain time: {lines:?}");
    }
    clients.check(world, &["one", "two"]);
    assert_nothing_left(world).await;
    world.node.remove(&new).await;
}

/// The next version fails after it has taken over, so the old one returns.
pub(crate) async fn a_rollback_in_the_middle(world: &World) {
    let port = free_port();
    let old = version(world, "back", "one", 1, port);
    let new = version(world, "back", "two", 1, port);
    install(world, &old).await;
    stage(world, &new).await;
    let clients = Clients::start(port);
    take_over(world, &old, &new).await;

    take_over(world, &new, &old).await;
    assert!(rules(world) > 0, "the staged version serves until the old one is well");
    world.node.until_well(&old).await;
    world.node.unstage(&new).await.unwrap();
    clients.check(world, &["one", "two", "one"]);
    assert_nothing_left(world).await;
    world.node.remove(&old).await;
}

/// A redirect that leads nowhere is removed, also by another process.
pub(crate) async fn a_staged_version_that_ends(world: &mut World) {
    for restart in [false, true] {
        let port = free_port();
        let name = if restart { "ends-unseen" } else { "ends" };
        let old = version(world, name, "one", 1, port);
        let new = version(world, name, "two", 1, port);
        install(world, &old).await;
        stage(world, &new).await;
        take_over(world, &old, &new).await;
        world.node.until_well(&new).await;
        assert!(rules(world) > 0);
        world.engine.kill(&format!("{name}-staged"), "web");
        if restart {
            world.restart_node().await;
        }
        let ended = |it: &std::collections::BTreeMap<_, colony_core::node::Container>| {
            it.values().all(|it| it.status != colony_core::node::Status::Running)
        };
        world.node.until_beside(&new, "ended", ended).await;
        assert_eq!(rules(world), 0);
        assert_eq!(page(Ipv4Addr::LOCALHOST.into(), port).as_deref(), Ok("two"));
        world.node.remove(&new).await;
    }
}

/// The bridge of an external network stays, and is as it was.
pub(crate) async fn in_a_network_that_stays(world: &World) {
    let made =
        world.engine.post("/networks/create", &json!({ "Name": "stays", "Driver": "bridge" }));
    let bridge = format!("br-{}", &made["Id"].as_str().unwrap()[..12]);
    let passes = || {
        let path = format!("/proc/sys/net/ipv4/conf/{bridge}/route_localnet");
        std::fs::read_to_string(path).unwrap().trim() == "1"
    };
    let compose = WEB.replace("http://web:8080", "http://127.0.0.1:8080");
    let compose =
        format!("{}    networks: [stays]\nnetworks: {{ stays: {{ external: true }} }}\n", compose);
    let port = free_port();
    let old = version_of(world, &compose, "external", "one", 1, port);
    let new = version_of(world, &compose, "external", "two", 1, port);
    install(world, &old).await;
    stage(world, &new).await;
    assert!(!passes());
    let clients = Clients::start(port);
    take_over(world, &old, &new).await;
    assert!(passes());
    world.node.until_well(&new).await;
    world.node.unstage(&new).await.unwrap();
    assert!(!passes());
    clients.check(world, &["one", "two"]);
    assert_nothing_left(world).await;
    world.node.remove(&new).await;
    world.engine.ask("DELETE", "/networks/stays");
}

async fn install(world: &World, app: &App) {
    world.node.prepare(app).await.unwrap();
    world.node.start_app(app).await.unwrap();
    world.node.until_well(app).await;
}

async fn stage(world: &World, app: &App) {
    world.node.prepare(app).await.unwrap();
    world.node.stage(app).await.unwrap();
    world.node.until_staged(app).await;
}

async fn take_over(world: &World, old: &App, new: &App) {
    world.node.prepare(new).await.unwrap();
    world.node.clear(old, Some(new.fingerprint)).await.unwrap();
    assert_eq!(world.node.runtime.problems(), Vec::<String>::new());
    world.node.start_app(new).await.unwrap();
}

/// The first version lets connections last for as long as they need, the
/// second one does not.
fn version(world: &World, name: &str, word: &str, lines: u32, port: u16) -> App {
    version_of(world, WEB, name, word, lines, port)
}

fn version_of(world: &World, compose: &str, name: &str, word: &str, lines: u32, port: u16) -> App {
    let compose = compose.replace("VERSION", word).replace("LINES", &lines.to_string());
    let compose = compose.replace("PORT", &port.to_string());
    let repository = format!("{name}-{word}");
    world.version(name, &repository, &compose);
    let drain = "  x-colony-extensions: { attempt: 1, phase: stage, drain: 5s }\n";
    app(name, &format!("oci://{}/{repository}", world.registry.host), drain)
}

/// The rules of the world's node.
fn rules(world: &World) -> usize {
    let mark: String = Digest::of(world.node.identity.as_bytes()).hex().chars().take(8).collect();
    let output = Command::new(find("iptables-save")).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter(|it| it.contains(&format!("COLONY-{mark}-"))).count()
}

async fn assert_nothing_left(world: &World) {
    assert_eq!(rules(world), 0, "the rules are gone");
    // The bridge of a staged network goes with it. Pods share one that stays.
    if world.engine.kind != "containerd" {
        let networks = world.engine.ask("GET", "/networks").to_string();
        assert!(!networks.contains("-staged-"), "{networks}");
    }
}
