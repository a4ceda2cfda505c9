//! Crashes, restored backups, replaced orchestrators, and operators' orders.

use colony_core::event::{HoldScope, VERSION_BITS};
use colony_core::site::{Action, Command, Input, Refused};
use colony_testkit::{App, Plant, deployment_id, status};

#[test]
fn nothing_is_served_before_seed_and_git() {
    let mut plant = Plant::unseeded(0);
    let node = "a".parse().expect("a name");
    refuses(
        &mut plant,
        Input::Joined(node),
        "the site is not ready: what runs here is not known yet",
    );
    plant.must(Input::Seed(Box::default()));
    let node = "a".parse().expect("a name");
    plant.must(Input::Joined(node));
    let node = "a".parse().expect("a name");
    let error = plant.site.manifest(&node).expect_err("Git is not read");
    assert_eq!(error.to_string(), "the site is not ready: Git is not read yet");
    plant.commit(vec![]);
    assert_eq!(plant.site.manifest(&node).expect("ready").version, 1);
}

#[test]
fn new_incarnation_takes_over_without_restarting_anything() {
    let mut plant = takeover("INSTALLED");
    check(&plant, "hello@a INSTALLED 1.0.0");
    assert_eq!(plant.version("a") >> VERSION_BITS, 1, "versions of the second incarnation");
    plant.wake("a");
    check(&plant, "hello@a INSTALLED 1.0.0");
}

#[test]
fn attempts_of_the_lost_orchestrator_are_unknown_until_the_node_speaks() {
    let mut plant = takeover("UPDATING");
    check(&plant, "hello@a UNKNOWN(update) 1.0.0");
    plant.wake("a");
    plant.report("a", "hello", "installed");
    check(&plant, "hello@a INSTALLED 1.0.0");
}

#[test]
fn fenced_orchestrator_freezes() {
    let mut plant = plant();
    plant.deploy(&App::new("hello", "1.0.0"));
    let node = "a".parse().expect("a name");
    let before = plant.site.manifest(&node).expect("ready").etag;
    plant.must(Input::Fenced { by: 1 });
    plant.crash();
    refuses(&mut plant, Input::Tick, "this orchestrator was replaced by incarnation 1");
    assert!(!plant.site.is_ready());
    assert_eq!(plant.site.manifest(&node).expect("frozen, not gone").etag, before);
}

#[test]
fn restored_backup_goes_above_what_nodes_have_seen() {
    let mut plant = plant();
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.poll_with("a", 40);
    assert_eq!(plant.version("a"), 41);
    check(&plant, "hello@a UNKNOWN(install) 1.0.0");
    plant.report_at("a", "hello", "installed", 40);
    check(&plant, "hello@a UNKNOWN(install) 1.0.0");
    plant.report("a", "hello", "installed");
    check(&plant, "hello@a INSTALLED 1.0.0");
}

#[test]
fn node_that_lost_its_disk_starts_over() {
    let mut plant = plant();
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.join("a");
    check(&plant, "hello@a UNKNOWN(install) 1.0.0");
    let node = "a".parse().expect("a name");
    assert_eq!(plant.site.report_requests(&node).deployments, [deployment_id("hello")]);
    plant.report("a", "hello", "removed");
    check(&plant, "hello@a INSTALLING 1.0.0");
}

#[test]
fn what_a_device_sent_before_it_was_set_up_anew_does_not_silence_it() {
    let mut plant = plant();
    plant.deploy(&App::new("hello", "1.0.0"));
    let old = plant.version("a");
    plant.join("a");
    // Its clock was ahead in its former life, and so were its numbers.
    let node = "a".parse().expect("a name");
    let late = status(&deployment_id("hello"), "installing", old, u64::MAX >> 12);
    plant.must(Input::Status { node, status: Box::new(late) });
    plant.report("a", "hello", "installed");
    check(&plant, "hello@a INSTALLED 1.0.0");
}

#[test]
fn capabilities_out_of_a_backup_are_asked_for_again() {
    let mut plant = plant();
    plant.join("a");
    plant.join_foreign("z");
    let asks = |plant: &Plant, node: &str| {
        plant.site.report_requests(&node.parse().expect("a name")).capabilities
    };
    assert!(!asks(&plant, "a"));
    plant.crash();
    assert!(asks(&plant, "a"));
    assert!(!asks(&plant, "z"), "a device of another make does not know the question");
    plant.join("a");
    assert!(!asks(&plant, "a"));
}

#[test]
fn hold_stops_new_attempts_but_no_rollback() {
    let mut plant = plant();
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.deploy(&App::new("hello", "2.0.0"));
    hold(&mut plant);
    plant.report("a", "hello", "failed:unhealthy");
    plant.converge();
    check(&plant, "hello@a INSTALLED 1.0.0");

    plant.deploy(&App::new("hello", "3.0.0"));
    plant.undeploy("hello");
    check(&plant, "hello@a INSTALLED 1.0.0");
    plant.command(Action::ReleaseHold { scope: HoldScope::Site }).expect("released");
    check(&plant, "hello@a DELETING 1.0.0");
}

