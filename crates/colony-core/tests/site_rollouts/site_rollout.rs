//! A site rolls revisions out, and back: whole stories, told in states.

use colony_core::site::Action;
use colony_testkit::{App, Plant, deployment_id};

#[test]
fn first_deployment_goes_node_by_node() {
    let mut plant = plant("a b c");
    plant.deploy(&App::new("hello", "1.0.0"));
    check(&plant, "hello@a INSTALLING 1.0.0, hello@b PENDING, hello@c PENDING");

    plant.report("a", "hello", "installed");
    check(&plant, "hello@a INSTALLED 1.0.0, hello@b INSTALLING 1.0.0, hello@c PENDING");

    plant.converge();
    check(&plant, "hello@a INSTALLED 1.0.0, hello@b INSTALLED 1.0.0, hello@c INSTALLED 1.0.0");
}

#[test]
fn all_at_once_starts_everywhere() {
    let mut plant = plant("a b c");
    plant.deploy(&App::new("hello", "1.0.0").with("strategy: {type: all-at-once}"));
    check(&plant, "hello@a INSTALLING 1.0.0, hello@b INSTALLING 1.0.0, hello@c INSTALLING 1.0.0");
}

#[test]
fn max_unavailable_is_a_share_of_the_placements() {
    let mut plant = plant("a b c d");
    let settings = "strategy: {type: rolling, maxUnavailable: 50%}";
    plant.deploy(&App::new("hello", "1.0.0").with(settings));
    check(
        &plant,
        "hello@a INSTALLING 1.0.0, hello@b INSTALLING 1.0.0, hello@c PENDING, hello@d PENDING",
    );
}

#[test]
fn bad_update_is_rolled_back_and_quarantined() {
    let mut plant = plant("a b");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.deploy(&App::new("hello", "2.0.0"));
    check(&plant, "hello@a UPDATING 2.0.0, hello@b INSTALLED 1.0.0");

    plant.report("a", "hello", "failed:unhealthy");
    check(&plant, "hello@a ROLLINGBACK 1.0.0, hello@b INSTALLED 1.0.0");

    plant.converge();
    check(&plant, "hello@a INSTALLED 1.0.0, hello@b INSTALLED 1.0.0");
    plant.pass(3_600);
    check(&plant, "hello@a INSTALLED 1.0.0, hello@b INSTALLED 1.0.0");
}

#[test]
fn release_lets_a_quarantined_revision_try_again() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.deploy(&App::new("hello", "2.0.0"));
    plant.report("a", "hello", "failed:exited");
    plant.converge();

    let release = Action::ReleaseQuarantine { deployment: deployment_id("hello") };
    plant.command(release).expect("released");

    check(&plant, "hello@a UPDATING 2.0.0");
}

#[test]
fn failed_first_install_is_undeployed_after_three_tries() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    for _ in 0..2 {
        plant.report("a", "hello", "failed:exited");
        check(&plant, "hello@a FAILED(install) 1.0.0");
        plant.pass(30);
        check(&plant, "hello@a INSTALLING 1.0.0");
    }
    plant.report("a", "hello", "failed:exited");
    check(&plant, "hello@a DELETING 1.0.0");
    plant.converge();
    check(&plant, "");
    plant.pass(3_600);
    check(&plant, "");
}

#[test]
fn environment_errors_retry_without_end_and_quarantine_nothing() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.deploy(&App::new("hello", "2.0.0"));
    for _ in 0..20 {
        plant.report("a", "hello", "failed:registry-unavailable");
        check(&plant, "hello@a FAILED(update) 2.0.0");
        plant.pass(400);
        check(&plant, "hello@a UPDATING 2.0.0");
    }
    plant.converge();
    check(&plant, "hello@a INSTALLED 2.0.0");
}

#[test]
fn stop_leaves_the_failure_and_the_rest_alone() {
    let mut plant = plant("a b");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.deploy(&App::new("hello", "2.0.0").with("onFailure: stop"));
    plant.report("a", "hello", "failed:unhealthy");
    plant.pass(3_600);
    check(&plant, "hello@a FAILED(update) 2.0.0, hello@b INSTALLED 1.0.0");

    plant.deploy(&App::new("hello", "3.0.0").with("onFailure: stop"));
    check(&plant, "hello@a UPDATING 3.0.0, hello@b INSTALLED 1.0.0");
    plant.converge();
    check(&plant, "hello@a INSTALLED 3.0.0, hello@b INSTALLED 3.0.0");
}

