//! A canary: a few first, soaks, steps, then the rest.

use std::time::Duration;

use colony_core::event::{Body, StepStanding};
use colony_core::site::Action;
use colony_core::why;
use colony_testkit::{App, Plant, deployment_id};

use super::{CANARY, MANUAL, because, check, installed, plant, promote, steer, steps, updating};

#[test]
fn canary_goes_first_soaks_and_the_rest_follows() {
    let mut plant = updating(CANARY);
    check(&plant, "a UPDATING 2, b INSTALLED 1, c INSTALLED 1");
    because(&plant, "b", "canary-first");

    plant.report("a", "hello", "installed");
    check(&plant, "a INSTALLED 2, b INSTALLED 1, c INSTALLED 1");
    because(&plant, "b", "soaking");
    plant.pass(299);
    check(&plant, "a INSTALLED 2, b INSTALLED 1, c INSTALLED 1");
    plant.pass(2);
    check(&plant, "a INSTALLED 2, b UPDATING 2, c UPDATING 2");

    plant.converge();
    check(&plant, "a INSTALLED 2, b INSTALLED 2, c INSTALLED 2");
    assert_eq!(steps(&plant), "1/2 open, 1/2 soaking, 2/2 open");
}

#[test]
fn first_install_is_a_canary_too() {
    let mut plant = plant("a b c");
    plant.deploy(&App::new("hello", "1.0.0").with(CANARY));
    check(&plant, "a INSTALLING 1, b PENDING, c PENDING");
    plant.report("a", "hello", "installed");
    plant.pass(301);
    check(&plant, "a INSTALLED 1, b INSTALLING 1, c INSTALLING 1");
}

#[test]
fn steps_let_more_and_more_in() {
    let mut plant = plant("a b c d e");
    let settings =
        "strategy: {type: canary, canary: 20%, steps: [60%], soak: 0s, maxUnavailable: 5}";
    plant.deploy(&App::new("hello", "1.0.0").with(settings));
    check(&plant, "a INSTALLING 1, b PENDING, c PENDING, d PENDING, e PENDING");
    plant.report("a", "hello", "installed");
    check(&plant, "a INSTALLED 1, b INSTALLING 1, c INSTALLING 1, d PENDING, e PENDING");
    plant.report("b", "hello", "installed");
    check(&plant, "a INSTALLED 1, b INSTALLED 1, c INSTALLING 1, d PENDING, e PENDING");
    plant.report("c", "hello", "installed");
    check(&plant, "a INSTALLED 1, b INSTALLED 1, c INSTALLED 1, d INSTALLING 1, e INSTALLING 1");
}

#[test]
fn max_unavailable_holds_within_a_step() {
    let mut plant = plant("a b c");
    plant.deploy(&App::new("hello", "1.0.0").with("strategy: {type: canary, canary: 2, soak: 0s}"));
    check(&plant, "a INSTALLING 1, b PENDING, c PENDING");
    because(&plant, "b", "slots-full");
}

