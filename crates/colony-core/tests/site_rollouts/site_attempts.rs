//! How attempts end, and what a removal leaves behind, as a site tells it.

use colony_core::event::Body;
use colony_core::site::Action;
use colony_testkit::{App, Plant, deployment_id};

#[test]
fn attempt_that_works_is_over() {
    let mut plant = started();
    plant.report("a", "hello", "installed");
    check_transitions(&plant, "PENDING, INSTALLING 1, INSTALLED 1 ok");
}

#[test]
fn attempt_that_fails_is_over_and_the_next_begins() {
    let mut plant = started();
    plant.report("a", "hello", "failed:registry-unavailable");
    plant.pass(8);
    check_transitions(&plant, "PENDING, INSTALLING 1, FAILED(install) 1 failed, INSTALLING 2");
}

#[test]
fn attempt_for_another_revision_is_superseded() {
    let mut plant = started();
    plant.deploy(&App::new("hello", "2.0.0"));
    check_transitions(&plant, "PENDING, INSTALLING 1, INSTALLING 2 superseded");
}

#[test]
fn lost_attempt_goes_on_when_the_node_says_so() {
    let mut plant = started();
    plant.silence("a");
    plant.pass(16);
    plant.wake("a");
    plant.report("a", "hello", "installing");
    plant.deploy(&App::new("hello", "2.0.0"));
    check_transitions(
        &plant,
        "PENDING, INSTALLING 1, UNKNOWN(install) 1 abandoned, INSTALLING 1, INSTALLING 2 superseded",
    );
}

#[test]
fn what_takes_over_is_the_attempt_that_staged_it() {
    let mut plant = started();
    plant.converge();
    plant.events.clear();
    let settings = "strategy: {type: blue-green, soak: 0s}";
    plant.deploy(&App::new("hello", "2.0.0").with(settings));
    plant.report("a", "hello", "installed");
    plant.report("a", "hello", "installed");
    check_transitions(&plant, "UPDATING 2, UPDATING 2, INSTALLED 2 ok");
}

#[test]
fn removal_that_is_confirmed_says_so() {
    let mut plant = started();
    plant.converge();
    plant.undeploy("hello");
    removed(&plant, "");
    plant.converge();
    removed(&plant, "deleted with 0");
}

#[test]
fn removal_that_is_forced_is_not_confirmed() {
    let mut plant = started();
    plant.converge();
    plant.undeploy("hello");
    let force = Action::Force { deployment: deployment_id("hello"), node: None };
    plant.command(force).expect("forced");
    removed(&plant, "unconfirmed");
}

#[test]
fn removal_of_what_no_node_heard_of_needs_no_word() {
    let mut plant = Plant::new();
    plant.join("a");
    plant.silence("a");
    plant.pass(16);
    plant.deploy(&App::new("hello", "1.0.0"));
    check_transitions(&plant, "PENDING");
    plant.command(Action::Retire { node: "a".parse().expect("a name") }).expect("retired");
    removed(&plant, "deleted with 0");
}

/// The first attempt is under way.
fn started() -> Plant {
    let mut plant = Plant::new();
    plant.join("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant
}

/// Every state that was entered, with its attempt and how that ended.
#[track_caller]
fn check_transitions(plant: &Plant, expected: &str) {
    let state = |body: &Body| {
        let Body::StateTransition(it) = body else { return None };
        let attempt = if it.attempt == 0 { String::new() } else { format!(" {}", it.attempt) };
        let outcome = serde_json::to_value(it.outcome).expect("JSON");
        let outcome = outcome.as_str().map(|it| format!(" {it}")).unwrap_or_default();
        Some(format!("{}{attempt}{outcome}", it.to))
    };
    let states: Vec<String> = plant.events.iter().filter_map(|it| state(&it.body)).collect();
    assert_eq!(states.join(", "), expected);
}

/// What was said of removals.
#[track_caller]
fn removed(plant: &Plant, expected: &str) {
    let removal = |body: &Body| {
        let Body::StateTransition(it) = body else { return None };
        let removal = it.removal?;
        let deleted = removal.exit_code.map(|it| format!("deleted with {it}"));
        assert_eq!((removal.deleted, removal.unconfirmed), (deleted.is_some(), deleted.is_none()));
        Some(deleted.unwrap_or_else(|| "unconfirmed".to_owned()))
    };
    let removals: Vec<String> = plant.events.iter().filter_map(|it| removal(&it.body)).collect();
    assert_eq!(removals.join(", "), expected);
}