#[test]
fn rollback_node_gives_up_on_one_node_only() {
    let mut plant = plant("a b");
    let app = |version| App::new("hello", version).with("onFailure: rollback-node");
    plant.deploy(&app("1.0.0"));
    plant.converge();
    plant.deploy(&app("2.0.0"));
    plant.report("a", "hello", "failed:unhealthy");
    plant.converge();
    plant.pass(3_600);
    check(&plant, "hello@a INSTALLED 1.0.0, hello@b INSTALLED 2.0.0");
}

#[test]
fn offline_nodes_are_deferred_and_catch_up() {
    let mut plant = plant("a b");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.silence("a");
    plant.pass(20);
    plant.deploy(&App::new("hello", "2.0.0"));
    plant.converge();
    check(&plant, "hello@a INSTALLED 1.0.0, hello@b INSTALLED 2.0.0");

    plant.wake("a");
    check(&plant, "hello@a UPDATING 2.0.0, hello@b INSTALLED 2.0.0");
}

#[test]
fn node_lost_in_an_update_is_unknown_then_failed_then_tried_again() {
    let mut plant = plant("a b");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.deploy(&App::new("hello", "2.0.0"));
    plant.silence("a");
    plant.pass(16);
    check(&plant, "hello@a UNKNOWN(update) 2.0.0, hello@b INSTALLED 1.0.0");

    plant.pass(600);
    check(&plant, "hello@a FAILED(update) 2.0.0, hello@b UPDATING 2.0.0");
    plant.converge();
    plant.wake("a");
    check(&plant, "hello@a UPDATING 2.0.0, hello@b INSTALLED 2.0.0");
}

#[test]
fn silent_node_gets_a_new_attempt_after_half_a_minute() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.silence("a");
    plant.pass(16);
    plant.wake("a");
    plant.pass(29);
    check(&plant, "hello@a UNKNOWN(install) 1.0.0");
    plant.pass(2);
    check(&plant, "hello@a INSTALLING 1.0.0");
}

#[test]
fn newer_revision_supersedes_the_one_under_way() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    let stale = plant.version("a");
    plant.deploy(&App::new("hello", "2.0.0"));
    plant.report_at("a", "hello", "installed", stale);
    check(&plant, "hello@a INSTALLING 2.0.0");
    plant.report("a", "hello", "installed");
    check(&plant, "hello@a INSTALLED 2.0.0");
}

#[test]
fn change_of_policy_restarts_nothing() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    let version = plant.version("a");
    plant.deploy(&App::new("hello", "1.0.0").with("onFailure: stop"));
    check(&plant, "hello@a INSTALLED 1.0.0");
    assert_eq!(plant.version("a"), version);
}

#[test]
fn removed_from_git_is_deleted_when_the_node_says_so() {
    let mut plant = plant("a b");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.silence("b");
    plant.pass(20);
    plant.undeploy("hello");
    check(&plant, "hello@a DELETING 1.0.0, hello@b DELETING 1.0.0");
    plant.converge();
    check(&plant, "hello@b DELETING 1.0.0");

    let force = Action::Force { deployment: deployment_id("hello"), node: None };
    plant.command(force).expect("forced");
    check(&plant, "");
}

#[test]
fn never_delivered_is_deleted_at_once() {
    let mut plant = plant("a b");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.undeploy("hello");
    check(&plant, "hello@a DELETING 1.0.0");
}

#[test]
fn readded_while_leaving_is_installed_again() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.undeploy("hello");
    plant.deploy(&App::new("hello", "1.0.0"));
    check(&plant, "hello@a INSTALLING 1.0.0");
    plant.converge();
    check(&plant, "hello@a INSTALLED 1.0.0");
}

#[test]
fn lost_health_after_the_soak_only_retries() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.deploy(&App::new("hello", "2.0.0"));
    plant.converge();
    plant.pass(61);
    for _ in 0..5 {
        plant.report("a", "hello", "failed:exited");
        check(&plant, "hello@a FAILED(update) 2.0.0");
        plant.pass(400);
        check(&plant, "hello@a UPDATING 2.0.0");
    }
}

