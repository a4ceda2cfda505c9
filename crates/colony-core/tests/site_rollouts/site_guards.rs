//! The conditions of the transition table, each where it alone decides.

use colony_core::event::HoldScope;
use colony_core::site::Action;
use colony_testkit::{App, Plant, deployment_id};

const BY_NODE: &str = "onFailure: rollback-node";
const ENVIRONMENT: &str = "failed:registry-unavailable";

#[test]
fn a_node_that_was_never_heard_is_not_called_offline() {
    let app = App::new("hello", "1.0.0");
    let mut plant = Plant::taken_over(&app, "FAILED(install)");
    plant.deploy(&app);
    assert_eq!(command(&mut plant, retry()), "a: node a has not connected yet");
}

#[test]
fn ways_back_are_not_queued_behind_a_stopped_rollout() {
    let mut plant = installed("a b", "1.0.0");
    let two = "strategy: {type: all-at-once}\nonFailure: stop";
    plant.deploy(&App::new("hello", "2.0.0").with(two));
    plant.report("b", "hello", "installed");
    plant.report("a", "hello", "failed:exited");
    check(&plant, "a FAILED(update) 2, b INSTALLED 2");
    assert_eq!(command(&mut plant, Action::Rollback { deployment: deployment_id("hello") }), "");
    check(&plant, "a ROLLINGBACK 1, b ROLLINGBACK 1");
}

#[test]
fn another_try_of_a_way_back_waits_for_no_slot() {
    let mut plant = installed("a b", "1.0.0");
    plant.deploy(&App::new("hello", "2.0.0").with(BY_NODE));
    plant.report("a", "hello", "failed:exited");
    for _ in 0..3 {
        plant.report("a", "hello", ENVIRONMENT);
        plant.pass(40);
    }
    plant.report("a", "hello", ENVIRONMENT);
    plant.silence("a");
    plant.pass(16);
    check(&plant, "a FAILED(rollback) 1, b UPDATING 2");
    plant.wake("a");
    plant.pass(40);
    check(&plant, "a ROLLINGBACK 1, b UPDATING 2");
}

#[test]
fn another_try_of_a_removal_waits_for_no_slot() {
    let mut plant = installed("a b", "1.0.0");
    plant.deploy(&App::new("hello", "2.0.0").on("b"));
    plant.report("a", "hello", "failed:removal-failed");
    check(&plant, "a FAILED(delete) 1, b UPDATING 2");
    plant.pass(8);
    check(&plant, "a DELETING 1, b UPDATING 2");
}

#[test]
fn what_failed_and_recovers_counts_if_it_is_wanted() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.report("a", "hello", ENVIRONMENT);
    plant.report("a", "hello", "installed");
    check(&plant, "a INSTALLED 1");
}

#[test]
fn what_failed_and_recovers_does_not_count_if_another_is_wanted() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.report("a", "hello", ENVIRONMENT);
    hold(&mut plant);
    plant.deploy(&App::new("hello", "2.0.0"));
    plant.report("a", "hello", "installed");
    check(&plant, "a FAILED(install) 1");
}

#[test]
fn a_retired_node_takes_what_is_unknown_with_it() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.silence("a");
    plant.pass(16);
    check(&plant, "a UNKNOWN(install) 1");
    let node = "a".parse().expect("a name");
    assert_eq!(command(&mut plant, Action::Retire { node }), "");
    check(&plant, "");
}

#[test]
fn a_hold_stops_another_try() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.report("a", "hello", ENVIRONMENT);
    hold(&mut plant);
    plant.pass(60);
    check(&plant, "a FAILED(install) 1");
}

#[test]
fn a_hold_stops_no_repair_of_what_was_proven() {
    let mut plant = installed("a", "1.0.0");
    plant.pass(61);
    hold(&mut plant);
    plant.report("a", "hello", "failed:exited");
    check(&plant, "a FAILED(update) 1");
    plant.pass(8);
    check(&plant, "a UPDATING 1");
}

#[test]
fn a_hold_stops_no_other_try_of_a_way_back() {
    let mut plant = installed("a", "1.0.0");
    plant.deploy(&App::new("hello", "2.0.0"));
    plant.report("a", "hello", "failed:exited");
    plant.report("a", "hello", ENVIRONMENT);
    hold(&mut plant);
    check(&plant, "a FAILED(rollback) 1");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.pass(8);
    check(&plant, "a ROLLINGBACK 1");
}

#[test]
fn what_has_nothing_to_go_back_to_has_the_tries_of_an_install() {
    let mut plant = installed("a", "1.0.0");
    for _ in 0..2 {
        plant.report("a", "hello", "failed:exited");
        check(&plant, "a FAILED(update) 1");
        plant.pass(30);
        check(&plant, "a UPDATING 1");
    }
    plant.report("a", "hello", "failed:exited");
    check(&plant, "a DELETING 1");
}

#[test]
fn what_another_node_runs_well_is_not_condemned() {
    let mut plant = installed("a b", "1.0.0");
    plant.silence("a");
    plant.pass(16);
    plant.deploy(&App::new("hello", "2.0.0"));
    plant.converge();
    plant.pass(61);
    plant.wake("a");
    plant.report("a", "hello", "failed:exited");
    check(&plant, "a FAILED(update) 2, b INSTALLED 2");
    let retry = plant.site.retry(&plant.placement("a", "hello"), plant.now).expect("it failed");
    assert_eq!((retry.tried, retry.of), (1, None), "there is no limit");
}

#[test]
fn only_so_many_quarantined_revisions_are_remembered() {
    let mut plant = installed("a", "0.0.1");
    for version in 1..=34 {
        plant.deploy(&App::new("hello", &format!("{version}.0.0")));
        plant.report("a", "hello", "failed:exited");
        plant.converge();
        plant.pass(1);
    }
    let deployment = plant.site.deployment(&deployment_id("hello")).expect("it is there");
    assert_eq!(deployment.quarantine().len(), 32);
}

fn plant(nodes: &str) -> Plant {
    let mut plant = Plant::new();
    nodes.split_whitespace().for_each(|it| plant.join(it));
    plant
}

fn installed(nodes: &str, version: &str) -> Plant {
    let mut plant = plant(nodes);
    plant.deploy(&App::new("hello", version));
    plant.converge();
    plant
}

fn hold(plant: &mut Plant) {
    let hold = Action::Hold { scope: HoldScope::Site, note: String::new() };
    assert_eq!(command(plant, hold), "");
}

fn retry() -> Action {
    Action::Retry { deployment: deployment_id("hello"), node: None }
}

/// Why the command was refused, if it was.
fn command(plant: &mut Plant, action: Action) -> String {
    plant.command(action).err().unwrap_or_default()
}

#[track_caller]
fn check(plant: &Plant, expected: &str) {
    let states = plant.states().replace("hello@", "").replace(".0.0", "");
    assert_eq!(states, expected);
}
