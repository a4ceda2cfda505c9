//! What goes wrong: each ends in the right code and a sentence that helps.

use std::collections::BTreeSet;
use std::net::TcpListener;

use colony_core::attempt::Failure;
use colony_core::code::{Class, Code};
use colony_core::node::{Health, Status};
use serde_json::json;

use super::world::{World, app};

pub(crate) async fn an_image_that_does_not_exist(world: &World) {
    let host = &world.registry.host;
    let compose = format!("services: {{ web: {{ image: '{host}/busybox:9' }} }}");
    let app = world.app("noimage", &compose);
    check(world.node.prepare(&app).await, Code::ImageMissing, "/busybox:9");
    let app = world.app("noname", &compose.replace("busybox", "nothing"));
    check(world.node.prepare(&app).await, Code::ImageMissing, "/nothing:9");
}

/// Engines choose by platform from a list alone.
pub(crate) async fn an_image_for_another_architecture(world: &World) {
    let config = json!({ "Cmd": ["/bin/sleep", "3600"] });
    let foreign = world.registry.push_image_for("foreign", "1", "s390x", config);
    world.registry.push_index("foreign", "all", "s390x", &foreign);
    let none = match world.engine.kind {
        "docker" => "no matching manifest for linux/",
        "podman" => "no image found in image index for architecture",
        _ => "platform",
    };
    for (tag, words) in [("1", "the image is for linux/s390x, not for linux/"), ("all", none)] {
        let image = format!("{}/foreign:{tag}", world.registry.host);
        let compose = format!("services: {{ web: {{ image: '{image}' }} }}");
        let app = world.app(&format!("foreign-{tag}"), &compose);
        // Also when it is at hand.
        for _ in 0..2 {
            let failure = world.node.prepare(&app).await.unwrap_err();
            assert_eq!(failure.code.class(), Class::Revision, "{failure:?}");
            assert!(failure.message.contains(&image), "{}", failure.message);
            check::<()>(Err(failure), Code::ImageMissing, words);
        }
        world.node.remove(&app).await;
    }
}

pub(crate) async fn an_archive_that_does_not_exist(world: &World) {
    let app = app("noarchive", &format!("oci://{}/noarchive", world.registry.host), "");
    check(world.node.prepare(&app).await, Code::ImageMissing, "noarchive:1.0.0");
}

pub(crate) async fn an_archive_that_breaks_the_rules(world: &World) {
    let app = world.app_with("norules", &[("docker-compose.yml", "services: {}")], "");
    check(world.node.prepare(&app).await, Code::ArchiveInvalid, "compose.yaml");
    let app = world.app("nokey", "services: { web: { image: IMAGE, build: . } }");
    check(world.node.prepare(&app).await, Code::UnsupportedKey, "build");
}

pub(crate) async fn a_port_in_use(world: &World) {
    let taken = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let compose = format!(
        "services: {{ web: {{ image: IMAGE, stop_grace_period: 0s, ports: ['{port}:80'] }} }}"
    );
    let app = world.app("port", &compose);
    world.node.prepare(&app).await.unwrap();
    check(world.node.start_app(&app).await, Code::PortInUse, "web");
    assert!(world.node.look(&app).await.is_empty(), "nothing is left of it");

    drop(taken);
    world.node.start_app(&app).await.unwrap();
    assert_eq!(world.node.look(&app).await["web"].status, Status::Running);
    world.node.remove(&app).await;
}

pub(crate) async fn a_command_that_does_not_exist(world: &World) {
    let app = world.app("nocommand", "services: { web: { image: IMAGE, command: [/nope] } }");
    world.node.prepare(&app).await.unwrap();
    check(world.node.start_app(&app).await, Code::InvalidConfig, "/nope");
    world.node.remove(&app).await;
}

pub(crate) async fn a_container_that_exits(world: &World) {
    let compose = "services: { web: { image: IMAGE, command: [/bin/sh, -c, 'echo bye; exit 7'] } }";
    let app = world.app("exits", compose);
    world.node.prepare(&app).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    let exited = Status::Exited { code: 7 };
    let seen = world.node.until(&app, "exited", |it| it["web"].status == exited).await;
    assert_eq!(seen["web"].log, ["bye"]);
    world.node.remove(&app).await;
    let previous = world.node.kept_logs(&app).await;
    assert_eq!(previous, [("web".to_owned(), "bye".to_owned())]);
}

pub(crate) async fn a_check_that_never_passes(world: &World) {
    let app = world.app("sick", "
services:
  web:
    image: IMAGE
    command: ['/bin/sh', '-c', 'echo oh; sleep 3600']
    stop_grace_period: 0s
    healthcheck: { test: ['CMD-SHELL', 'echo GET / 500; exit 1'], interval: 200ms, timeout: 5s, retries: 3 }
");
    world.node.prepare(&app).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    let sick = Health::Unhealthy { code: Code::Unhealthy, detail: "GET / 500, 3×".to_owned() };
    let seen = world.node.until(&app, "unhealthy", |it| it["web"].health == sick).await;
    assert_eq!((seen["web"].status, &seen["web"].log), (Status::Running, &vec!["oh".to_owned()]));
    world.node.remove(&app).await;
}

pub(crate) async fn a_dependency_that_never_gets_healthy(world: &World) {
    let app = world.app(
        "waits",
        "
services:
  db:
    image: IMAGE
    stop_grace_period: 0s
    healthcheck: { test: ['CMD', '/bin/false'], interval: 100ms, timeout: 5s, retries: 2 }
  web: { image: IMAGE, depends_on: { db: { condition: service_healthy } } }
",
    );
    world.node.prepare(&app).await.unwrap();
    check(world.node.start_app(&app).await, Code::Unhealthy, "`db` is unhealthy: exit code 1, 2×");
    assert_eq!(world.node.look(&app).await.len(), 1, "what waits was not started");
    world.node.remove(&app).await;
}

pub(crate) async fn a_registry_that_is_down(world: &World) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let host = format!("127.0.0.1:{port}");
    let lost = app("lost", &format!("oci://{host}/lost"), "");
    check(world.node.prepare(&lost).await, Code::RegistryUnavailable, &host);
    let compose = format!("services: {{ web: {{ image: '{host}/busybox:1' }} }}");
    let image = world.app("lostimage", &compose);
    check(world.node.prepare(&image).await, Code::RegistryUnavailable, &host);
}

pub(crate) async fn an_engine_that_is_down(world: &mut World) {
    let app = world.app("down", "services: { web: { image: IMAGE } }");
    world.node.prepare(&app).await.unwrap();
    let (networks, _) = world.engine.networks_and_volumes(world.node.dir());
    assert_eq!(networks, 0, "what went wrong left networks");
    world.engine.stop();
    let seen = world.node.runtime.observe(&BTreeSet::new()).await;
    assert_eq!(seen.unwrap_err().code, Code::EngineUnavailable);
    check(world.node.start_app(&app).await, Code::EngineUnavailable, "the engine does not answer");
    assert!(world.node.runtime.ping().await.is_err());
}

#[track_caller]
fn check<T: std::fmt::Debug>(done: Result<T, Failure>, code: Code, says: &str) {
    let failure = done.unwrap_err();
    assert_eq!(failure.code, code, "{failure:?}");
    assert_eq!(failure.source, "web");
    assert!(failure.message.contains(says), "{}", failure.message);
}
