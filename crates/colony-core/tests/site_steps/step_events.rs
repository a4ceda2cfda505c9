//! The events of rollout steps, and the nodes that a step waits for.

use colony_core::event::{Body, HoldScope};
use colony_core::site::Action;
use colony_testkit::{App, Plant, deployment_id};

use super::{BLUE_GREEN, CANARY, MANUAL, check, installed, plant, updating};

#[test]
fn soak_that_starts_over_is_told() {
    let mut plant = updating(CANARY);
    plant.report("a", "hello", "installed");
    plant.report("a", "hello", "failed:engine-error");
    check_steps(&plant, "1/2 open, 1/2 soaking, 1/2 open");
}

#[test]
fn wait_for_a_promotion_that_starts_over_is_told() {
    let mut plant = updating(MANUAL);
    plant.report("a", "hello", "installed");
    plant.pass(301);
    plant.report("a", "hello", "failed:engine-error");
    check_steps(&plant, "1/2 open, 1/2 soaking, 1/2 awaits-promotion, 1/2 open");
}

#[test]
fn step_that_lets_nobody_in_is_passed_over() {
    let mut plant = plant("a b c d e");
    let settings = "strategy: {type: canary, canary: 1, steps: [20%, 60%], soak: 0s}";
    plant.deploy(&App::new("hello", "1.0.0").with(settings));
    plant.report("a", "hello", "installed");
    check_steps(&plant, "1/4 open, 3/4 open");
}

#[test]
fn only_what_runs_beside_is_told_as_staged() {
    let mut plant = updating(BLUE_GREEN);
    plant.converge();
    plant.pass(61);
    check_steps(&plant, "1/2 open staged, 1/2 soaking staged, 2/2 open");
}

#[test]
fn later_steps_do_not_ask_for_the_labels_of_the_first() {
    let mut plant = plant("a b d");
    plant.join_with("c", "amd64", r#""line":"test""#);
    let settings =
        "strategy: {type: canary, canary: {line: test}, steps: [50%], soak: 0s, maxUnavailable: 5}";
    plant.deploy(&App::new("hello", "1.0.0").with(settings));
    check(&plant, "a PENDING, b PENDING, c INSTALLING 1, d PENDING");
    plant.report("c", "hello", "installed");
    check(&plant, "a INSTALLING 1, b PENDING, c INSTALLED 1, d PENDING");
}

#[test]
fn step_without_anybody_reachable_stays_closed() {
    for (settings, expected) in [
        (CANARY, "a UPDATING 2, b INSTALLED 1, c INSTALLED 1"),
        (BLUE_GREEN, "a UPDATING 2, b UPDATING 2, c UPDATING 2"),
    ] {
        let mut plant = installed(settings);
        ["a", "b", "c"].iter().for_each(|it| plant.silence(it));
        plant.pass(120);
        plant.deploy(&App::new("hello", "2.0.0").with(settings));
        plant.pass(400);
        ["a", "b", "c"].iter().for_each(|it| plant.wake(it));
        check(&plant, expected);
        assert_eq!(step(&plant), 0, "{settings}");
    }
}

#[test]
fn who_may_not_be_staged_yet_is_waited_for() {
    let mut plant = installed(BLUE_GREEN);
    plant.silence("c");
    plant.pass(16);
    plant.deploy(&App::new("hello", "2.0.0").with(BLUE_GREEN));
    plant.report("a", "hello", "installed");
    plant.report("b", "hello", "installed");
    let scope = HoldScope::Site;
    plant.command(Action::Hold { scope: scope.clone(), note: String::new() }).expect("held");
    plant.wake("c");
    plant.pass(61);
    plant.command(Action::ReleaseHold { scope }).expect("released");
    check(&plant, "a UPDATING 2 staged, b UPDATING 2 staged, c UPDATING 2");
    assert_eq!(step(&plant), 0);
}

#[test]
fn what_is_lost_is_staged_no_more() {
    let mut plant = updating(BLUE_GREEN);
    plant.report("c", "hello", "installed");
    plant.silence("c");
    plant.pass(16);
    check(&plant, "a UPDATING 2, b UPDATING 2, c UNKNOWN(update) 2");
}

#[test]
fn pause_stops_no_repair_of_what_was_proven() {
    let mut plant = updating(CANARY);
    plant.report("a", "hello", "installed");
    plant.pass(200);
    let pause = Action::Pause { deployment: deployment_id("hello"), note: String::new() };
    plant.command(pause).expect("paused");
    plant.report("a", "hello", "failed:exited");
    check(&plant, "a FAILED(update) 2, b INSTALLED 1, c INSTALLED 1");
    plant.pass(8);
    check(&plant, "a UPDATING 2, b INSTALLED 1, c INSTALLED 1");
}

#[test]
fn what_is_only_discarded_takes_no_slot() {
    let settings = "strategy: {type: blue-green, maxUnavailable: 1}";
    let mut plant = updating(settings);
    plant.converge();
    let abort = Action::Abort { deployment: deployment_id("hello"), note: String::new() };
    plant.command(abort).expect("aborted");
    plant.join("d");
    check(&plant, "a ROLLINGBACK 1, b ROLLINGBACK 1, c ROLLINGBACK 1, d INSTALLING 1");
}

#[test]
fn what_git_takes_back_takes_slots() {
    let settings = "strategy: {type: blue-green, maxUnavailable: 1}";
    let mut plant = updating(settings);
    plant.converge();
    plant.deploy(&App::new("hello", "1.0.0").with(settings));
    plant.join("d");
    check(&plant, "a UPDATING 1, b UPDATING 1, c UPDATING 1, d PENDING");
}

/// The step that is open, from 0.
fn step(plant: &Plant) -> u32 {
    plant.site.deployment(&deployment_id("hello")).expect("it is there").rollout().step
}

/// Compares the events of rollout steps.
#[track_caller]
fn check_steps(plant: &Plant, expected: &str) {
    let step = |body: &Body| {
        let Body::RolloutStep { step, of, standing, staged, .. } = body else { return None };
        let standing = serde_json::to_value(standing).expect("JSON");
        let standing = standing["name"].as_str().expect("a name").to_owned();
        Some(format!("{step}/{of} {standing}{}", if *staged { " staged" } else { "" }))
    };
    let steps: Vec<String> = plant.events.iter().filter_map(|it| step(&it.body)).collect();
    assert_eq!(steps.join(", "), expected);
}
