//! When something is due, what wakes an orchestrator, and what it tells of the next try.

use std::time::Duration;

use colony_core::site::{Input, Site, Timing};
use colony_core::why;
use colony_testkit::{App, Plant};

#[test]
fn nothing_wakes_a_site_that_waits_for_nothing() {
    let mut plant = started("");
    assert!(plant.step(Input::Tick).wake.is_some(), "the attempt has a deadline");
    plant.report("a", "hello", "installed");
    plant.silence("a");
    plant.pass(16);
    assert_eq!(plant.step(Input::Tick).wake, None);
}

#[test]
fn the_clock_is_kept_while_something_is_awaited_and_not_otherwise() {
    let mut plant = started("");
    plant.report("a", "hello", "installed");
    assert_eq!(count_writes(&mut plant, 40, true), 4, "the node's silence would be noticed");
    count_writes(&mut plant, 16, false);
    assert_eq!(
        count_writes(&mut plant, 40, false),
        0,
        "the node is offline, and nothing else is due"
    );
}

#[test]
fn an_attempt_fails_after_its_deadline_even_if_nobody_looked_at_that_moment() {
    let mut plant = started("progressDeadline: 10m");
    plant.now.mono = plant.now.mono.after(Duration::from_millis(500));
    plant.pass(599);
    check(&plant, "a INSTALLING 1");
    plant.pass(1);
    check(&plant, "a FAILED(install) 1");
}

#[test]
fn what_is_staged_waits_as_long_as_it_takes() {
    let mut plant = started("");
    plant.converge();
    let settings = "strategy: {type: blue-green, soak: 0s, promote: manual}";
    plant.deploy(&App::new("hello", "2.0.0").with(settings));
    plant.pass(300);
    plant.report("a", "hello", "installed");
    plant.pass(3_600);
    check(&plant, "a UPDATING 2 staged");
}

#[test]
fn a_node_is_late_and_offline_when_the_site_says_so() {
    let mut plant = Plant::unseeded(0);
    let (suspect, lease) = (Duration::from_secs(20), Duration::from_secs(60));
    let timing = Timing { suspect, lease, ..Timing::default() };
    plant.site = Site::new("home".parse().expect("a name"), 0, timing);
    plant.must(Input::Seed(Box::default()));
    plant.commit(vec![]);
    plant.join("a");
    plant.silence("a");
    plant.pass(25);
    let why = why::node(&plant.site, &"a".parse().expect("a name"));
    insta::assert_snapshot!(why.expect("an answer").text(plant.now.wall), @"node a is late, last contact 25 s ago. Next, in 35 s: it counts as offline unless it sends a request before.");
}

#[test]
fn each_failure_of_the_revision_spends_a_try() {
    let mut plant = started("onFailure: stop");
    tried(&plant, 0, "nothing is due");
    plant.report("a", "hello", "failed:exited");
    tried(&plant, 1, "tried again");
    plant.pass(8);
    tried(&plant, 1, "nothing is due");
    plant.report("a", "hello", "failed:exited");
    tried(&plant, 2, "tried again");
    assert!(because(&plant).contains("try 3 of 3"), "{}", because(&plant));
    plant.pass(20);
    plant.report("a", "hello", "failed:exited");
    tried(&plant, 3, "nothing is due");
    assert!(because(&plant).contains("all 3 tries are used up"), "{}", because(&plant));
}

#[test]
fn failures_of_the_device_are_counted_without_a_limit() {
    let mut plant = started("");
    for next in 2..6 {
        plant.report("a", "hello", "failed:disk-full");
        let expected = format!("try {next}, and so on until it works");
        assert!(because(&plant).contains(&expected), "{}", because(&plant));
        tried(&plant, 0, "tried again");
        plant.pass(60);
    }
}

/// The first attempt is under way.
fn started(settings: &str) -> Plant {
    let mut plant = Plant::new();
    plant.join("a");
    plant.deploy(&App::new("hello", "1.0.0").with(settings));
    plant
}

/// How often the record of the site was written in so many seconds.
fn count_writes(plant: &mut Plant, seconds: u64, heard: bool) -> usize {
    let mut writes = 0;
    for _ in 0..seconds {
        plant.now.mono = plant.now.mono.after(Duration::from_secs(1));
        let node = "a".parse().expect("a name");
        let input = if heard { Input::Heard { node, have: None } } else { Input::Tick };
        writes += usize::from(plant.step(input).changed.meta);
    }
    writes
}

/// How many tries are spent, and whether the next one has a time.
#[track_caller]
fn tried(plant: &Plant, tries: u32, expected: &str) {
    let placement = plant.site.placement(&plant.placement("a", "hello")).expect("it is there");
    let next = match placement.retry_at() {
        Some(at) if at > plant.now.mono => "tried again",
        Some(_) => "overdue",
        None => "nothing is due",
    };
    assert_eq!((placement.revision_errors(), next), (tries, expected));
}

fn because(plant: &Plant) -> String {
    let why = why::placement(&plant.site, &plant.placement("a", "hello"), plant.now);
    why.expect("an answer").text(plant.now.wall)
}

#[track_caller]
fn check(plant: &Plant, expected: &str) {
    let states = plant.states().replace("hello@", "").replace(".0.0", "");
    assert_eq!(states, expected);
}
