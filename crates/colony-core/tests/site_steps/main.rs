//! Rollouts in steps, told in states.

mod blue_green;
mod canary;
mod progress;
mod staged;
mod steering;
mod step_events;

use colony_core::event::Body;
use colony_core::site::Action;
use colony_core::why;
use colony_testkit::{App, Plant, deployment_id};

const CANARY: &str = "strategy: {type: canary, soak: 5m, maxUnavailable: 5}";
const MANUAL: &str = "strategy: {type: canary, soak: 5m, promote: manual, maxUnavailable: 5}";
const BLUE_GREEN: &str = "strategy: {type: blue-green, soak: 1m}";

fn plant(nodes: &str) -> Plant {
    let mut plant = Plant::new();
    nodes.split_whitespace().for_each(|it| plant.join(it));
    plant
}

/// Version 1 runs on a, b and c.
fn installed(settings: &str) -> Plant {
    let mut plant = plant("a b c");
    plant.deploy(&App::new("hello", "1.0.0").with("strategy: {type: all-at-once}"));
    plant.converge();
    plant.pass(61);
    plant.deploy(&App::new("hello", "1.0.0").with(settings));
    plant
}

/// The same, and version 2 is on its way.
fn updating(settings: &str) -> Plant {
    let mut plant = installed(settings);
    plant.deploy(&App::new("hello", "2.0.0").with(settings));
    plant
}

fn pause() -> Action {
    Action::Pause { deployment: deployment_id("hello"), note: "a look first".to_owned() }
}

fn resume() -> Action {
    Action::Resume { deployment: deployment_id("hello") }
}

fn abort() -> Action {
    Action::Abort { deployment: deployment_id("hello"), note: String::new() }
}

fn promote(plant: &mut Plant) -> String {
    steer(plant, Action::Promote { deployment: deployment_id("hello") })
}

/// Why the command was refused, if it was.
fn steer(plant: &mut Plant, action: Action) -> String {
    plant.command(action).err().unwrap_or_default()
}

/// The phase each node is offered.
fn phases(plant: &Plant) -> String {
    let nodes = plant.site.site_nodes().map(|it| it.name.clone());
    let phase = |node| {
        let manifest = plant.site.manifest(&node).expect("a manifest");
        let text = String::from_utf8_lossy(&manifest.documents.first()?.2).into_owned();
        let line = text.lines().find_map(|it| it.trim().strip_prefix("phase: "));
        line.map(ToOwned::to_owned)
    };
    nodes.filter_map(phase).collect::<Vec<_>>().join(" ")
}

/// The events of rollout steps.
fn steps(plant: &Plant) -> String {
    let step = |body: &Body| {
        let Body::RolloutStep { step, of, standing, .. } = body else { return None };
        let standing = serde_json::to_value(standing).expect("JSON");
        Some(format!("{step}/{of} {}", standing["name"].as_str().expect("a name")))
    };
    plant.events.iter().filter_map(|it| step(&it.body)).collect::<Vec<_>>().join(", ")
}

/// The first cause for which a node waits.
#[track_caller]
fn because(plant: &Plant, node: &str, expected: &str) {
    let id = plant.placement(node, "hello");
    let why = why::placement(&plant.site, &id, plant.now).expect("an answer");
    assert_eq!(why.cause.name(), expected, "{}", why.text(plant.now.wall));
}

#[track_caller]
fn check(plant: &Plant, expected: &str) {
    let states = plant.states().replace("hello@", "").replace(".0.0", "");
    assert_eq!(states, expected);
}
