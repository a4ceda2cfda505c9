//! The model finds what is wrong with a shell, and says it so that one can follow.

use colony_model::{Bounds, Finding, Flaw, Plan, blue_green, centre, explore, replacement, table};

#[test]
fn the_transition_function_is_the_published_table() {
    let asked = table();
    let broken: Vec<&Finding> = asked.properties.iter().filter(|it| !it.holds).collect();
    assert!(broken.is_empty(), "{broken:?}");
    assert_eq!(asked.questions, 15 * 19 * 16_384);
}

#[test]
fn a_centre_that_acknowledges_before_it_stores_is_found() {
    let told = include_str!("traces/acks-first.txt");
    check(centre().with(Flaw::AcksFirst), 1, "no acknowledged event is lost", told);
}

#[test]
fn an_orchestrator_that_is_told_nothing_is_found() {
    let plan = replacement().with(Flaw::EmptySeed);
    let told = include_str!("traces/empty-seed.txt");
    check(plan, 0, "central, having received every event, has the state of the site", told);
}

#[test]
fn a_node_that_takes_over_what_it_is_to_stage_is_found() {
    let told = include_str!("traces/takes-staged.txt");
    let rule = "a staged revision is taken over once all reachable nodes have it, or nowhere";
    check(blue_green().with(Flaw::TakesStaged), 0, rule, told);
}

/// Explores a narrow world with a mistake in it and compares the report of it.
#[track_caller]
fn check(plan: Plan, deaths: u8, rule: &str, told: &str) {
    let narrow = |it: &mut Bounds| (it.passes, it.deaths, it.sample) = (0, deaths, 100);
    let found = explore(plan.bounded(narrow), 1);
    let broken = found.properties.iter().find(|it| it.name == rule).expect("a rule of that name");
    let trace = broken.trace.as_deref().unwrap_or("no counter-example was found");
    assert_eq!(trace, told);
}
