//! The reports that the manager receives.

use crate::node::tests::check;
use crate::node::tests::kit::script;
use crate::node::tests::kit::world::World;

#[test]
fn report_is_repeated_until_it_is_heard() {
    check("manager off; deploy a web@1; run 9; manager on; run 1", "a: installed");
    check("manager off; deploy a web@1; run 9; reboot; manager on; run 1", "a: installed");
}

#[test]
fn new_incarnation_hears_everything_again() {
    check("deploy a web@1; run 9; incarnation 1; run 9", "a: installed");
    check("deploy a web@1; run 9; deploy b web@1; run 0", "b: installing, find web@1, start web@1");
}

#[test]
fn manager_that_asks_again_is_answered() {
    check("deploy a web@1; run 9; ask a; run 1", "a: installed");
    check("deploy a web@1; run 9; ask x; run 1", "x: removed");
    check("ask a; run 1", "");
}

#[test]
fn only_what_is_seen_to_be_gone_is_answered_as_removed() {
    check(
        "actions off; deploy a web@1; run 1; ask a; actions on; run 9",
        "pull web@1, start web@1, a: installed",
    );
    let left = "deploy a web@1; run 9; removal off; stranger x; run 3; ask x";
    check(&format!("{left}; run 1"), "remove x");
    check(&format!("{left}; removal on; run 9; ask x; run 1"), "x: removed");
    check("deploy a web@1; run 9; engine off; reboot; ask x; run 1", "");
}

#[test]
fn numbers_rise_though_the_wall_clock_goes_back() {
    let numbers =
        after("deploy a web@1; run 9; wall 5; deploy a web@2; run 9; reboot; undeploy a; run 9")
            .numbers;
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    assert!(numbers.len() >= 6, "{numbers:?}");
}

#[test]
fn report_names_components_and_ends_with_the_log() {
    let world = after("db@1 is exiting; manager off; deploy a api@1 db@1 web@1; run 9");
    let report = &world.node.reports()[0];
    let states: Vec<String> =
        report.components.iter().map(|it| format!("{} {}", it.name, it.state)).collect();
    assert_eq!(states, ["api installed", "db failed", "web pending"]);
    let error = report.components[1].error.as_ref().expect("an error");
    assert_eq!(error.message, "service `main` exited with code 1");
    let log = report.colony.as_ref().and_then(|it| it.log.clone()).expect("a log");
    assert_eq!(log, ["last words of db@1"]);
}

#[test]
fn report_says_that_everything_runs_and_only_has_to_settle() {
    let settling = |script: &str| {
        let reports = after(&format!("manager off; {script}")).node.reports();
        let colony = reports.iter().filter_map(|it| it.colony.as_ref());
        colony.map(|it| it.settling).collect::<Vec<_>>()
    };
    assert_eq!(settling("actions off; deploy a web@1; run 2"), [None]);
    assert_eq!(settling("deploy a web@1; run 2"), [Some(5_000)]);
    assert_eq!(settling("deploy a web@1; run 2; reboot; run 1"), [Some(5_000)]);
    assert_eq!(settling("deploy a web@1; run 9"), [None]);
    assert_eq!(settling("deploy a db@1 web@1; run 2"), [None], "web was not started yet");
    assert_eq!(settling("deploy a db@1 web@1; run 8"), [Some(5_000)]);
    assert_eq!(settling("web@1 is checked; deploy a web@1; run 2"), [None]);
}

#[test]
fn settle_time_is_reported_once() {
    let numbers = |script: &str| after(script).numbers.len();
    assert_eq!(numbers("deploy a web@1; run 4"), numbers("deploy a web@1; run 2"));
    assert_eq!(numbers("deploy a web@1; run 9"), numbers("deploy a web@1; run 2") + 1);
}

#[test]
fn adopted_version_is_the_one_that_removed_it_and_else_the_newest() {
    let adopted = |script: &str| {
        let reports = after(script).node.reports();
        reports.iter().map(|it| it.adopted_manifest_version.get()).collect::<Vec<_>>()
    };
    assert_eq!(adopted("manager off; deploy a web@1; run 1; deploy b web@1; run 1"), [2, 2]);
    let removed = "manager off; deploy a web@1; run 1; undeploy a; run 1; deploy b web@1; run 1";
    assert_eq!(adopted(removed), [2, 3]);
    let asked = "removal off; undeploy a; run 4; deploy b web@1; run 9; manager off; ask a";
    assert_eq!(adopted(&format!("deploy a web@1; run 9; {asked}")), [3]);
}

/// The world after a script.
fn after(text: &str) -> World {
    let mut world = World::new();
    text.split(';').for_each(|it| script::run(&mut world, it.trim()));
    world
}