#[test]
fn retry_starts_what_failed_at_once() {
    let mut plant = plant();
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.report("a", "hello", "failed:disk-full");
    let retry = Action::Retry { deployment: deployment_id("hello"), node: None };
    plant.command(retry.clone()).expect("it failed");
    check(&plant, "hello@a INSTALLING 1.0.0");
    assert_eq!(
        plant.command(retry),
        Err("nothing to retry: hello has not failed at home".to_owned())
    );
}

#[test]
fn retry_of_an_offline_node_says_why_not() {
    let mut plant = plant();
    plant.deploy(&App::new("hello", "1.0.0"));
    for _ in 0..5 {
        plant.pass(60);
        plant.report("a", "hello", "failed:disk-full");
    }
    plant.silence("a");
    plant.pass(20);
    let retry = Action::Retry { deployment: deployment_id("hello"), node: None };
    assert_eq!(plant.command(retry), Err("a: node a is offline".to_owned()));
}

#[test]
fn operator_rolls_back_to_the_last_good_revision() {
    let mut plant = plant();
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.deploy(&App::new("hello", "2.0.0"));
    plant.converge();
    let back = Action::Rollback { deployment: deployment_id("hello") };
    plant.command(back.clone()).expect("1.0.0 is known");
    check(&plant, "hello@a ROLLINGBACK 1.0.0");
    plant.converge();
    assert_eq!(
        plant.command(back),
        Err("hello is already rolled back at home: the version in Git is quarantined".to_owned())
    );
}

#[test]
fn numbered_commands_are_executed_once() {
    let mut plant = plant();
    let scope = HoldScope::Site;
    let action = Action::Hold { scope: scope.clone(), note: String::new() };
    let command = Command { number: Some(1), by: "ana".to_owned(), expires: None, action };
    plant.must(Input::Command(command.clone()));
    plant.command(Action::ReleaseHold { scope }).expect("released");
    plant.must(Input::Command(command));
    assert!(plant.site.holds().is_empty(), "the repeated command changed nothing");
}

#[test]
fn expired_command_is_acknowledged_not_executed() {
    let mut plant = plant();
    let action = Action::Hold { scope: HoldScope::Site, note: String::new() };
    let expires = Some(plant.now.wall.before(std::time::Duration::from_secs(1)));
    let command = Command { number: Some(1), by: "ana".to_owned(), expires, action };
    let refused = plant.step(Input::Command(command)).refused;
    assert_eq!(refused, Some(Refused::Command("it expired before it arrived".to_owned())));
    assert_eq!(plant.site.commands_done(), 1);
}

#[test]
fn retired_node_leaves_with_everything_on_it() {
    let mut plant = plant();
    plant.join("b");
    plant.deploy(&App::new("hello", "1.0.0").with("replicas: 1"));
    plant.converge();
    plant.command(Action::Retire { node: "a".parse().expect("a name") }).expect("known");
    check(&plant, "hello@b INSTALLING 1.0.0");
    let node = "a".parse().expect("a name");
    refuses(&mut plant, Input::Heard { node, have: None }, "node `a` has not joined this site");
}

#[test]
fn cordoned_node_gets_nothing_new_and_keeps_what_it_has() {
    let mut plant = plant();
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    let node = || "a".parse().expect("a name");
    plant.command(Action::Cordon { node: node() }).expect("known");
    plant.deploy(&App::new("other", "1.0.0"));
    plant.deploy(&App::new("hello", "2.0.0"));
    plant.converge();
    check(&plant, "hello@a INSTALLED 2.0.0");
    plant.command(Action::Uncordon { node: node() }).expect("known");
    plant.converge();
    check(&plant, "hello@a INSTALLED 2.0.0, other@a INSTALLED 1.0.0");
}

#[test]
fn repeated_and_reordered_reports_move_nothing() {
    let mut plant = plant();
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.report("a", "hello", "installed");
    let events = plant.events.len();
    let status = colony_margo::DeploymentStatus::parse(
        format!(
            r#"{{"deploymentId":"{}","adoptedManifestVersion":2,"status":{{"state":"failed"}},
            "components":[],"x-colony-extensions":{{"report":1}}}}"#,
            deployment_id("hello")
        )
        .as_bytes(),
    );
    let status = Box::new(status.expect("valid").value);
    plant.must(Input::Status { node: "a".parse().expect("a name"), status });
    check(&plant, "hello@a INSTALLED 1.0.0");
    assert_eq!(plant.events.len(), events);
}

fn plant() -> Plant {
    let mut plant = Plant::new();
    plant.join("a");
    plant
}

/// The second incarnation of a site on which `hello` was in `state`.
fn takeover(state: &str) -> Plant {
    let app = App::new("hello", "1.0.0");
    let mut plant = Plant::taken_over(&app, state);
    plant.deploy(&app);
    plant
}

fn hold(plant: &mut Plant) {
    let action = Action::Hold { scope: HoldScope::Site, note: "audit".to_owned() };
    plant.command(action).expect("held");
}

#[track_caller]
fn refuses(plant: &mut Plant, input: Input, expected: &str) {
    let refused = plant.step(input).refused;
    assert_eq!(refused.map(|it| it.to_string()).as_deref(), Some(expected));
}

#[track_caller]
fn check(plant: &Plant, expected: &str) {
    assert_eq!(plant.states(), expected);
}
