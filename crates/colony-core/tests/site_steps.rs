//! Rollouts in steps: canary and blue-green, told in states.

use colony_core::event::Body;
use colony_core::site::Action;
use colony_core::why;
use colony_testkit::{App, Plant, deployment_id};

const CANARY: &str = "strategy: {type: canary, soak: 5m, maxUnavailable: 5}";
const MANUAL: &str = "strategy: {type: canary, soak: 5m, promote: manual, maxUnavailable: 5}";
const BLUE_GREEN: &str = "strategy: {type: blue-green, soak: 1m}";

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
    because(&plant, "b", "wave-full");
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
fn manual_promotion_is_waited_for() {
    let mut plant = updating(MANUAL);
    assert_eq!(promote(&mut plant), "the open step is not done: 0 of 1 nodes run it well");
    plant.report("a", "hello", "installed");
    plant.pass(400);
    check(&plant, "a INSTALLED 2, b INSTALLED 1, c INSTALLED 1");
    because(&plant, "c", "awaits-promotion");

    assert_eq!(promote(&mut plant), "");
    check(&plant, "a INSTALLED 2, b UPDATING 2, c UPDATING 2");
    assert_eq!(promote(&mut plant), "every step of the rollout is open already");
    plant.converge();
    assert_eq!(promote(&mut plant), "no rollout of it is under way");
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
fn pause_starts_nothing_and_resume_goes_on() {
    let mut plant = updating(CANARY);
    plant.report("a", "hello", "installed");
    assert_eq!(steer(&mut plant, pause()), "");
    assert_eq!(steer(&mut plant, pause()), "ana paused the rollout already");
    plant.pass(400);
    check(&plant, "a INSTALLED 2, b INSTALLED 1, c INSTALLED 1");
    because(&plant, "b", "paused");
    assert_eq!(promote(&mut plant), "ana paused the rollout; resume it first");

    plant.crash();
    assert_eq!(steer(&mut plant, resume()), "");
    check(&plant, "a INSTALLED 2, b UPDATING 2, c UPDATING 2");
    assert_eq!(steer(&mut plant, resume()), "its rollout is not paused");
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
    assert_eq!(steer(&mut plant, abort()), "it is rolled back already");
    assert_eq!(steer(&mut plant, pause()), "it is rolled back already");
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
        assert_eq!(steer(&mut plant, action), "no rollout of it is under way");
    }
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
    because(&plant, "b", "wave-full");
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
    let mut plant = plant("a");
    plant.join_foreign("b");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.deploy(&App::new("hello", "2.0.0").with(BLUE_GREEN));
    check(&plant, "a UPDATING 2, b INSTALLED 1");
    because(&plant, "b", "not-stageable");
    plant.converge();
    plant.pass(61);
    plant.converge();
    check(&plant, "a INSTALLED 2, b INSTALLED 1");
}

fn plant(nodes: &str) -> Plant {
    let mut plant = Plant::new();
    nodes.split_whitespace().for_each(|it| plant.join(it));
    plant
}

/// Version 1 runs on a, b and c.
fn installed(settings: &str) -> Plant {
    let mut plant = plant("a b c");
    plant.deploy(&App::new("hello", "1.0.0").with("strategy: {type: all-at-once}"));
    plant.converge();
    plant.pass(61);
    plant.deploy(&App::new("hello", "1.0.0").with(settings));
    plant
}

/// The same, and version 2 is on its way.
fn updating(settings: &str) -> Plant {
    let mut plant = installed(settings);
    plant.deploy(&App::new("hello", "2.0.0").with(settings));
    plant
}

fn pause() -> Action {
    Action::Pause { deployment: deployment_id("hello"), note: "a look first".to_owned() }
}

fn resume() -> Action {
    Action::Resume { deployment: deployment_id("hello") }
}

fn abort() -> Action {
    Action::Abort { deployment: deployment_id("hello"), note: String::new() }
}

fn promote(plant: &mut Plant) -> String {
    steer(plant, Action::Promote { deployment: deployment_id("hello") })
}

/// Why the command was refused, if it was.
fn steer(plant: &mut Plant, action: Action) -> String {
    plant.command(action).err().unwrap_or_default()
}

/// The phase each node is offered.
fn phases(plant: &Plant) -> String {
    let nodes = plant.site.members().map(|it| it.name.clone());
    let phase = |node| {
        let manifest = plant.site.manifest(&node).expect("a manifest");
        let text = String::from_utf8_lossy(&manifest.documents.first()?.2).into_owned();
        let line = text.lines().find_map(|it| it.trim().strip_prefix("phase: "));
        line.map(ToOwned::to_owned)
    };
    nodes.filter_map(phase).collect::<Vec<_>>().join(" ")
}

/// The steps that were told of.
fn steps(plant: &Plant) -> String {
    let step = |body: &Body| {
        let Body::RolloutStep { step, of, standing, .. } = body else { return None };
        let standing = serde_json::to_value(standing).expect("JSON");
        Some(format!("{step}/{of} {}", standing["name"].as_str().expect("a name")))
    };
    plant.events.iter().filter_map(|it| step(&it.body)).collect::<Vec<_>>().join(", ")
}

/// The first cause for which a node waits.
#[track_caller]
fn because(plant: &Plant, node: &str, expected: &str) {
    let id = plant.placement(node, "hello");
    let why = why::placement(&plant.site, &id, plant.now).expect("an answer");
    assert_eq!(why.cause.name(), expected, "{why}");
}

#[track_caller]
fn check(plant: &Plant, expected: &str) {
    let states = plant.states().replace("hello@", "").replace(".0.0", "");
    assert_eq!(states, expected);
}
