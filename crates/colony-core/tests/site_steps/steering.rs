//! What an operator does to a rollout: pause, resume, abort.

use colony_core::site::Action;
use colony_core::why;
use colony_testkit::{App, Plant, deployment_id};

use super::{
    CANARY, MANUAL, abort, because, check, pause, plant, promote, resume, steer, updating,
};

const ROLLED_BACK: &str = "hello is already rolled back at home: the version in Git is quarantined";

#[test]
fn pause_starts_nothing_and_resume_goes_on() {
    let mut plant = updating(CANARY);
    plant.report("a", "hello", "installed");
    assert_eq!(steer(&mut plant, pause()), "");
    assert_eq!(steer(&mut plant, pause()), "ana already paused the rollout of hello at home");
    plant.pass(400);
    check(&plant, "a INSTALLED 2, b INSTALLED 1, c INSTALLED 1");
    because(&plant, "b", "paused");
    assert_eq!(promote(&mut plant), "ana paused the rollout of hello at home; resume it first");

    plant.crash();
    assert_eq!(steer(&mut plant, resume()), "");
    check(&plant, "a INSTALLED 2, b UPDATING 2, c UPDATING 2");
    assert_eq!(steer(&mut plant, resume()), "the rollout of hello at home is not paused");
}

#[test]
fn strategy_that_asks_nobody_waits_for_nobody() {
    let mut plant = updating(MANUAL);
    plant.report("a", "hello", "installed");
    plant.pass(400);
    because(&plant, "c", "awaits-promotion");
    plant.deploy(&App::new("hello", "2.0.0").with("strategy: {type: all-at-once}"));
    check(&plant, "a INSTALLED 2, b UPDATING 2, c UPDATING 2");
    let own = plant.site.deployment(&deployment_id("hello")).expect("it is here");
    assert_eq!(own.rollout().awaits_promotion_since, None);
}

#[test]
fn pause_stops_no_way_back() {
    let mut plant = updating(CANARY);
    assert_eq!(steer(&mut plant, pause()), "");
    plant.report("a", "hello", "failed:exited");
    check(&plant, "a ROLLINGBACK 1, b INSTALLED 1, c INSTALLED 1");
}

#[test]
fn abort_takes_everything_back() {
    let mut plant = updating(CANARY);
    plant.report("a", "hello", "installed");
    assert_eq!(steer(&mut plant, abort()), "");
    check(&plant, "a ROLLINGBACK 1, b INSTALLED 1, c INSTALLED 1");
    plant.converge();
    check(&plant, "a INSTALLED 1, b INSTALLED 1, c INSTALLED 1");
    assert_eq!(steer(&mut plant, abort()), ROLLED_BACK);
    assert_eq!(steer(&mut plant, pause()), ROLLED_BACK);
}

#[test]
fn abort_ends_the_stop_of_a_rollout() {
    let stop = "onFailure: stop\nstrategy: {type: canary, soak: 5m, maxUnavailable: 5}";
    let mut plant = updating(stop);
    plant.report("a", "hello", "failed:exited");
    let stopped = |plant: &Plant| {
        let whys = why::deployment(&plant.site, &Plant::name("hello"), plant.now);
        whys.iter().any(|it| it.cause.name() == "rollout-stopped")
    };
    assert!(stopped(&plant));
    assert_eq!(steer(&mut plant, abort()), "");
    assert!(!stopped(&plant));
    check(&plant, "a ROLLINGBACK 1, b INSTALLED 1, c INSTALLED 1");
}

#[test]
fn abort_of_a_first_install_removes_it() {
    let mut plant = plant("a b");
    plant.deploy(&App::new("hello", "1.0.0").with(CANARY));
    assert_eq!(steer(&mut plant, abort()), "");
    check(&plant, "a DELETING 1");
}

#[test]
fn nothing_to_steer_is_refused() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    for action in [pause(), abort(), Action::Promote { deployment: deployment_id("hello") }] {
        assert_eq!(steer(&mut plant, action), "no rollout of hello is in progress at home");
    }
}
