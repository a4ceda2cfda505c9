//! Running the next revision beside the active one.

use crate::node::tests::check;
use crate::node::tests::kit::script;
use crate::node::tests::kit::world::World;

/// A revision is installed, and the next one staged.
const STAGED: &str = "deploy a web@1; run 9; deploy a web@2 phase=stage; run 9";

#[test]
fn staging_touches_nothing_of_what_runs() {
    check(STAGED, "a: installing, pull web@2, stage web@2, a: installed");
    runs(STAGED, "web@1 web@2+");
}

#[test]
fn taking_over_swaps_and_then_clears_what_was_staged() {
    check(
        &format!("{STAGED}; deploy a web@2; run 12"),
        "a: installing, find web@2, clear web, start web@2, a: installed, unstage web",
    );
    runs(&format!("{STAGED}; deploy a web@2; run 12"), "web@2");
}

#[test]
fn going_back_only_discards_what_was_staged() {
    check(&format!("{STAGED}; deploy a web@1 attempt=2; run 12"), "a: installed, unstage web");
    runs(&format!("{STAGED}; deploy a web@1 attempt=2; run 12"), "web@1");
}

#[test]
fn going_back_in_the_middle_of_staging_restarts_nothing() {
    let half = "deploy a web@1; run 9; web@2 is slow; deploy a web@2 phase=stage; run 9";
    check(&format!("{half}; deploy a web@1 attempt=2; run 12"), "a: installed, unstage web");
}

#[test]
fn failed_stage_is_reported_and_the_old_one_runs_on() {
    let failed = |what: &str| {
        format!("deploy a web@1; run 9; web@2 is {what}; deploy a web@2 phase=stage; run 30")
    };
    check(&failed("missing"), "a: installing, pull web@2, a: failed image-missing web");
    check(&failed("exiting"), "a: installing, pull web@2, stage web@2, a: failed exited web");
    check(
        &failed("unstartable"),
        "a: installing, pull web@2, stage web@2, a: failed port-in-use web",
    );
    check(
        &format!("{}; web@1 becomes exited; run 12", failed("exiting")),
        "find web@1, start web@1",
    );
}

#[test]
fn the_old_one_is_repaired_while_the_next_is_staged() {
    check(&format!("{STAGED}; web@1 becomes exited; run 12"), "find web@1, start web@1");
    let slow = "deploy a web@1; run 9; web@2 is slow; deploy a web@2 phase=stage; run 9";
    check(&format!("{slow}; web@1 becomes gone; run 12"), "find web@1, start web@1");
}

#[test]
fn the_old_one_that_is_unhealthy_is_told_and_made_anew() {
    let staged = "web@1 is checked; deploy a web@1; run 90; deploy a web@2 phase=stage; run 9";
    check(
        &format!("{staged}; web@1 becomes unhealthy; run 12"),
        "a: installed beside unhealthy web, clear web, find web@1, start web@1, a: installed",
    );
    runs(&format!("{staged}; web@1 becomes unhealthy; run 12"), "web@1 web@2+");
}

#[test]
fn the_old_one_that_keeps_ending_is_told_and_its_recovery_too() {
    let ending = format!("{STAGED}; web@1 is exiting; web@1 becomes exited");
    let starts = ", start web@1".repeat(5);
    check(
        &format!("{ending}; run 60"),
        &format!("find web@1{starts}, a: installed beside exited web"),
    );
    check(&format!("{ending}; run 60; web@1 is fine; run 80"), "start web@1, a: installed");
}

#[test]
fn what_was_said_of_the_old_one_is_over_with_the_stage() {
    let lost = "web@1 is checked; deploy a web@1; run 90; deploy a web@2 phase=stage; run 9; \
                web@1 is unhealthy; web@1 becomes unhealthy; run 3";
    check(
        &format!("{lost}; deploy a web@2; run 12"),
        "a: installing, find web@2, clear web, start web@2, a: installed, unstage web",
    );
    check(&format!("{lost}; reboot; run 0"), "");
}

