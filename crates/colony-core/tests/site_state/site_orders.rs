//! What an operator's order does, what it leaves alone, and how it is refused.

use std::time::Duration;

use colony_core::event::{Body, HoldScope};
use colony_core::order_rules::NOTE_LIMIT;
use colony_core::site::{Action, Command, Input};
use colony_testkit::{App, Plant, commit_id, deployment_id};

const STOP: &str = "onFailure: stop";

#[test]
fn orders_are_told_by_the_names_they_are_given_with() {
    let deployment = || deployment_id("hello");
    let node = || "a".parse().expect("a name");
    let note = || "a look first".to_owned();
    for action in [
        Action::Hold { scope: HoldScope::Site, note: note() },
        Action::ReleaseHold { scope: HoldScope::Site },
        Action::ReleaseRemoval,
        Action::AcceptHistory { commit: commit_id(7) },
        Action::ReleaseQuarantine { deployment: deployment() },
        Action::Retry { deployment: deployment(), node: None },
        Action::Rollback { deployment: deployment() },
        Action::Promote { deployment: deployment() },
        Action::Pause { deployment: deployment(), note: note() },
        Action::Resume { deployment: deployment() },
        Action::Abort { deployment: deployment(), note: note() },
        Action::Force { deployment: deployment(), node: None },
        Action::Cordon { node: node() },
        Action::Uncordon { node: node() },
        Action::Retire { node: node() },
    ] {
        let mut plant = plant("a");
        let given = serde_json::to_value(&action).expect("JSON");
        let _ = plant.command(action);
        let Some(Body::CommandDone { command, .. }) = plant.events.pop().map(|it| it.body) else {
            panic!("{given} was not acknowledged");
        };
        assert_eq!(given["action"], command);
    }
}

#[test]
fn refused_release_leaves_a_pause_alone() {
    let mut plant = plant("a b");
    let canary = "strategy: {type: canary, soak: 5m}";
    plant.deploy(&App::new("hello", "2.0.0").with(canary));
    let (deployment, note) = (deployment_id("hello"), "a look first".to_owned());
    plant.command(Action::Pause { deployment: deployment.clone(), note }).expect("paused");
    let before = plant.site.deployment(&deployment).expect("it is there").rollout().clone();
    let nothing = "nothing to release: no version of hello is quarantined at home";
    refuses(&mut plant, Action::ReleaseQuarantine { deployment: deployment.clone() }, nothing);
    assert_eq!(*plant.site.deployment(&deployment).expect("it is there").rollout(), before);
}

#[test]
fn second_hold_does_not_replace_the_first() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    let deployment = HoldScope::Deployment(deployment_id("hello"));
    for (scope, expected) in [
        (HoldScope::Site, "home is already on hold; release it first"),
        (deployment, "hello is already on hold at home; release it first"),
    ] {
        let hold = |note: &str| Action::Hold { scope: scope.clone(), note: note.to_owned() };
        plant.command(hold("audit")).expect("held");
        refuses(&mut plant, hold("other"), expected);
        assert_eq!(plant.site.holds()[&scope].note, "audit");
    }
}

#[test]
fn order_for_what_is_not_here_says_so() {
    let mut plant = plant("a");
    let (deployment, node) = (deployment_id("other"), "b".parse().expect("a name"));
    let unknown = format!("deployment {deployment} is not at home");
    refuses(&mut plant, Action::Rollback { deployment: deployment.clone() }, &unknown);
    refuses(&mut plant, Action::Retry { deployment, node: None }, &unknown);
    refuses(&mut plant, Action::Cordon { node }, "node b has not joined home");
}

#[test]
fn note_has_a_limit() {
    let mut plant = plant("a");
    let hold = |size| Action::Hold { scope: HoldScope::Site, note: "x".repeat(size) };
    let long = "the note has 1001 bytes, more than the 1000 that are accepted";
    refuses(&mut plant, hold(NOTE_LIMIT + 1), long);
    plant.command(hold(NOTE_LIMIT)).expect("it is held");
}

#[test]
fn order_is_good_up_to_the_moment_it_expires() {
    for (before, expected) in [(0, ""), (1, "it expired before it arrived")] {
        let mut plant = plant("a");
        let expires = Some(plant.now.wall.before(Duration::from_millis(before)));
        let action = Action::Hold { scope: HoldScope::Site, note: String::new() };
        let command = Command { number: None, by: "ana".to_owned(), expires, action };
        let refused = plant.step(Input::Command(command)).refused;
        assert_eq!(refused.map(|it| it.to_string()).unwrap_or_default(), expected);
    }
}

#[test]
fn nothing_is_released_where_nothing_was_refused() {
    let mut plant = installed("a");
    refuses(
        &mut plant,
        release(),
        "nothing to release: no version of hello is quarantined at home",
    );
}

#[test]
fn what_one_node_gave_up_is_tried_again_once_it_is_released() {
    let mut plant = installed("a b");
    plant.deploy(&hello("2.0.0").with("onFailure: rollback-node"));
    plant.report("a", "hello", "failed:exited");
    plant.converge();
    check(&plant, "a INSTALLED 1, b INSTALLED 2");
    plant.command(release()).expect("given up on a");
    assert_eq!(releases(&plant), 1);
    check(&plant, "a UPDATING 2, b INSTALLED 2");
}

#[test]
fn what_was_stopped_has_all_its_tries_once_it_is_released() {
    let mut plant = stopped();
    plant.command(release()).expect("stopped");
    assert_eq!(releases(&plant), 1);
    check(&plant, "a UPDATING 2");
}

