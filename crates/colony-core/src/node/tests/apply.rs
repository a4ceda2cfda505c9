//! Installing, updating, removing.

use crate::node::tests::check;

#[test]
fn installing_pulls_starts_and_waits_for_the_settle_time() {
    check("deploy a web@1; run 3", "a: installing, pull web@1, start web@1");
    check("deploy a web@1; run 8", "a: installing, pull web@1, start web@1, a: installed");
}

#[test]
fn passing_health_check_needs_no_settle_time() {
    check(
        "web@1 is checked; deploy a web@1; run 0",
        "a: installing, pull web@1, start web@1, a: installed",
    );
}

#[test]
fn components_are_pulled_together_and_started_one_after_the_other() {
    check(
        "db@1 is checked; web@1 is checked; deploy a db@1 web@1; run 9",
        "a: installing, pull db@1, pull web@1, start db@1, start web@1, a: installed",
    );
    check(
        "db@1 is slow; deploy a db@1 web@1; run 9",
        "a: installing, pull db@1, pull web@1, start db@1",
    );
    check(
        "db@1 is slow; deploy a db@1 web@1; run 9; db@1 becomes healthy; run 9",
        "start web@1, a: installed",
    );
}

#[test]
fn component_that_is_not_waited_for_holds_up_only_the_end() {
    check(
        "db@1 is slow; deploy a db@1/nowait web@1; run 20",
        "a: installing, pull db@1, pull web@1, start db@1, start web@1",
    );
    check(
        "db@1 is slow; deploy a db@1/nowait web@1; run 20; db@1 becomes healthy; run 9",
        "a: installed",
    );
}

#[test]
fn component_that_is_too_slow_fails_after_its_timeout() {
    let pulled = "a: installing, pull web@1, start web@1";
    check("web@1 is slow; deploy a web@1/0m30s; run 29", pulled);
    check(
        "web@1 is slow; deploy a web@1/0m30s; run 32",
        &format!("{pulled}, a: failed component-timeout web"),
    );
    check("web@1 is slow; deploy a web@1; run 299", pulled);
    check(
        "web@1 is slow; deploy a web@1; run 302",
        &format!("{pulled}, a: failed component-timeout web"),
    );
}

#[test]
fn timeout_below_the_settle_time_fails_nothing_that_runs() {
    check("deploy a web@1/0m2s; run 9", "a: installing, pull web@1, start web@1, a: installed");
}

#[test]
fn failures_are_reported_once_and_not_tried_again() {
    check(
        "web@1 is unhealthy; deploy a web@1; run 60",
        "a: installing, pull web@1, start web@1, a: failed unhealthy web",
    );
    check(
        "web@1 is exiting; deploy a web@1; run 60",
        "a: installing, pull web@1, start web@1, a: failed exited web",
    );
    check(
        "web@1 is missing; deploy a web@1; run 60",
        "a: installing, pull web@1, a: failed image-missing web",
    );
    check(
        "web@1 is unstartable; deploy a web@1; run 60",
        "a: installing, pull web@1, start web@1, a: failed port-in-use web",
    );
    check(
        "registry off; deploy a web@1; run 60",
        "a: installing, pull web@1, a: failed registry-unavailable web",
    );
}

#[test]
fn another_attempt_tries_a_failed_document_again() {
    check(
        "web@1 is exiting; deploy a web@1; run 9; web@1 is fine; deploy a web@1 attempt=2; run 9",
        "a: installing, find web@1, start web@1, a: installed",
    );
}

#[test]
fn failed_document_that_recovers_is_installed() {
    check(
        "web@1 is slow; deploy a web@1/0m5s; run 20; web@1 becomes healthy; run 9",
        "a: installed",
    );
}

#[test]
fn update_pulls_while_the_old_one_runs() {
    check(
        "deploy a web@1; run 9; deploy a web@2; run 9",
        "a: installing, pull web@2, clear web, start web@2, a: installed",
    );
}

#[test]
fn update_that_cannot_be_pulled_leaves_the_old_one_running() {
    let script = "deploy a web@1; run 9; web@2 is missing; deploy a web@2; run 9";
    check(script, "a: installing, pull web@2, a: failed image-missing web");
    check(&format!("{script}; web@1 becomes exited; run 9"), "find web@1, start web@1");
}

#[test]
fn unchanged_component_is_left_alone() {
    check(
        "deploy a db@1 web@1; run 19; deploy a db@1 web@2; run 9",
        "a: installing, pull web@2, clear web, start web@2, a: installed",
    );
    check(
        "deploy a db@1 web@1; run 19; deploy a db@1 web@1 setting=x; run 9",
        "a: installing, pull db@1, clear db, start db@1, a: installed",
    );
}

#[test]
fn component_that_is_no_longer_listed_is_cleared() {
    check(
        "deploy a db@1 web@1; run 19; deploy a web@1; run 9",
        "a: installing, clear db, a: installed",
    );
}

