//! Blue-green: staged beside the old one everywhere, then taken over.

use colony_core::site::Action;
use colony_testkit::{App, deployment_id};

use super::{
    BLUE_GREEN, abort, because, check, installed, phases, plant, promote, steer, updating,
};

#[test]
fn blue_green_stages_everywhere_then_swaps() {
    let mut plant = updating(BLUE_GREEN);
    check(&plant, "a UPDATING 2, b UPDATING 2, c UPDATING 2");
    assert_eq!(phases(&plant), "stage stage stage");
    plant.report("a", "hello", "installed");
    plant.report("b", "hello", "installed");
    check(&plant, "a UPDATING 2 staged, b UPDATING 2 staged, c UPDATING 2");
    because(&plant, "a", "stage-first");
    plant.report("c", "hello", "installed");
    because(&plant, "a", "soaking");
    assert_eq!(phases(&plant), "stage stage stage");
    plant.pass(61);
    check(&plant, "a UPDATING 2, b UPDATING 2, c UPDATING 2");
    assert_eq!(phases(&plant), "active active active");
    plant.converge();
    check(&plant, "a INSTALLED 2, b INSTALLED 2, c INSTALLED 2");
}

#[test]
fn first_install_needs_no_stage() {
    let mut plant = plant("a b");
    plant.deploy(&App::new("hello", "1.0.0").with(BLUE_GREEN));
    check(&plant, "a INSTALLING 1, b INSTALLING 1");
    assert_eq!(phases(&plant), "active active");
}

#[test]
fn failed_stage_is_discarded_everywhere() {
    for policy in ["rollback-site", "rollback-node"] {
        let mut plant = updating(&format!("{BLUE_GREEN}\nonFailure: {policy}"));
        plant.report("a", "hello", "installed");
        plant.report("b", "hello", "failed:exited");
        check(&plant, "a ROLLINGBACK 1, b ROLLINGBACK 1, c ROLLINGBACK 1");
        plant.converge();
        plant.pass(900);
        check(&plant, "a INSTALLED 1, b INSTALLED 1, c INSTALLED 1");
    }
}

#[test]
fn failed_stage_may_stop_and_wait() {
    let mut plant = updating(&format!("{BLUE_GREEN}\nonFailure: stop"));
    plant.report("a", "hello", "installed");
    plant.report("c", "hello", "installed");
    plant.report("b", "hello", "failed:exited");
    plant.pass(900);
    check(&plant, "a UPDATING 2 staged, b FAILED(update) 2, c UPDATING 2 staged");
    let retry = Action::Retry { deployment: deployment_id("hello"), node: None };
    assert_eq!(steer(&mut plant, retry), "");
    assert_eq!(phases(&plant), "stage stage stage");
    plant.report("b", "hello", "installed");
    plant.pass(61);
    assert_eq!(phases(&plant), "active active active");
}

#[test]
fn staged_one_that_fails_while_it_waits_ends_the_rollout() {
    let mut plant = updating("strategy: {type: blue-green, promote: manual}");
    for node in ["a", "b", "c"] {
        plant.report(node, "hello", "installed");
    }
    plant.pass(3_600);
    because(&plant, "a", "awaits-promotion");
    plant.report("b", "hello", "failed:unhealthy");
    check(&plant, "a ROLLINGBACK 1, b ROLLINGBACK 1, c ROLLINGBACK 1");
}

#[test]
fn failure_of_the_environment_stages_again() {
    let mut plant = updating(BLUE_GREEN);
    plant.report("a", "hello", "failed:registry-unavailable");
    check(&plant, "a FAILED(update) 2, b UPDATING 2, c UPDATING 2");
    plant.pass(8);
    check(&plant, "a UPDATING 2, b UPDATING 2, c UPDATING 2");
    assert_eq!(phases(&plant), "stage stage stage");
}

#[test]
fn promotion_swaps_slot_by_slot() {
    let settings = "strategy: {type: blue-green, promote: manual, maxUnavailable: 1}";
    let mut plant = updating(settings);
    plant.converge();
    check(&plant, "a UPDATING 2 staged, b UPDATING 2 staged, c UPDATING 2 staged");
    assert_eq!(promote(&mut plant), "");
    check(&plant, "a UPDATING 2, b UPDATING 2 staged, c UPDATING 2 staged");
    because(&plant, "b", "slots-full");
    plant.report("a", "hello", "installed");
    check(&plant, "a INSTALLED 2, b UPDATING 2, c UPDATING 2 staged");
}

