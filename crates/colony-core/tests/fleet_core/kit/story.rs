//! Things that happen at a site, step by step.

use colony_core::event::HoldScope;
use colony_core::site::{Action, File};
use colony_testkit::{App, Plant, blob, deployment_id};

pub(crate) type Step = fn(&mut Plant);

/// Every story there is, by name.
pub(crate) const STORIES: &[(&str, &[Step])] = &[
    ("install", INSTALL),
    ("update", UPDATE),
    ("rollback", ROLLBACK),
    ("failed first install", UNDEPLOY),
    ("delete", DELETE),
    ("stop and retry", STOP),
    ("rollback of one node", REJECT),
    ("lost node", LOST),
    ("operator", OPERATOR),
    ("large removal", REMOVAL),
    ("broken file", BROKEN),
];

const INSTALL: &[Step] = &[
    |it| it.join("a"),
    |it| it.join("b"),
    |it| it.deploy(&app("1.0.0")),
    installed,
    Plant::converge,
];

const UPDATE: &[Step] = &[
    two_nodes,
    |it| it.deploy(&app("1.0.0").with("onFailure: stop")),
    |it| it.deploy(&app("2.0.0")),
    installed,
    |it| it.deploy(&app("3.0.0")),
    Plant::converge,
];

pub(crate) const ROLLBACK: &[Step] = &[
    two_nodes,
    |it| it.deploy(&app("2.0.0")),
    failed,
    Plant::converge,
    |it| it.deploy(&app("1.0.0")),
    |it| it.pass(60),
    |it| it.deploy(&app("3.0.0")),
    Plant::converge,
];

const UNDEPLOY: &[Step] = &[
    |it| it.join("a"),
    |it| it.deploy(&app("1.0.0")),
    failed,
    |it| it.pass(30),
    failed,
    |it| it.pass(30),
    failed,
    Plant::converge,
    |it| it.undeploy("hello"),
];

const DELETE: &[Step] = &[
    two_nodes,
    |it| it.silence("b"),
    |it| it.pass(20),
    |it| it.undeploy("hello"),
    Plant::converge,
    |it| it.command(force()).expect("forced"),
    |it| it.deploy(&app("1.0.0")),
    |it| it.undeploy("hello"),
    |it| it.deploy(&app("1.0.0")),
];

pub(crate) const STOP: &[Step] = &[
    two_nodes,
    |it| it.deploy(&app("2.0.0").with("onFailure: stop")),
    failed,
    |it| it.pass(100),
    |it| it.command(retry()).expect("retried"),
    Plant::converge,
];

const REJECT: &[Step] = &[
    two_nodes,
    |it| it.deploy(&app("2.0.0").with("onFailure: rollback-node")),
    failed,
    Plant::converge,
    |it| it.command(release()).expect("released"),
];

const LOST: &[Step] = &[
    two_nodes,
    |it| it.deploy(&app("2.0.0")),
    |it| it.silence("a"),
    |it| it.pass(16),
    |it| it.pass(600),
    Plant::converge,
    |it| it.wake("a"),
    |it| it.crash(),
    Plant::converge,
];

const OPERATOR: &[Step] = &[
    two_nodes,
    |it| it.command(hold(HoldScope::Site)).expect("held"),
    |it| it.deploy(&app("2.0.0")),
    |it| it.command(Action::ReleaseHold { scope: HoldScope::Site }).expect("released"),
    Plant::converge,
    |it| it.command(Action::Rollback { deployment: deployment_id("hello") }).expect("rolled back"),
    Plant::converge,
    |it| it.command(release()).expect("released"),
    |it| it.command(Action::Cordon { node: "b".parse().expect("a name") }).expect("cordoned"),
    |it| it.command(Action::Retire { node: "a".parse().expect("a name") }).expect("retired"),
    |it| it.command(hold(HoldScope::Deployment(deployment_id("hello")))).expect("held"),
];

const REMOVAL: &[Step] = &[
    |it| it.join("a"),
    |it| ["w", "x", "y", "z"].iter().for_each(|name| it.deploy(&App::new(name, "1.0.0"))),
    Plant::converge,
    |it| it.commit(["w", "x", "y"].iter().map(|name| removed_file(name)).collect()),
    |it| it.command(Action::ReleaseRemoval).expect("released"),
    Plant::converge,
];

const BROKEN: &[Step] =
    &[two_nodes, |it| it.commit(vec![broken()]), |it| it.deploy(&app("2.0.0")), Plant::converge];

pub(crate) fn two_nodes(plant: &mut Plant) {
    plant.join("a");
    plant.join("b");
    plant.deploy(&app("1.0.0"));
    plant.converge();
}

fn installed(plant: &mut Plant) {
    plant.report("a", "hello", "installed");
}

pub(crate) fn failed(plant: &mut Plant) {
    plant.report("a", "hello", "failed:exited");
}

pub(crate) fn app(version: &str) -> App {
    App::new("hello", version)
}

fn force() -> Action {
    Action::Force { deployment: deployment_id("hello"), node: None }
}

fn retry() -> Action {
    Action::Retry { deployment: deployment_id("hello"), node: None }
}

pub(crate) fn release() -> Action {
    Action::ReleaseQuarantine { deployment: deployment_id("hello") }
}

fn hold(scope: HoldScope) -> Action {
    Action::Hold { scope, note: "shift change".to_owned() }
}

pub(crate) fn removed_file(name: &str) -> File {
    File::removed(&format!("deployments/home/{name}.yaml"))
}

fn broken() -> File {
    let text = "id: 5\n";
    let site = "home".parse().expect("a name");
    File::read(&site, "deployments/home/hello.yaml", &blob(text), text.as_bytes())
}

/// The story of that name.
#[track_caller]
pub(crate) fn story(name: &str) -> &'static [Step] {
    STORIES.iter().find(|it| it.0 == name).expect("there is such a story").1
}

/// The plant after all steps of a story.
pub(crate) fn plant_after(steps: &[Step]) -> Plant {
    let mut plant = Plant::new();
    steps.iter().for_each(|it| it(&mut plant));
    plant
}
