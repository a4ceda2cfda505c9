//! The model finds what is wrong with a shell, and says it so that one can follow.

use colony_model::{Bounds, Finding, Flaw, Plan, centre, explore, replacement, table};

#[test]
fn the_transition_function_is_the_published_table() {
    let asked = table();
    let broken: Vec<&Finding> = asked.properties.iter().filter(|it| !it.holds).collect();
    assert!(broken.is_empty(), "{broken:?}");
    assert_eq!(asked.questions, 15 * 18 * 4_096);
}

#[test]
fn a_centre_that_acknowledges_before_it_stores_is_found() {
    check("acknowledges_first", centre().with(Flaw::AcksFirst), "no acknowledged event is lost");
}

#[test]
fn an_orchestrator_that_is_told_nothing_is_found() {
    let plan = replacement().with(Flaw::EmptySeed);
    check("empty_seed", plan, "an empty or unseeded orchestrator removes nothing");
}

/// Explores a narrow world with a mistake in it and compares how it is told.
#[track_caller]
fn check(name: &str, plan: Plan, rule: &str) {
    let narrow = |it: &mut Bounds| (it.passes, it.deaths, it.doubles) = (0, 1, 0);
    let found = explore(plan.bounded(narrow), 1);
    let broken = found.properties.iter().find(|it| it.name == rule).expect("a rule of that name");
    let trace = broken.trace.as_deref().unwrap_or("no counter-example was found");
    insta::assert_snapshot!(name, trace);
}
