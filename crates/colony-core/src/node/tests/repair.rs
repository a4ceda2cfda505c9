//! Keeping what is installed as it was.

use std::collections::BTreeSet;

use crate::node::Input;
use crate::node::tests::kit::script;
use crate::node::tests::{World, check};

#[test]
fn node_boots_from_disk_without_a_network() {
    check(
        "deploy a db@1 web@1; run 19; registry off; blackout; run 9",
        "find db@1, start db@1, find web@1, start web@1",
    );
}

#[test]
fn what_ended_or_vanished_is_started_again() {
    check("deploy a web@1; run 90; web@1 becomes exited; run 9", "start web@1");
    check("deploy a web@1; run 9; web@1 becomes gone; run 9", "start web@1");
}

#[test]
fn repairs_wait_longer_each_time_and_the_sixth_is_reported() {
    let script = "deploy a web@1; run 90; web@1 is exiting; web@1 becomes exited";
    let start = ", start web@1";
    check(&format!("{script}; run 4"), "start web@1, start web@1");
    let five = start.repeat(5);
    check(&format!("{script}; run 60"), &format!("{}, a: failed exited web", &five[2..]));
    check(&format!("{script}; run 60; run 1"), "");
    check(&format!("{script}; run 60; run 70"), &start.repeat(2)[2..]);
}

#[test]
fn what_ends_soon_after_its_installation_is_reported_at_once() {
    check(
        "deploy a web@1; run 9; web@1 becomes exited; run 9",
        "a: failed exited web, start web@1, a: installed",
    );
}

#[test]
fn drift_is_repaired_without_a_report() {
    let installed = "deploy a web@1; run 9; web@1 becomes";
    check(&format!("{installed} gone; run 9"), "start web@1");
    check(&format!("{installed} stopped; run 9"), "start web@1");
}

#[test]
fn drift_that_goes_on_is_reported_as_interference() {
    for state in ["gone", "stopped"] {
        let again = format!("web@1 becomes {state}; run 70");
        let script = format!("deploy a web@1; run 9{}", format!("; {again}").repeat(6));
        check(&script, "a: failed interference web, start web@1, a: installed");
    }
}

#[test]
fn container_stopped_from_outside_during_an_installation_is_started_again() {
    check(
        "web@1 is slow; deploy a web@1; run 3; web@1 is fine; web@1 becomes stopped; run 9",
        "start web@1, a: installed",
    );
}

#[test]
fn recovery_is_reported_after_the_settle_time() {
    check(
        "deploy a web@1; run 9; web@1 is exiting; web@1 becomes exited; run 60; web@1 is fine; run 70",
        "start web@1, a: installed",
    );
    let unhealthy = "web@1 is checked; deploy a web@1; run 9; web@1 becomes unhealthy";
    check(&format!("{unhealthy}; run 60"), "a: failed unhealthy web");
    check(&format!("{unhealthy}; run 60; web@1 becomes healthy; run 4"), "");
    check(&format!("{unhealthy}; run 60; web@1 becomes healthy; run 9"), "a: installed");
}

#[test]
fn environment_never_makes_a_repair_give_up() {
    check(
        "deploy a web@1; run 9; web@1 is unstartable; web@1 becomes gone; run 600; web@1 is fine; run 80",
        "find web@1, start web@1",
    );
}

#[test]
fn containers_nobody_asked_for_are_removed_once_a_manifest_is_known() {
    check("stranger x; run 60", "");
    check("stranger x; deploy a web@1; run 2", "a: installing, pull web@1, start web@1, remove x");
    check("deploy a web@1; run 9; stranger x; run 3", "remove x");
}

#[test]
fn engine_that_is_away_holds_up_no_repair_on_the_other() {
    let both = "also a web@1; deploy b db@1 type=helm; run 90; cluster off";
    check(&format!("{both}; run 90"), "");
    check(&format!("{both}; web@1 becomes gone; run 9"), "start web@1");
    // What happens on the engine meanwhile is repaired when it is back.
    check(&format!("{both}; db@1 becomes gone; run 90"), "");
    check(&format!("{both}; db@1 becomes gone; run 90; cluster on; run 9"), "start db@1");
    check(
        "cluster off; also a web@1; deploy b db@1 type=helm; run 9",
        "a: installing, b: installing, pull web@1, start web@1, pull db@1, a: installed",
    );
}

#[test]
fn action_on_an_engine_that_went_away_is_not_followed_by_endless_observations() {
    let mut world = World::new();
    for command in ["deploy b db@1 type=helm", "db@1 is slow", "run 3", "cluster off"] {
        script::run(&mut world, command);
    }
    let away = BTreeSet::from(["helm".to_owned()]);
    world.now.mono.0 += 600_000;
    let input = || Input::ObservedInPart {
        taken: world.now.mono,
        containers: Vec::new(),
        away: away.clone(),
    };
    let step = world.node.step(input(), world.now);
    assert!(!step.observe, "{step:?}");
}
