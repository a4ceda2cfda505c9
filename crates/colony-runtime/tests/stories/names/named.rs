//! Containers with the names of their file, where the node allows it.

use colony_core::attempt::Failure;
use colony_core::code::{Class, Code};

use crate::stories::world::{Node, World};

const COMPOSE: &str =
    "services: { web: { image: IMAGE, stop_grace_period: 0s, container_name: NAME } }";

pub(crate) async fn a_container_with_a_name(world: &World) {
    let name = format!("cam-{}", std::process::id());
    let compose = COMPOSE.replace("NAME", &name);
    let app = world.app("named", &compose);
    let refused = world.node.prepare(&app).await.unwrap_err();
    check(&refused, Code::UnsupportedKey, "`node.container-names` is `refuse`");

    let identity = format!("named-{}/n1", std::process::id());
    let node = Node::start_with(world, &identity, |it| it.policy.container_names = true).await;
    node.prepare(&app).await.unwrap();
    node.start_app(&app).await.unwrap();
    node.until_well(&app).await;
    let found = world.engine.ask("GET", &format!("/containers/{name}/json"));
    assert_eq!(found["Name"], format!("/{name}"));

    // Another deployment must wait until the name is free.
    let other = world.app("namesake", &compose);
    node.prepare(&other).await.unwrap();
    let taken = node.start_app(&other).await.unwrap_err();
    let words = format!("another container of the engine has the name `{name}`");
    check(&taken, Code::EngineError, &words);
    assert_eq!(taken.code.class(), Class::Environment);
    let staged = node.stage(&other).await.unwrap_err();
    check(&staged, Code::NotEligible, "the service `web` has a `container_name`");
    assert!(node.look_staged(&other).await.is_empty());

    // The next version of the same deployment has the name after the one before.
    let next = world.version("named", "named-2", &compose.replace("0s", "1s"));
    node.prepare(&next).await.unwrap();
    node.clear(&next, Some(next.fingerprint)).await.unwrap();
    node.start_app(&next).await.unwrap();
    node.until_well(&next).await;
    node.remove(&next).await;
    node.start_app(&other).await.unwrap();
    node.until_well(&other).await;
    node.remove(&other).await;
    node.end().await;
}

#[track_caller]
fn check(failure: &Failure, code: Code, words: &str) {
    assert_eq!(failure.code, code, "{failure:?}");
    assert!(failure.message.contains(words), "{}", failure.message);
}
