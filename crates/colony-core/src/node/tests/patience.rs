//! How long a node remembers, waits and trusts: the limits of its patience.

use colony_margo::Digest;

use crate::node::tests::check;
use crate::node::tests::kit::script;
use crate::node::tests::kit::world::World;
use crate::node::{Action, Input, Phase, Step};
use crate::time::Monotonic;

const GONE: &str = "deploy a web@1; run 9; web@1 becomes gone; actions off; run 3";

#[test]
fn what_ended_needs_no_preparation_to_be_known_as_failed() {
    check("web@1 is slow; deploy a web@1; run 3; blackout; run 3", "a: failed exited web");
}

#[test]
fn what_is_found_running_has_to_settle_unless_it_was_proven() {
    check("deploy a web@1; run 9; wipe; reboot; run 2", "a: installing, find web@1");
    check("deploy a web@1; run 9; deploy a web@1 attempt=2; run 0", "a: installed");
}

#[test]
fn recovery_has_to_settle() {
    let healthy = "web@1 is slow; deploy a web@1/0m5s; run 20; web@1 becomes healthy";
    check(&format!("{healthy}; run 2"), "");
}

#[test]
fn what_was_stopped_for_a_failed_update_is_not_started_again() {
    check(
        "deploy a web@1; run 9; web@2 is unstartable; deploy a web@2; run 30",
        "a: installing, pull web@2, clear web, start web@2, a: failed port-in-use web",
    );
    let failed = "deploy a web@1; run 9; web@2 is exiting; deploy a web@2; run 9";
    check(
        &format!("{failed}; web@2 is missing; deploy a web@2 attempt=2; run 30"),
        "a: installing, find web@2, a: failed image-missing web",
    );
}

#[test]
fn what_the_device_may_not_run_does_not_recover() {
    check(
        "deploy a web@1; run 9; deploy a web@1 hall=south; run 30",
        "a: failed not-eligible pumps",
    );
}

#[test]
fn what_ran_last_is_kept_running_not_what_ran_before_it() {
    let third = "deploy a web@1; run 9; deploy a web@2; run 9; web@3 is missing; deploy a web@3";
    check(&format!("{third}; run 9; web@2 becomes exited; run 9"), "find web@2, start web@2");
}

#[test]
fn another_attempt_closes_no_way_back() {
    let again = "deploy a web@1; run 9; deploy a web@2; run 9; deploy a web@2 attempt=2; run 9";
    check(
        &format!("{again}; registry off; deploy a web@1 attempt=3; run 9"),
        "a: installing, find web@1, clear web, start web@1, a: installed",
    );
}

#[test]
fn failure_of_a_start_for_the_document_before_fails_nothing() {
    check(
        &format!("{GONE}; web@1 is unstartable; deploy a web@2; run 1; actions on; run 9"),
        "start web@1, pull web@2, start web@2, a: installed",
    );
}

#[test]
fn start_for_the_document_before_takes_no_time_from_the_next() {
    let gone = "deploy a db@1 web@1; run 19; web@1 becomes gone; actions off; run 3";
    let slow = "db@2 is slow; web@2 is slow; deploy a db@2 web@2/0m30s; run 1; actions on; run 20";
    check(&format!("{gone}; {slow}; db@2 becomes healthy; run 15"), "clear web, start web@2");
}

#[test]
fn start_for_the_document_before_is_no_restart_of_the_next() {
    let missing = "web@2 is missing; deploy a web@2; run 1; actions on; run 3";
    check(&format!("{GONE}; {missing}; web@1 becomes exited; run 1"), "find web@1, start web@1");
}

#[test]
fn repairs_beside_a_stage_wait_longer_each_time() {
    let slow = "deploy a web@1; run 9; web@2 is slow; deploy a web@2 phase=stage; run 9";
    check(
        &format!("{slow}; web@1 is exiting; web@1 becomes exited; run 8"),
        "find web@1, start web@1, start web@1, start web@1",
    );
}

#[test]
fn restarts_far_apart_are_counted_within_the_window() {
    let often = "web@1 becomes exited; run 100; ".repeat(5);
    check(
        &format!("deploy a web@1; run 90; {often}web@1 becomes exited; run 0"),
        "a: failed exited web",
    );
}