#[test]
fn attempt_policy_and_waiting_times_restart_nothing() {
    check("deploy a web@1; run 9; deploy a web@1 attempt=2; run 9", "a: installed");
    check("deploy a web@1; run 9; deploy a web@1/0m10s; run 9", "a: installed");
    check("deploy a web@1; run 9; deploy a web@1 hall=north; run 9", "a: installed");
    check("deploy a web@1; run 9; reboot; deploy a web@1 attempt=2; run 9", "a: installed");
}

#[test]
fn rollback_needs_no_network() {
    check(
        "deploy a web@1; run 9; deploy a web@2; run 9; registry off; deploy a web@1 attempt=2; run 9",
        "a: installing, find web@1, clear web, start web@1, a: installed",
    );
}

#[test]
fn previous_document_is_let_go_once_the_next_is_proven() {
    check(
        "deploy a web@1; run 9; deploy a web@2; run 3700; registry off; deploy a web@1 attempt=2; run 9",
        "a: installing, pull web@1, a: failed registry-unavailable web",
    );
}

#[test]
fn newer_document_takes_over_in_the_middle() {
    check(
        "web@1 is slow; deploy a web@1; run 9; deploy a web@2; run 9",
        "pull web@2, clear web, start web@2, a: installed",
    );
    check(
        "actions off; deploy a web@1; run 9; deploy a web@2; run 1; actions on; run 9",
        "pull web@2, start web@2, a: installed",
    );
}

#[test]
fn start_under_way_ends_before_a_newer_document_takes_over() {
    check(
        "deploy a web@1; run 9; web@1 becomes gone; actions off; run 3; deploy a web@2; run 1; actions on; run 9",
        "start web@1, pull web@2, clear web, start web@2, a: installed",
    );
}

#[test]
fn new_attempt_replaces_an_unhealthy_component() {
    let script = "web@1 is unhealthy; deploy a web@1; run 9; deploy a web@1 attempt=2";
    check(
        &format!("{script}; run 40"),
        "a: installing, find web@1, clear web, start web@1, a: failed unhealthy web",
    );
}

#[test]
fn new_attempt_leaves_a_component_that_recovered_since_the_last_look() {
    let unhealthy = "web@1 is checked; deploy a web@1; run 9; web@1 becomes unhealthy; run 3";
    let attempt = "deploy a web@1 attempt=2; run 3";
    let recovered = format!("{unhealthy}; engine off; run 600; web@1 becomes healthy; {attempt}");
    check(&recovered, "a: installing");
    check(&format!("{recovered}; engine on; run 9"), "a: installed");
    check(
        &format!("{unhealthy}; engine off; run 600; {attempt}; engine on; run 9"),
        "clear web, find web@1, start web@1, a: installed",
    );
}

#[test]
fn removal_ends_when_nothing_is_left() {
    check("deploy a web@1; run 9; undeploy a; run 2", "a: removing, remove a, a: removed");
    check("deploy a web@1; run 9; undeploy a; run 2; run 99", "");
}

#[test]
fn failed_removal_is_reported_and_tried_again() {
    let script = "deploy a web@1; run 9; removal off; undeploy a; run 4";
    check(script, "a: removing, remove a, a: failed removal-failed pumps, remove a, remove a");
    check(&format!("{script}; removal on; run 9"), "remove a, a: removed");
}

#[test]
fn deployment_that_comes_back_is_applied_again() {
    check(
        "deploy a web@1; run 9; removal off; undeploy a; run 1; deploy a web@1; run 9",
        "a: installing, pull web@1, a: installed",
    );
    check(
        "deploy a web@1; run 9; manager off; undeploy a; run 3; manager on; deploy a web@1; run 9",
        "a: installing, pull web@1, start web@1, a: installed",
    );
}

#[test]
fn restart_of_the_process_touches_nothing() {
    check("deploy a web@1; run 9; reboot; run 60", "");
    check("deploy a web@1; run 9; wipe; reboot; run 9", "a: installing, find web@1, a: installed");
}

#[test]
fn retry_of_a_failed_attempt_takes_what_was_pushed_again_under_the_tag() {
    let failed = "web@1 is exiting; deploy a web@1; run 9; web@1 is corrected";
    check(
        &format!("{failed}; deploy a web@1 attempt=2; run 9"),
        "a: installing, pull web@1, clear web, start web@1, a: installed",
    );
    let slow = "web@1 is slow; deploy a web@1/0m30s; run 90; web@1 is corrected";
    check(
        &format!("{slow}; deploy a web@1/0m30s attempt=2; run 9"),
        "a: installing, pull web@1, clear web, start web@1, a: installed",
    );
}

#[test]
fn what_is_installed_is_not_fetched_again() {
    check(
        "deploy a web@1; run 90; web@1 is corrected; deploy a web@1 attempt=2; run 9",
        "a: installed",
    );
}
