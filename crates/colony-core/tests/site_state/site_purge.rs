//! Deployments that are deleted with their volumes.

use colony_core::document::EXTENSION;
use colony_core::event::Body;
use colony_core::margo::StateManifest;
use colony_core::purge::mark_path;
use colony_core::site::{Action, File};
use colony_testkit::{App, Plant, deployment_id, mark};

#[test]
fn manifest_lists_the_purge_until_the_node_has_confirmed_it() {
    let mut plant = plant();
    purges(&plant, "node", "");
    plant.purge("hello");
    purges(&plant, "node", "hello");
    plant.crash();
    purges(&plant, "node", "hello");
    let version = plant.version("node");
    plant.report("node", "hello", "removed");
    states(&plant, "");
    purges(&plant, "node", "");
    assert!(plant.version("node") > version, "the same version has another content");
    assert_eq!(purged(&plant), ["node"]);
}

#[test]
fn nothing_is_purged_without_a_mark() {
    let mut plant = plant();
    plant.undeploy("hello");
    purges(&plant, "node", "");
    plant.report("node", "hello", "removed");
    assert!(purged(&plant).is_empty());
}

/// An operator deletes it, sees that it still leaves, and deletes it with its
/// volumes.
#[test]
fn mark_that_comes_during_the_removal_counts() {
    let mut plant = plant();
    plant.undeploy("hello");
    let before = plant.version("node");
    plant.commit(vec![marked("hello")]);
    purges(&plant, "node", "hello");
    plant.report_at("node", "hello", "removed", before);
    states(&plant, "hello@node DELETING 1.0.0");
    plant.report("node", "hello", "removed");
    assert_eq!(purged(&plant), ["node"]);
}

#[test]
fn mark_is_without_effect_while_the_deployment_is_in_git() {
    let mut plant = plant();
    plant.commit(vec![marked("hello")]);
    purges(&plant, "node", "");
    plant.undeploy("hello");
    purges(&plant, "node", "hello");
    plant.deploy(&hello());
    purges(&plant, "node", "");
}

#[test]
fn purge_ends_when_its_mark_is_removed() {
    let mut plant = plant();
    plant.purge("hello");
    let path = mark_path(plant.site.name(), &deployment_id("hello"));
    let version = plant.version("node");
    plant.commit(vec![File::removed(&path)]);
    purges(&plant, "node", "");
    assert!(plant.version("node") > version);
}

#[test]
fn forced_removal_purges_nothing() {
    let mut plant = plant();
    plant.purge("hello");
    let force = Action::Force { deployment: deployment_id("hello"), node: None };
    plant.command(force).expect("it leaves");
    states(&plant, "");
    purges(&plant, "node", "");
    assert!(purged(&plant).is_empty());
}

/// The volumes of a foreign device may remain, so nothing else is claimed.
#[test]
fn foreign_device_is_not_said_to_have_removed_volumes() {
    let mut plant = Plant::new();
    plant.join_foreign("box");
    plant.deploy(&hello());
    plant.converge();
    plant.purge("hello");
    purges(&plant, "box", "hello");
    plant.converge();
    states(&plant, "");
    assert!(purged(&plant).is_empty());
}

#[test]
fn deployment_of_the_same_name_waits_for_the_purge() {
    let mut plant = plant();
    plant.silence("node");
    plant.pass(60);
    plant.purge("hello");
    plant.deploy(&hello().with_id(deployment_id("hello again")));
    plant.wake("node");
    states(&plant, "hello@node DELETING 1.0.0, hello@node PENDING");
    plant.crash();
    plant.wake("node");
    states(&plant, "hello@node DELETING 1.0.0, hello@node PENDING");
    plant.report("node", "hello", "removed");
    states(&plant, "hello@node INSTALLING 1.0.0");
}

/// The site was away for both commits, and works off either of the two first.
#[test]
fn purge_and_next_deployment_that_come_together_keep_their_order() {
    for next in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        let mut plant = plant();
        let next = hello().with_id(deployment_id(next)).file(plant.site.name());
        plant.commit(vec![next, marked("hello")]);
        states(&plant, "hello@node DELETING 1.0.0, hello@node PENDING");
        plant.report("node", "hello", "removed");
        states(&plant, "hello@node INSTALLING 1.0.0");
    }
}

#[test]
fn deployment_goes_on_when_the_purge_it_waits_for_is_taken_back() {
    let mut plant = plant();
    plant.purge("hello");
    plant.deploy(&hello().with_id(deployment_id("hello again")));
    let path = mark_path(plant.site.name(), &deployment_id("hello"));
    plant.commit(vec![File::removed(&path)]);
    states(&plant, "hello@node DELETING 1.0.0, hello@node INSTALLING 1.0.0");
}

#[test]
fn deployment_of_the_same_name_does_not_wait_for_a_plain_removal() {
    let mut plant = plant();
    plant.undeploy("hello");
    plant.deploy(&hello().with_id(deployment_id("hello again")));
    states(&plant, "hello@node DELETING 1.0.0, hello@node INSTALLING 1.0.0");
}

#[test]
fn manifest_says_whose_images_are_not_kept() {
    let mut plant = Plant::new();
    plant.join("node");
    plant.deploy(&hello().with("removeImage: true"));
    plant.deploy(&App::new("other", "1.0.0"));
    plant.converge();
    lists(&plant, "node", "removeImage", "");
    plant.undeploy("hello");
    plant.undeploy("other");
    lists(&plant, "node", "removeImage", "hello");
    plant.crash();
    lists(&plant, "node", "removeImage", "hello");
    plant.converge();
    lists(&plant, "node", "removeImage", "");
}

/// The orchestrator that takes over knows from Git what is to be purged.
#[test]
fn next_orchestrator_of_the_site_goes_on_with_the_purge() {
    let mut plant = Plant::taken_over(&hello(), "DELETING");
    plant.commit(vec![marked("hello")]);
    purges(&plant, "a", "hello");
}

fn plant() -> Plant {
    let mut plant = Plant::new();
    plant.join("node");
    plant.deploy(&hello());
    plant.converge();
    plant
}

fn hello() -> App {
    App::new("hello", "1.0.0")
}

fn marked(name: &str) -> File {
    mark(&"home".parse().expect("a name"), name)
}

/// The nodes that are said to have removed volumes.
fn purged(plant: &Plant) -> Vec<&str> {
    let mut purged = Vec::new();
    for event in &plant.events {
        let Body::StateTransition(it) = &event.body else { continue };
        if it.removal.is_some_and(|it| it.purged) {
            purged.push(it.node.as_str());
        }
    }
    purged
}

/// The deployments that the node's manifest lists to be purged.
#[track_caller]
fn purges(plant: &Plant, node: &str, expected: &str) {
    lists(plant, node, "purge", expected);
}

#[track_caller]
fn lists(plant: &Plant, node: &str, key: &str, expected: &str) {
    let node = node.parse().expect("a name");
    let manifest = plant.site.manifest(&node).expect("a manifest");
    let manifest = StateManifest::parse(&manifest.bytes).expect("a manifest");
    let ids: Vec<String> =
        expected.split_terminator(' ').map(|it| deployment_id(it).to_string()).collect();
    let listed = manifest.extensions.get(EXTENSION).and_then(|it| it.get(key));
    let listed = listed.cloned().unwrap_or_else(|| serde_json::json!([]));
    assert_eq!(listed, serde_json::json!(ids));
}

#[track_caller]
fn states(plant: &Plant, expected: &str) {
    assert_eq!(plant.states(), expected);
}