#[test]
fn waits_are_short_again_after_a_calm_time() {
    let ended = "deploy a web@1; run 90; web@1 is exiting; web@1 becomes exited; run 8";
    let calm = "web@1 is fine; run 30; run 700; web@1 becomes exited";
    check(&format!("{ended}; {calm}; run 2"), "start web@1");
    let world = after(&format!("{ended}; {calm}; run 700"));
    let entry = world.node.deployments.values().next().expect("a deployment");
    assert!(entry.record.restarts.is_empty(), "{:?}", entry.record.restarts);
}

#[test]
fn removal_of_what_nobody_asked_for_is_tried_with_pauses() {
    let failing = "deploy a web@1; run 9; removal off; stranger x";
    check(&format!("{failing}; run 8"), "remove x, remove x, remove x, remove x");
    check(&format!("{failing}; run 8; removal on; run 20"), "remove x");
}

#[test]
fn engine_is_looked_at_when_something_is_due_and_not_before() {
    let mut world = after("deploy a web@1; run 0");
    let step = tick(&mut world, 1);
    assert!(!step.observe, "{step:?}");
    let settled = step.wake.expect("it settles");
    assert!(settled > world.now.mono, "{settled:?} is over");
    let step = tick(&mut world, 60);
    assert!(step.observe && world.now.mono > settled, "{step:?}");
    assert!(step.wake.is_none_or(|it| it > world.now.mono), "{step:?}");
}

#[test]
fn engine_is_looked_at_before_a_new_attempt_clears_an_unhealthy_component() {
    let unhealthy = "web@1 is checked; deploy a web@1; run 9; web@1 becomes unhealthy; run 3";
    let mut world = after(&format!("{unhealthy}; deploy a web@1 attempt=2"));
    let before = world.now.mono;
    tick(&mut world, 60);
    world.poll();
    assert!(world.queue.is_empty(), "{:?}", world.queue);

    // The observation that was under way when the manifest came proves nothing.
    let step = observe(&mut world, before);
    assert!(step.actions.is_empty() && step.observe, "{step:?}");
    let now = world.now.mono;
    let step = observe(&mut world, now);
    assert!(matches!(step.actions.as_slice(), [Action::Clear { keep: None, .. }]), "{step:?}");
}

#[test]
fn engine_is_looked_at_after_a_stray_was_removed() {
    let mut world = after("deploy a web@1; run 9; actions off; stranger x; run 1");
    let (_, (action, _)) = world.queue.pop_first().expect("a removal");
    let step = world.node.step(Input::Done { action, result: Ok(Default::default()) }, world.now);
    assert!(step.observe, "{step:?}");
}

#[test]
fn clock_goes_on_after_a_restart() {
    let world = after("web@1 is slow; deploy a web@1; run 90; reboot");
    assert!(world.node.clock() > Monotonic(60_000), "{:?}", world.node.clock());
}

#[test]
fn what_was_accepted_last_is_asked_about() {
    let world = after("deploy a web@1; run 9");
    let etag = format!("\"{}\"", Digest::of(&world.manifest));
    assert_eq!(world.node.etag(), Some(etag.as_str()));
    let phase = world.node.phase(&script::id_of("a"));
    assert!(matches!(phase, Some(Phase::Installed { .. })), "{phase:?}");
    assert_eq!(world.node.phase(&script::id_of("b")), None);
}

/// Time passes without an observation.
fn tick(world: &mut World, seconds: u64) -> Step {
    world.now.mono = Monotonic(world.now.mono.0 + seconds * 1_000);
    world.node.step(Input::Tick, world.now)
}

/// An observation of the engine that began at `taken` ends.
fn observe(world: &mut World, taken: Monotonic) -> Step {
    let containers = world.containers();
    world.node.step(Input::Observed { taken, containers }, world.now)
}

/// The world after a script.
fn after(text: &str) -> World {
    let mut world = World::new();
    text.split(';').for_each(|it| script::run(&mut world, it.trim()));
    world
}
