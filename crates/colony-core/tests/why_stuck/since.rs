//! Since when something lasts: what the cause itself knows goes first.

use colony_core::time::HumanDuration;

use super::*;

#[test]
fn what_somebody_did_lasts_since_then() {
    let mut plant = installed("a");
    plant.pass(100);
    hold(&mut plant, HoldScope::Deployment(deployment_id("hello")), "");
    plant.pass(10);
    since(&plant, "hold-deployment 10 s");
    plant.deploy(&hello("2.0.0"));
    plant.pass(5);
    since(&plant, "hold-deployment 15 s");
    plant
        .command(Action::ReleaseHold { scope: HoldScope::Deployment(deployment_id("hello")) })
        .expect("released");
    plant.pass(7);
    since(&plant, "in-progress 7 s");
}

#[test]
fn wait_for_the_next_try_lasts_since_the_failure() {
    let mut plant = failing("disk-full", "");
    plant.pass(2);
    since(&plant, "backoff 2 s");
}

#[test]
fn absence_lasts_since_the_node_was_heard() {
    let mut plant = installed("a");
    plant.pass(100);
    plant.silence("a");
    plant.pass(50);
    since(&plant, "stale 50 s");
    plant.deploy(&hello("2.0.0"));
    since(&plant, "node-offline 50 s");
    plant.undeploy("hello");
    since(&plant, "delete-waits-for-node 50 s");
}

#[test]
fn lost_attempt_lasts_since_the_node_was_heard() {
    let mut plant = installed("a");
    plant.deploy(&hello("2.0.0"));
    plant.silence("a");
    plant.pass(50);
    since(&plant, "lost-offline 50 s");
}

#[test]
fn node_that_was_never_heard_is_waited_for_since_it_joined() {
    let mut plant = plant("");
    plant.must(Input::Joined(name("b")));
    plant.pass(90);
    let all = why::node(&plant.site, &name("b"));
    assert_eq!(lasting(&plant, all), "node-never-heard 90 s");
}

#[test]
fn what_fits_nowhere_waits_since_git_wants_it() {
    let mut plant = plant("a");
    plant.pass(100);
    plant.deploy(&hello("1.0.0").with("selector: {zone: north}"));
    plant.pass(30);
    since(&plant, "nothing-fits 30 s");
}

#[test]
fn deployments_of_one_name_are_told_apart_by_their_ids() {
    let mut plant = installed("a");
    let other = App::new("other", "1.0.0").text(plant.site.name());
    commit_text(&mut plant, "deployments/home/hello.yaml", &other);
    let told = |app: &str| {
        let all = why::deployment_by_id(&plant.site, &deployment_id(app), plant.now);
        lasting(&plant, all)
    };
    assert_eq!(told("hello"), "removing 0 s");
    assert_eq!(told("other"), "in-progress 0 s");
    assert_eq!(told("nothing"), "");
}

/// Every cause of hello with the time it has lasted.
#[track_caller]
fn since(plant: &Plant, expected: &str) {
    let all = why::deployment(&plant.site, &Plant::name("hello"), plant.now);
    assert_eq!(lasting(plant, all), expected);
}

fn lasting(plant: &Plant, all: impl IntoIterator<Item = why::Why>) -> String {
    let one = |it: why::Why| {
        let since = it.since.expect("a time");
        format!("{} {}", it.cause.name(), HumanDuration(plant.now.wall.since(since)))
    };
    all.into_iter().map(one).collect::<Vec<_>>().join(", ")
}
