//! Revisions that a device refuses: no quarantine, and no node waits for it.

use colony_core::event::HoldScope;
use colony_core::site::Action;
use colony_core::why;
use colony_testkit::{App, Plant};

const RULE: &str = "eligibilityRules:
  - propertySelector:
      matchExpressions:
        - {key: /cpus/0/architecture, operator: In, values: [amd64]}";

#[test]
fn the_revision_is_not_condemned_and_the_others_go_on() {
    let plant = refused();
    check(&plant, "hello@a FAILED(update) 2.0.0, hello@b UPDATING 2.0.0, hello@c INSTALLED 1.0.0");
}

#[test]
fn it_converges_without_the_device_that_refuses() {
    let mut plant = settled();
    plant.pass(7_200);
    check(&plant, "hello@a FAILED(update) 2.0.0, hello@b INSTALLED 2.0.0, hello@c INSTALLED 2.0.0");
}

#[test]
fn it_is_tried_again_when_the_device_changes() {
    let mut plant = settled();
    plant.join("a");
    check(&plant, "hello@a UPDATING 2.0.0, hello@b INSTALLED 2.0.0, hello@c INSTALLED 2.0.0");
}

#[test]
fn it_is_tried_again_when_the_deployment_changes() {
    let mut plant = settled();
    plant.deploy(&App::new("hello", "2.0.1"));
    check(&plant, "hello@a UPDATING 2.0.1, hello@b INSTALLED 2.0.0, hello@c INSTALLED 2.0.0");
}

#[test]
fn an_operator_may_try_it_at_any_time() {
    let mut plant = settled();
    let deployment = plant.placement("a", "hello").deployment;
    let node = Some("a".parse().expect("a name"));
    plant.command(Action::Retry { deployment, node }).expect("it has failed");
    check(&plant, "hello@a UPDATING 2.0.0, hello@b INSTALLED 2.0.0, hello@c INSTALLED 2.0.0");
}

#[test]
fn a_refusal_that_the_site_cannot_explain_is_tried_again_by_time() {
    let mut plant = plant();
    plant.deploy(&App::new("hello", "2.0.0"));
    plant.report("a", "hello", "failed:not-eligible");
    plant.pass(600);
    assert!(plant.states().starts_with("hello@a UPDATING 2.0.0"), "{}", plant.states());
}

#[test]
fn a_crash_forgets_no_refusal() {
    let mut plant = settled();
    let before = plant.states();
    plant.crash();
    plant.pass(7_200);
    assert_eq!(plant.states(), before);
}

#[test]
fn who_refuses_holds_nobody_up_who_stands_behind_it() {
    let mut plant = plant();
    let two = "strategy: {type: rolling, maxUnavailable: 2}";
    plant.deploy(&App::new("hello", "2.0.0").needing(RULE).with(two));
    plant.report("b", "hello", "failed:registry-unavailable");
    plant.report("a", "hello", "installed");
    plant.report("c", "hello", "installed");
    let hold = Action::Hold { scope: HoldScope::Site, note: String::new() };
    plant.command(hold).expect("it is held");
    plant.deploy(&App::new("hello", "3.0.0"));
    plant.join_with("a", "arm64", "");
    plant.report("a", "hello", "failed:not-eligible");
    plant.command(Action::ReleaseHold { scope: HoldScope::Site }).expect("it was held");
    check(&plant, "hello@a FAILED(update) 2.0.0, hello@b UPDATING 3.0.0, hello@c INSTALLED 2.0.0");
}

#[test]
fn why_tells_who_refuses_and_what_ends_it() {
    let plant = settled();
    let why = why::placement(&plant.site, &plant.placement("a", "hello"), plant.now);
    insta::assert_snapshot!(why.expect("an answer").text(plant.now.wall), @"hello on a failed to update to 2.0.0 (FAILED for 0 s): node a will not run it: the device does not meet the deployment's constraints (not-eligible in web: it went wrong). Next: what runs there stays; it is tried again when the node or the file changes. To do (author of the file in Git): change what the file asks for, or choose another node.");
}

/// Node `a` has become what the rules of 2.0.0 exclude, and says so.
fn refused() -> Plant {
    let mut plant = plant();
    plant.join_with("a", "arm64", "");
    plant.deploy(&App::new("hello", "2.0.0").needing(RULE));
    plant.report("a", "hello", "failed:not-eligible");
    plant
}

/// The same, and the others have it.
fn settled() -> Plant {
    let mut plant = refused();
    plant.report("b", "hello", "installed");
    plant.report("c", "hello", "installed");
    plant
}

fn plant() -> Plant {
    let mut plant = Plant::new();
    for node in ["a", "b", "c"] {
        plant.join(node);
    }
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant
}

#[track_caller]
fn check(plant: &Plant, expected: &str) {
    assert_eq!(plant.states(), expected);
}
