//! What goes wrong with containerd and around it, each with the code, the class
//! and the sentence that an operator gets.

use std::net::TcpListener;

use colony_core::attempt::Failure;
use colony_core::code::{Class, Code};
use serde_json::json;

use super::kubelet;
use crate::kit::Engine;
use crate::stories::world::{App, Node, World};

const WEB: &str = "services: { web: { image: IMAGE, stop_grace_period: 0s } }";

#[tokio::test]
async fn containerd_without_network_configuration() {
    let world = world().await;
    let app = prepared(&world, "nocni").await;
    let path = world.engine.network_configuration();
    let good = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    // Also when it comes to removing what is left of the first try.
    for failure in
        [until_refused(&world, &app).await, world.node.start_app(&app).await.unwrap_err()]
    {
        check(&failure, Code::EngineError, Class::Environment, "no CNI network is configured");
    }
    assert!(world.node.look(&app).await.is_empty(), "nothing is left of it");

    std::fs::write(&path, good).unwrap();
    until_started(&world, &app).await;
    world.node.end().await;
}

#[tokio::test]
async fn containerd_with_wrong_network_configuration() {
    let world = world().await;
    let app = prepared(&world, "badcni").await;
    let path = world.engine.network_configuration();
    let good = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, good.replace("\"type\": \"bridge\"", "\"type\": \"nothing\"")).unwrap();
    let failure = until_refused(&world, &app).await;
    let words = "the CNI network of containerd does not work";
    check(&failure, Code::EngineError, Class::Environment, words);
    assert!(failure.message.contains("nothing"), "{}", failure.message);
    assert!(world.node.look(&app).await.is_empty(), "nothing is left of it");

    std::fs::write(&path, good).unwrap();
    until_started(&world, &app).await;
    world.node.end().await;
}

#[tokio::test]
async fn containerd_restarted_in_the_middle_of_a_pull() {
    let mut world = world().await;
    // A registry that accepts and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let image = format!("{}/slow:1", silent.local_addr().unwrap());
    let app = world.app("slow", &WEB.replace("IMAGE", &image));
    let node = &world.node;
    let engine = &mut world.engine;
    let restart = tokio::task::spawn_blocking(move || silent.accept().map(|it| (it, silent)));
    let (pulled, _) = tokio::join!(node.prepare(&app), async {
        let accepted = restart.await.unwrap().unwrap();
        engine.stop();
        drop(accepted);
    });
    let failure = pulled.unwrap_err();
    check(&failure, Code::EngineUnavailable, Class::Environment, "the engine does not answer");
    world.engine.start_again();
    let app = prepared(&world, "after").await;
    until_started(&world, &app).await;
    world.node.end().await;
}

#[tokio::test]
async fn containerd_restarted_in_the_middle_of_a_start() {
    let mut world = world().await;
    let many: String = (0..8).map(|it| format!("  s{it}: {}\n", SERVICE)).collect();
    let app = world.app("many", &format!("services:\n{many}"));
    world.node.prepare(&app).await.unwrap();
    let node = &world.node;
    let engine = &mut world.engine;
    let (started, ()) = tokio::join!(node.start_app(&app), async {
        while engine.objects_of("many", node.dir()).is_empty() {
            tokio::task::yield_now().await;
        }
        engine.stop();
    });
    let failure = started.unwrap_err();
    check(&failure, Code::EngineUnavailable, Class::Environment, "the engine does not answer");
    world.engine.start_again();
    until_started(&world, &app).await;
    let seen = world.node.until_well(&app).await;
    assert_eq!(seen.len(), 8);
    // Each has one pod with one container, and what was cut off is gone.
    assert_eq!(world.engine.ctr(&["containers", "ls", "-q"]).lines().count(), 16);
    world.node.remove(&app).await;
    assert_eq!(world.engine.ctr(&["containers", "ls", "-q"]), "");
    world.node.end().await;
}

const SERVICE: &str = "{ image: IMAGE, stop_grace_period: 0s }";

#[tokio::test]
async fn containerd_with_pods_of_a_kubelet() {
    let world = world().await;
    let app = prepared(&world, "lodger").await;
    kubelet::run_pod(&world.engine.socket).await;
    let failure = world.node.start_app(&app).await.unwrap_err();
    check(&failure, Code::EngineError, Class::Environment, "a kubelet uses this containerd");
    assert!(world.node.look(&app).await.is_empty());
    let dir = tempfile::tempdir().unwrap();
    let refused = Node::connect(&world.engine, &world.registry, "a/n2", dir.path()).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("--engine kubernetes"), "{refused}");
    let pods = world.engine.ctr(&["containers", "ls", "-q"]);
    assert_eq!(pods.lines().count(), 1, "what is the kubelet's is left alone");
    world.node.end().await;
}

async fn world() -> World {
    let world = World::new(Engine::containerd()).await;
    world.registry.push_image("busybox", "1", json!({ "Cmd": ["/bin/sleep", "3600"] }));
    world
}

async fn prepared(world: &World, name: &str) -> App {
    let app = world.app(name, WEB);
    world.node.prepare(&app).await.unwrap();
    app
}

/// containerd notices another configuration of its network by itself.
async fn until_refused(world: &World, app: &App) -> Failure {
    for _ in 0..50 {
        if let Err(failure) = world.node.start_app(app).await {
            return failure;
        }
        world.node.clear(app, None).await.unwrap();
    }
    panic!("containerd goes on without its network");
}

async fn until_started(world: &World, app: &App) {
    let mut started = world.node.start_app(app).await;
    for _ in 0..50 {
        if started.is_ok() {
            world.node.until_well(app).await;
            return;
        }
        started = world.node.start_app(app).await;
    }
    started.unwrap();
}

#[track_caller]
fn check(failure: &Failure, code: Code, class: Class, words: &str) {
    assert_eq!((&failure.code, failure.code.class()), (&code, class), "{failure:?}");
    assert!(failure.message.contains(words), "{}", failure.message);
}