#[test]
fn what_was_lost_before_is_told_beside_the_stage_and_the_next_stage() {
    let lost = "web@1 is checked; deploy a web@1; run 90; \
                web@1 is unhealthy; web@1 becomes unhealthy; run 3";
    check(
        &format!("{lost}; deploy a web@2 phase=stage; run 0"),
        "a: installing beside unhealthy web, pull web@2, stage web@2",
    );
    check(
        &format!("{lost}; deploy a web@2 phase=stage; run 1; deploy a web@3 phase=stage; run 0"),
        "a: installing beside unhealthy web, pull web@3, unstage web, stage web@3",
    );
    check(
        &format!("{lost}; deploy a web@2; run 0"),
        "a: installing, pull web@2, clear web, start web@2",
    );
    check(
        &format!("{lost}; deploy a web@2 phase=stage; run 1; undeploy a; run 3"),
        "a: removing, remove a, a: removed",
    );
}

#[test]
fn registry_that_fails_a_repair_does_not_fail_the_stage() {
    let slow = "deploy a web@1; run 9; web@2 is slow; deploy a web@2 phase=stage; run 9";
    check(
        &format!("{slow}; web@1 is missing; web@1 becomes gone; run 3"),
        "find web@1, find web@1",
    );
}

#[test]
fn what_both_documents_share_is_not_asked_for_without_a_pause() {
    check(
        "registry off; deploy a web@1; run 7; deploy a web@1 phase=stage; run 7",
        "a: installing, pull web@1, a: failed registry-unavailable web, pull web@1, pull web@1, pull web@1",
    );
}

#[test]
fn staged_one_that_loses_its_health_is_reported() {
    check(&format!("{STAGED}; web@2+ becomes unhealthy; run 3"), "a: failed unhealthy web");
    check(&format!("{STAGED}; web@2+ becomes exited; run 0"), "a: failed exited web");
}

#[test]
fn power_cut_while_staged_condemns_nothing() {
    check(
        &format!("{STAGED}; blackout; run 12"),
        "find web@1, start web@1, find web@2, stage web@2",
    );
    runs(&format!("{STAGED}; blackout; run 12"), "web@1 web@2+");
}

#[test]
fn restart_while_staged_adopts_both() {
    check(&format!("{STAGED}; reboot; run 12"), "");
    check(
        &format!("{STAGED}; reboot; deploy a web@2; run 12"),
        "a: installing, find web@2, clear web, start web@2, a: installed, unstage web",
    );
}

#[test]
fn newer_revision_replaces_what_is_staged() {
    check(
        &format!("{STAGED}; deploy a web@3 phase=stage; run 9"),
        "a: installing, pull web@3, unstage web, stage web@3, a: installed",
    );
    runs(&format!("{STAGED}; deploy a web@3 phase=stage; run 9"), "web@1 web@3+");
}

#[test]
fn removal_takes_both() {
    check(&format!("{STAGED}; undeploy a; run 9"), "a: removing, remove a, a: removed");
    runs(&format!("{STAGED}; undeploy a; run 9"), "");
}

#[test]
fn unstaging_is_tried_until_it_works() {
    let stubborn = format!("{STAGED}; removal off; deploy a web@1 attempt=2; run 2");
    runs(&stubborn, "web@1 web@2+");
    runs(&format!("{stubborn}; removal on; run 30"), "web@1");
}

#[test]
fn swap_that_fails_leaves_the_way_back_open() {
    let failed = format!("{STAGED}; web@2 is exiting; deploy a web@2; run 9");
    check(&failed, "a: installing, find web@2, clear web, start web@2, a: failed exited web");
    check(
        &format!("{failed}; deploy a web@1 attempt=2; run 12"),
        "a: installing, find web@1, clear web, start web@1, a: installed, unstage web",
    );
}

#[test]
fn where_nothing_runs_the_stage_stands_alone() {
    check(
        "deploy a web@1 phase=stage; run 9",
        "a: installing, pull web@1, stage web@1, a: installed",
    );
    runs("deploy a web@1 phase=stage; run 9; deploy a web@1; run 12", "web@1");
}

#[test]
fn what_is_staged_stays_until_it_is_told_otherwise() {
    runs(&format!("{STAGED}; run 4000"), "web@1 web@2+");
}

#[test]
fn unknown_phase_is_an_invalid_document() {
    check("deploy a web@1 phase=warp; run 3", "a: failed invalid-config");
}

/// The containers in the end; `+` marks a staged one.
#[track_caller]
fn runs(script: &str, expected: &str) {
    let mut world = World::new();
    script.split(';').for_each(|it| script::run(&mut world, it.trim()));
    let mut titles: Vec<&str> = world.engine.values().map(|it| it.title.as_str()).collect();
    titles.sort_unstable();
    assert_eq!(titles.join(" "), expected);
}
