//! How far the open step is, in the words of who is asked to promote it.

use colony_core::event::HoldScope;
use colony_core::site::Action;
use colony_testkit::{App, Plant};

use super::{BLUE_GREEN, installed, plant, promote, updating};

const LABELS: &str = "strategy: {type: canary, canary: {line: test}, promote: manual}";

#[test]
fn of_a_share_so_many_count_as_it_lets_in() {
    let mut plant = plant("a b c");
    plant.deploy(&App::new("hello", "1.0.0").with("strategy: {type: canary, canary: 2}"));
    plant.report("a", "hello", "installed");
    check(&mut plant, 1, 2);
}

#[test]
fn of_labels_only_nodes_that_have_them_count() {
    let mut plant = labelled();
    plant.deploy(&App::new("hello", "1.0.0").with(LABELS));
    check(&mut plant, 0, 2);
    plant.report("c", "hello", "installed");
    check(&mut plant, 1, 2);
}

#[test]
fn what_failed_with_the_revision_before_is_to_get_this_one_too() {
    let mut plant = labelled();
    plant.deploy(&App::new("hello", "1.0.0").with(LABELS));
    plant.report("c", "hello", "failed:engine-error");
    let hold = Action::Hold { scope: HoldScope::Site, note: String::new() };
    plant.command(hold).expect("held");
    plant.deploy(&App::new("hello", "2.0.0").with(LABELS));
    check(&mut plant, 0, 2);
}

#[test]
fn what_is_tried_again_counts_once() {
    let mut plant = labelled();
    plant.deploy(&App::new("hello", "1.0.0").with(LABELS));
    plant.report("c", "hello", "failed:engine-error");
    let hold = Action::Hold { scope: HoldScope::Site, note: String::new() };
    plant.command(hold).expect("held");
    plant.pass(60);
    check(&mut plant, 0, 2);
}

#[test]
fn of_a_stage_only_nodes_that_run_something_count() {
    let mut plant = updating(BLUE_GREEN);
    plant.join("d");
    plant.report("a", "hello", "installed");
    check(&mut plant, 1, 3);
}

#[test]
fn who_may_not_stage_yet_counts() {
    let mut plant = installed(BLUE_GREEN);
    let hold = Action::Hold { scope: HoldScope::Site, note: String::new() };
    plant.command(hold).expect("held");
    plant.deploy(&App::new("hello", "2.0.0").with(BLUE_GREEN));
    check(&mut plant, 0, 3);
}

/// Of four nodes, c and d are on the test line.
fn labelled() -> Plant {
    let mut plant = plant("a b");
    ["c", "d"].iter().for_each(|it| plant.join_with(it, "amd64", r#""line":"test""#));
    plant
}

#[track_caller]
fn check(plant: &mut Plant, done: usize, of: usize) {
    let expected =
        format!("the current step of hello at home is not done: {done} of {of} nodes run it");
    assert_eq!(promote(plant), expected, "{}", plant.states());
}