#[test]
fn what_recovers_by_itself_is_stopped_no_more() {
    let mut plant = stopped();
    plant.report("a", "hello", "installed");
    assert!(!plant.site.deployment(&deployment_id("hello")).expect("it is here").is_stopped());
    plant.join("b");
    plant.converge();
    check(&plant, "a INSTALLED 2, b INSTALLED 2");
}

#[test]
fn stop_stays_while_a_node_without_the_revision_is_offline() {
    let mut plant = installed("a b");
    plant.deploy(&hello("2.0.0").with(STOP));
    plant.report("a", "hello", "failed:exited");
    plant.silence("b");
    plant.pass(60);
    plant.report("a", "hello", "installed");
    check(&plant, "a INSTALLED 2, b INSTALLED 1");
    let is_stopped =
        |it: &Plant| it.site.deployment(&deployment_id("hello")).expect("it is here").is_stopped();
    assert!(is_stopped(&plant));
    plant.wake("b");
    plant.converge();
    check(&plant, "a INSTALLED 2, b INSTALLED 1");
    plant.command(release()).expect("stopped");
    plant.converge();
    check(&plant, "a INSTALLED 2, b INSTALLED 2");
    assert!(!is_stopped(&plant));
}

#[test]
fn who_is_away_with_its_failure_lifts_no_stop() {
    let mut plant = stopped();
    plant.silence("a");
    plant.pass(60);
    assert!(plant.site.deployment(&deployment_id("hello")).expect("it is here").is_stopped());
}

#[test]
fn whoever_gets_the_name_of_a_retired_node_has_rejected_nothing() {
    let mut plant = installed("a b");
    plant.deploy(&hello("2.0.0").with("onFailure: rollback-node"));
    plant.report("a", "hello", "failed:exited");
    plant.converge();
    check(&plant, "a INSTALLED 1, b INSTALLED 2");
    plant.command(Action::Retire { node: "a".parse().expect("a name") }).expect("it is retired");
    let good = plant
        .site
        .deployment(&deployment_id("hello"))
        .expect("it is here")
        .last_converged()
        .cloned();
    assert_eq!(
        good,
        plant.site.deployment(&deployment_id("hello")).map(|it| it.accepted().clone())
    );
    plant.join("a");
    plant.converge();
    check(&plant, "a INSTALLED 2, b INSTALLED 2");
}

#[test]
fn what_git_comes_back_to_has_all_its_tries() {
    let mut plant = stopped();
    let scope = HoldScope::Site;
    let hold = Action::Hold { scope: scope.clone(), note: String::new() };
    plant.command(hold).expect("held");
    plant.deploy(&hello("3.0.0").with(STOP));
    plant.deploy(&hello("2.0.0").with(STOP));
    check(&plant, "a FAILED(update) 2");
    plant.command(Action::ReleaseHold { scope }).expect("released");
    check(&plant, "a UPDATING 2");
}

#[test]
fn nobody_is_woken_for_a_try_that_was_made_by_hand() {
    let mut plant = plant("a");
    plant.deploy(&hello("1.0.0"));
    plant.report("a", "hello", "failed:disk-full");
    let failed = plant.site.placement(&plant.placement("a", "hello")).expect("it is there");
    let due = failed.retry_at();
    assert_eq!(plant.step(Input::Tick).wake, due);
    let retry = Action::Retry { deployment: deployment_id("hello"), node: None };
    plant.command(retry).expect("it failed");
    assert!(plant.step(Input::Tick).wake > due);
}

#[test]
fn the_first_revision_is_not_rolled_back_to_nothing() {
    let mut plant = installed("a");
    refuses(
        &mut plant,
        rollback(),
        "home keeps no earlier revision of hello to roll back to; choose a version with `--to`",
    );
    plant.pass(1);
    check(&plant, "a INSTALLED 1");
}

#[test]
fn what_no_node_has_yet_can_be_rolled_back() {
    let mut plant = installed("a");
    let hold = Action::Hold { scope: HoldScope::Site, note: String::new() };
    plant.command(hold).expect("held");
    plant.deploy(&hello("2.0.0"));
    plant.command(rollback()).expect("1.0.0 is known");
    plant.command(Action::ReleaseHold { scope: HoldScope::Site }).expect("released");
    check(&plant, "a INSTALLED 1");
}

fn plant(nodes: &str) -> Plant {
    let mut plant = Plant::new();
    nodes.split_whitespace().for_each(|it| plant.join(it));
    plant
}

fn installed(nodes: &str) -> Plant {
    let mut plant = plant(nodes);
    plant.deploy(&hello("1.0.0"));
    plant.converge();
    plant
}

/// The update to version 2 has failed, and waits for an operator.
fn stopped() -> Plant {
    let mut plant = installed("a");
    plant.deploy(&hello("2.0.0").with(STOP));
    plant.report("a", "hello", "failed:exited");
    plant.pass(60);
    check(&plant, "a FAILED(update) 2");
    plant
}

fn hello(version: &str) -> App {
    App::new("hello", version)
}

fn release() -> Action {
    Action::ReleaseQuarantine { deployment: deployment_id("hello") }
}

fn rollback() -> Action {
    Action::Rollback { deployment: deployment_id("hello") }
}

fn releases(plant: &Plant) -> usize {
    plant.events.iter().filter(|it| matches!(it.body, Body::RolloutReleased { .. })).count()
}

#[track_caller]
fn refuses(plant: &mut Plant, action: Action, expected: &str) {
    assert_eq!(plant.command(action), Err(expected.to_owned()));
}

#[track_caller]
fn check(plant: &Plant, expected: &str) {
    let states = plant.states().replace("hello@", "").replace(".0.0", "");
    assert_eq!(states, expected);
}