#[test]
fn labels_choose_the_first() {
    let mut plant = plant("a b");
    plant.join_with("c", "amd64", r#""line":"test""#);
    plant.deploy(
        &App::new("hello", "1.0.0")
            .with("strategy: {type: canary, canary: {line: test}, soak: 10s}"),
    );
    check(&plant, "a PENDING, b PENDING, c INSTALLING 1");
    because(&plant, "a", "canary-first");
    plant.report("c", "hello", "installed");
    plant.pass(11);
    check(&plant, "a INSTALLING 1, b PENDING, c INSTALLED 1");
}

#[test]
fn who_failed_before_and_is_not_meant_holds_no_canary_up() {
    let mut plant = plant("a");
    plant.join_with("c", "amd64", r#""line":"test""#);
    plant.deploy(&App::new("hello", "1.0.0").with("strategy: {type: all-at-once}"));
    plant.report("c", "hello", "installed");
    plant.report("a", "hello", "failed:registry-unavailable");
    plant.deploy(
        &App::new("hello", "2.0.0")
            .with("strategy: {type: canary, canary: {line: test}, soak: 10s, maxUnavailable: 1}"),
    );
    check(&plant, "a FAILED(install) 1, c UPDATING 2");
    plant.converge();
    plant.pass(11);
    plant.converge();
    check(&plant, "a INSTALLED 2, c INSTALLED 2");
}

#[test]
fn refusal_of_a_retry_names_only_nodes_in_flight() {
    let mut plant = updating("strategy: {type: all-at-once}");
    plant.report("b", "hello", "failed:registry-unavailable");
    plant.report("c", "hello", "failed:registry-unavailable");
    let one = "strategy: {type: rolling, maxUnavailable: 1}";
    plant.deploy(&App::new("hello", "2.0.0").with(one));
    check(&plant, "a UPDATING 2, b FAILED(update) 2, c FAILED(update) 2");

    let node = Some("b".parse().expect("a name"));
    let retry = Action::Retry { deployment: deployment_id("hello"), node };
    let refusal = steer(&mut plant, retry);
    assert!(refusal.contains("1 of 1 rollout slots taken by a"), "{refusal}");
    assert!(!refusal.contains("taken by a,"), "{refusal}");
}

#[test]
fn full_slots_name_no_failed_node_outside_the_step() {
    let mut plant = plant("a");
    plant.join_with("c", "amd64", r#""line":"test""#);
    plant.join_with("d", "amd64", r#""line":"test""#);
    plant.deploy(&App::new("hello", "1.0.0").with("strategy: {type: all-at-once}"));
    plant.report("c", "hello", "installed");
    plant.report("d", "hello", "installed");
    plant.report("a", "hello", "failed:registry-unavailable");
    plant.deploy(
        &App::new("hello", "2.0.0")
            .with("strategy: {type: canary, canary: {line: test}, soak: 10s, maxUnavailable: 1}"),
    );
    plant.report("c", "hello", "failed:registry-unavailable");
    check(&plant, "a FAILED(install) 1, c FAILED(update) 2, d INSTALLED 1");

    let id = plant.placement("d", "hello");
    let why = why::placement(&plant.site, &id, plant.now).expect("an answer");
    let text = why.text(plant.now.wall);
    assert!(text.contains("1 of 1 rollout slot is taken by c"), "{text}");
}

#[test]
fn manual_promotion_is_waited_for() {
    let mut plant = updating(MANUAL);
    assert_eq!(
        promote(&mut plant),
        "the current step of hello at home is not done: 0 of 1 nodes run it"
    );
    plant.report("a", "hello", "installed");
    plant.pass(400);
    check(&plant, "a INSTALLED 2, b INSTALLED 1, c INSTALLED 1");
    because(&plant, "c", "awaits-promotion");

    assert_eq!(promote(&mut plant), "");
    check(&plant, "a INSTALLED 2, b UPDATING 2, c UPDATING 2");
    assert_eq!(
        promote(&mut plant),
        "nothing to promote: the last step of hello at home is already open"
    );
    plant.converge();
    assert_eq!(promote(&mut plant), "no rollout of hello is in progress at home");
}

#[test]
fn promotion_of_what_all_nodes_have_is_not_waited_for() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0").with(MANUAL));
    plant.report("a", "hello", "installed");
    assert_eq!(steps(&plant), "1/2 open, 1/2 soaking");
    plant.pass(400);
    assert_eq!(steps(&plant), "1/2 open, 1/2 soaking, 2/2 open");
    assert_eq!(promote(&mut plant), "no rollout of hello is in progress at home");
}

#[test]
fn node_that_is_offline_is_left_to_the_promotion() {
    let mut plant = plant("a b");
    plant.silence("b");
    plant.deploy(&App::new("hello", "1.0.0").with(MANUAL));
    plant.report("a", "hello", "installed");
    plant.pass(400);
    assert_eq!(steps(&plant), "1/2 open, 1/2 soaking, 1/2 awaits-promotion");
}

#[test]
fn end_of_a_soak_that_a_restart_moved_is_reported() {
    let mut plant = updating(CANARY);
    plant.report("a", "hello", "installed");
    let ends = |plant: &Plant| {
        let end = |body: &Body| {
            let Body::RolloutStep { standing, .. } = body else { return None };
            let StepStanding::Soaking { until } = standing else { return None };
            Some(*until)
        };
        plant.events.iter().filter_map(|it| end(&it.body)).collect::<Vec<_>>()
    };
    let [first] = ends(&plant)[..] else { panic!("one soak") };
    let away = Duration::from_secs(50);
    plant.now.wall = plant.now.wall.after(away);
    plant.crash();
    plant.pass(1);
    assert_eq!(ends(&plant), [first, first.after(away)]);
}

#[test]
fn promotion_ends_a_soak() {
    let mut plant = updating(CANARY);
    plant.report("a", "hello", "installed");
    assert_eq!(promote(&mut plant), "");
    check(&plant, "a INSTALLED 2, b UPDATING 2, c UPDATING 2");
}

#[test]
fn health_lost_in_the_soak_condemns_the_revision() {
    let mut plant = updating(&format!("{CANARY}\nsoak: 10m"));
    plant.report("a", "hello", "installed");
    plant.pass(200);
    plant.report("a", "hello", "failed:exited");
    check(&plant, "a ROLLINGBACK 1, b INSTALLED 1, c INSTALLED 1");
    plant.converge();
    plant.pass(600);
    check(&plant, "a INSTALLED 1, b INSTALLED 1, c INSTALLED 1");
}

#[test]
fn soak_starts_over_after_a_failure_of_the_environment() {
    let mut plant = updating(CANARY);
    plant.report("a", "hello", "installed");
    plant.pass(200);
    plant.report("a", "hello", "failed:engine-error");
    plant.pass(8);
    plant.report("a", "hello", "installed");
    plant.pass(200);
    check(&plant, "a INSTALLED 2, b INSTALLED 1, c INSTALLED 1");
    plant.pass(101);
    check(&plant, "a INSTALLED 2, b UPDATING 2, c UPDATING 2");
}

#[test]
fn failing_canary_follows_the_policy() {
    let failed = |policy: &str| {
        let mut plant = updating(&format!("{CANARY}\nonFailure: {policy}"));
        plant.report("a", "hello", "failed:unhealthy");
        plant
    };
    let mut plant = failed("stop");
    plant.pass(900);
    check(&plant, "a FAILED(update) 2, b INSTALLED 1, c INSTALLED 1");
    because(&plant, "b", "canary-first");
    // The one goes back, and another one is the canary.
    check(&failed("rollback-node"), "a ROLLINGBACK 1, b UPDATING 2, c INSTALLED 1");
    check(&failed("rollback-site"), "a ROLLINGBACK 1, b INSTALLED 1, c INSTALLED 1");
}

#[test]
fn newer_revision_starts_over() {
    let mut plant = updating(CANARY);
    plant.report("a", "hello", "installed");
    plant.pass(301);
    check(&plant, "a INSTALLED 2, b UPDATING 2, c UPDATING 2");
    plant.deploy(&App::new("hello", "3.0.0").with(CANARY));
    check(&plant, "a INSTALLED 2, b UPDATING 3, c UPDATING 2");
    plant.report("b", "hello", "installed");
    plant.report("c", "hello", "installed");
    check(&plant, "a INSTALLED 2, b INSTALLED 3, c INSTALLED 2");
    plant.pass(301);
    check(&plant, "a UPDATING 3, b INSTALLED 3, c UPDATING 3");
}

#[test]
fn revert_to_what_was_good_needs_no_canary() {
    let mut plant = updating(CANARY);
    plant.report("a", "hello", "installed");
    plant.deploy(&App::new("hello", "1.0.0").with(CANARY));
    check(&plant, "a UPDATING 1, b INSTALLED 1, c INSTALLED 1");
}

#[test]
fn offline_canary_is_replaced() {
    let mut plant = installed(CANARY);
    plant.silence("a");
    plant.pass(120);
    plant.deploy(&App::new("hello", "2.0.0").with(CANARY));
    check(&plant, "a INSTALLED 1, b UPDATING 2, c INSTALLED 1");
    plant.report("b", "hello", "installed");
    plant.silence("b");
    plant.pass(120);
    check(&plant, "a INSTALLED 1, b INSTALLED 2, c UPDATING 2");
    plant.report("c", "hello", "installed");
    plant.pass(301);
    plant.wake("a");
    check(&plant, "a UPDATING 2, b INSTALLED 2, c INSTALLED 2");
}

#[test]
fn soak_survives_a_restart() {
    let mut plant = updating(CANARY);
    plant.report("a", "hello", "installed");
    plant.pass(200);
    plant.crash();
    plant.pass(70);
    check(&plant, "a INSTALLED 2, b INSTALLED 1, c INSTALLED 1");
    plant.pass(45);
    check(&plant, "a INSTALLED 2, b UPDATING 2, c UPDATING 2");
}