#[test]
fn what_failed_on_its_way_back_queues_for_its_way_forward() {
    let mut plant = plant("a b c");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    let two = "strategy: {type: rolling, maxUnavailable: 2}\nonFailure: rollback-node";
    plant.deploy(&App::new("hello", "2.0.0").with(two));
    plant.report("a", "hello", "failed:registry-unavailable");
    plant.report("b", "hello", "failed:exited");
    plant.report("b", "hello", "failed:port-in-use");
    check(
        &plant,
        "hello@a FAILED(update) 2.0.0, hello@b FAILED(rollback) 1.0.0, hello@c INSTALLED 1.0.0",
    );
    plant.deploy(&App::new("hello", "3.0.0"));
    check(
        &plant,
        "hello@a UPDATING 3.0.0, hello@b FAILED(rollback) 1.0.0, hello@c INSTALLED 1.0.0",
    );
}

#[test]
fn lost_health_within_the_soak_rolls_back() {
    let mut plant = plant("a b");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.deploy(&App::new("hello", "2.0.0"));
    plant.report("a", "hello", "installed");
    plant.report("a", "hello", "failed:exited");
    check(&plant, "hello@a ROLLINGBACK 1.0.0, hello@b ROLLINGBACK 1.0.0");
}

#[test]
fn time_in_which_a_node_was_not_heard_does_not_prove_a_revision() {
    let mut plant = away_within_the_soak("a");
    plant.report("a", "hello", "failed:exited");
    check(&plant, "hello@a ROLLINGBACK 1.0.0");
}

#[test]
fn restart_of_the_site_is_no_word_of_a_node_that_is_away() {
    let mut plant = away_within_the_soak("a");
    plant.deploy(&App::new("later", "1.0.0"));
    plant.crash();
    plant.report("a", "hello", "failed:exited");
    check(&plant, "hello@a ROLLINGBACK 1.0.0, later@a INSTALLING 1.0.0");
}

#[test]
fn node_that_is_not_heard_proves_nothing_for_the_others() {
    let mut plant = away_within_the_soak("a b");
    plant.report("b", "hello", "failed:exited");
    check(&plant, "hello@a INSTALLED 2.0.0, hello@b ROLLINGBACK 1.0.0");
}

/// Node a installed 2.0.0 and has not connected since.
fn away_within_the_soak(nodes: &str) -> Plant {
    let mut plant = plant(nodes);
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.pass(120);
    plant.deploy(&App::new("hello", "2.0.0"));
    plant.report("a", "hello", "installed");
    plant.silence("a");
    plant.pass(300);
    plant
}

#[test]
fn revision_that_soaked_before_is_not_quarantined_when_it_comes_back() {
    let mut plant = plant("a b");
    let (first, second) = (App::new("hello", "1.0.0"), App::new("hello", "2.0.0"));
    plant.deploy(&first);
    plant.converge();
    plant.pass(120);
    plant.deploy(&second);
    plant.converge();
    plant.deploy(&first);
    plant.report("a", "hello", "installed");
    plant.crash();
    plant.report("a", "hello", "failed:exited");
    check(&plant, "hello@a FAILED(update) 1.0.0, hello@b UPDATING 1.0.0");
    plant.pass(30);
    plant.converge();
    check(&plant, "hello@a INSTALLED 1.0.0, hello@b INSTALLED 1.0.0");
}

#[test]
fn interference_within_the_soak_neither_rolls_back_nor_quarantines() {
    let mut plant = plant("a b");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.deploy(&App::new("hello", "2.0.0"));
    plant.report("a", "hello", "installed");
    plant.report("a", "hello", "failed:interference");
    check(&plant, "hello@a FAILED(update) 2.0.0, hello@b UPDATING 2.0.0");
    plant.pass(30);
    plant.converge();
    check(&plant, "hello@a INSTALLED 2.0.0, hello@b INSTALLED 2.0.0");
}

#[test]
fn deadline_fails_an_attempt_that_never_ends() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0").with("progressDeadline: 2m"));
    plant.pass(359);
    check(&plant, "hello@a INSTALLING 1.0.0");
    plant.pass(2);
    check(&plant, "hello@a FAILED(install) 1.0.0");
}

#[test]
fn a_crash_changes_nothing() {
    let mut plant = plant("a b c");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.report("a", "hello", "installed");
    let before = (plant.states(), plant.version("b"));
    plant.crash();
    assert_eq!((plant.states(), plant.version("b")), before);
    plant.converge();
    check(&plant, "hello@a INSTALLED 1.0.0, hello@b INSTALLED 1.0.0, hello@c INSTALLED 1.0.0");
}

fn plant(nodes: &str) -> Plant {
    let mut plant = Plant::new();
    for node in nodes.split_whitespace() {
        plant.join(node);
    }
    plant
}

#[track_caller]
fn check(plant: &Plant, expected: &str) {
    assert_eq!(plant.states(), expected);
}