#[test]
fn full_slots_hold_nobody_up_who_stages() {
    let settings = "strategy: {type: blue-green, soak: 1m, maxUnavailable: 1}";
    let mut plant = installed(settings);
    plant.join("aa");
    plant.report("aa", "hello", "failed:exited");
    plant.join("ab");
    plant.deploy(&App::new("hello", "2.0.0").with(settings));
    check(&plant, "a UPDATING 2, aa FAILED(install) 1, ab PENDING, b UPDATING 2, c UPDATING 2");
}

#[test]
fn failed_swap_follows_the_policy() {
    let swapped = |policy: &str| {
        let mut plant = updating(&format!("{BLUE_GREEN}\nonFailure: {policy}"));
        plant.converge();
        plant.pass(61);
        plant.report("b", "hello", "failed:port-in-use");
        plant.report("a", "hello", "failed:exited");
        plant
    };
    check(&swapped("rollback-site"), "a ROLLINGBACK 1, b ROLLINGBACK 1, c ROLLINGBACK 1");
    check(&swapped("rollback-node"), "a ROLLINGBACK 1, b FAILED(update) 2, c UPDATING 2");
    check(&swapped("stop"), "a FAILED(update) 2, b FAILED(update) 2, c UPDATING 2");
}

#[test]
fn abort_while_staged_discards_everywhere() {
    let mut plant = updating(BLUE_GREEN);
    plant.report("a", "hello", "installed");
    assert_eq!(steer(&mut plant, abort()), "");
    check(&plant, "a ROLLINGBACK 1, b ROLLINGBACK 1, c ROLLINGBACK 1");
    assert_eq!(phases(&plant), "active active active");
}

#[test]
fn offline_target_is_deferred_and_goes_straight_to_active() {
    let mut plant = installed(BLUE_GREEN);
    plant.silence("c");
    plant.pass(120);
    plant.deploy(&App::new("hello", "2.0.0").with(BLUE_GREEN));
    plant.report("a", "hello", "installed");
    plant.report("b", "hello", "installed");
    plant.pass(61);
    plant.converge();
    check(&plant, "a INSTALLED 2, b INSTALLED 2, c INSTALLED 1");
    plant.wake("c");
    check(&plant, "a INSTALLED 2, b INSTALLED 2, c UPDATING 2");
    assert_eq!(phases(&plant), "active active active");
}

#[test]
fn node_lost_while_staged_holds_nobody_up() {
    let mut plant = updating(BLUE_GREEN);
    plant.report("a", "hello", "installed");
    plant.report("b", "hello", "installed");
    plant.silence("c");
    plant.pass(181);
    check(&plant, "a UPDATING 2, b UPDATING 2, c UNKNOWN(update) 2");
    assert_eq!(phases(&plant), "active active stage");
    plant.wake("c");
    plant.report("c", "hello", "installed");
    check(&plant, "a UPDATING 2, b UPDATING 2, c UPDATING 2");
    assert_eq!(phases(&plant), "active active active");
}

#[test]
fn staged_rollout_survives_a_restart() {
    let mut plant = updating(BLUE_GREEN);
    plant.converge();
    plant.crash();
    check(&plant, "a UPDATING 2 staged, b UPDATING 2 staged, c UPDATING 2 staged");
    assert_eq!(phases(&plant), "stage stage stage");
    plant.pass(75);
    assert_eq!(phases(&plant), "active active active");
}

#[test]
fn newer_revision_is_staged_in_place_of_the_other() {
    let mut plant = updating(BLUE_GREEN);
    plant.converge();
    plant.deploy(&App::new("hello", "3.0.0").with(BLUE_GREEN));
    check(&plant, "a UPDATING 3, b UPDATING 3, c UPDATING 3");
    assert_eq!(phases(&plant), "stage stage stage");
}

#[test]
fn removal_while_staged_removes_both() {
    let mut plant = updating(BLUE_GREEN);
    plant.converge();
    plant.undeploy("hello");
    check(&plant, "a DELETING 2, b DELETING 2, c DELETING 2");
}

#[test]
fn foreign_device_is_refused_and_holds_nobody_up() {
    let mut plant = plant("a c");
    plant.join_foreign("b");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.deploy(&App::new("hello", "2.0.0").with(BLUE_GREEN));
    check(&plant, "a UPDATING 2, b INSTALLED 1, c UPDATING 2");
    because(&plant, "b", "not-stageable");
    plant.converge();
    plant.pass(61);
    plant.converge();
    check(&plant, "a INSTALLED 2, b INSTALLED 1, c INSTALLED 2");
}
