//! What a report contains for a component: its progress, what it lacks, its
//! last output.

use crate::attempt::Failure;
use crate::code::Code;
use crate::node::tests::check;
use crate::node::tests::kit::script;
use crate::node::tests::kit::world::World;
use crate::node::{Action, Container, Input, Status};

#[test]
fn what_never_ran_is_removed_all_the_same() {
    check(
        "registry off; deploy a web@1; run 3; undeploy a; run 9",
        "a: removing, remove a, a: removed",
    );
}

#[test]
fn first_component_is_under_way_from_the_start() {
    states("actions off; deploy a api@1 db@1 web@1; run 1", "installing pending pending");
    states("api@1 is slow; deploy a api@1 db@1 web@1; run 9", "installing pending pending");
    states("db@1 is slow; deploy a api@1 db@1 web@1; run 9", "installed installing pending");
}

#[test]
fn component_that_holds_nobody_up_is_under_way_beside_the_next() {
    let nowait = "api@1 is slow; db@1 is slow; deploy a api@1/nowait db@1 web@1; run 9";
    states(nowait, "installing installing pending");
}

#[test]
fn new_manager_is_told_with_the_step_that_takes_its_manifest() {
    let mut world = after("deploy a web@1; run 9; incarnation 1");
    world.poll();
    assert_eq!(world.node.reports().len(), 1);
}

#[test]
fn numbers_rise_though_all_state_was_lost() {
    let numbers = after("deploy a web@1; run 9; wipe; reboot; run 9").numbers;
    assert!(numbers.len() >= 4 && numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
}

#[test]
fn wall_clock_beyond_all_reason_uses_no_numbers_up() {
    let world = after(&format!("wall {}; deploy a web@1; run 0; deploy a web@2; run 9", u64::MAX));
    let numbers = world.numbers;
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    assert!(numbers.iter().all(|it| *it < 1 << 53), "JSON numbers are exact up to there");
}

#[test]
fn last_words_are_told_with_every_failure_of_a_container() {
    let said = ["last words of web@1"];
    for what in ["exiting", "unhealthy"] {
        let world = after(&format!("web@1 is {what}; manager off; deploy a web@1; run 9"));
        assert_eq!(log(&world), said, "{what}");
    }
    assert_eq!(log(&after("deploy a web@1; run 9; manager off; web@1 becomes unhealthy")), said);
}

#[test]
fn what_the_engine_said_is_told_of_a_removal_that_failed() {
    let mut world = after("deploy a web@1; run 9; actions off; manager off; undeploy a; run 1");
    let (_, (action, _)) = world.queue.pop_first().expect("a removal");
    let log_lines = vec!["device is busy".to_owned()];
    let failure = Failure { log: log_lines.clone(), ..Failure::new(Code::EngineError, "umount") };
    assert_eq!(
        action,
        Action::Remove { deployment: script::id_of("a"), purge: false, images: false }
    );
    world.feed(Input::Done { action, result: Err(failure) });
    assert_eq!(message(&world), "engine-error: umount");
    assert_eq!(log(&world), log_lines);
}

#[test]
fn component_that_is_too_late_says_what_it_lacks() {
    let running = |it: &mut Container| it.status = Status::Running;
    late("web@1 is slow", running, "service `main` is not healthy yet");
    late("web@1 is fine", |it| it.status = Status::Starting, "service `main` is not running yet");
    late(
        "web@1 is fine",
        |it| it.run = it.log.len().to_string(),
        "service `main` keeps restarting",
    );
}

#[test]
fn of_two_containers_of_a_service_the_better_one_counts() {
    let (exited, dead) = (Status::Exited { code: 1 }, Status::Dead);
    counts([exited, Status::Running], "");
    counts([Status::Running, exited], "");
    counts([Status::Starting, exited], "");
    counts([exited, dead], "words of 0");
    counts([dead, exited], "words of 1");
    counts([dead, dead], "words of 0");
}

/// Shows two containers of the service `web` to a node that has installed it,
/// and compares the log in the report.
#[track_caller]
fn counts(statuses: [Status; 2], expected: &str) {
    let mut world = after("deploy a web@1; run 9; manager off");
    let one = world.containers().pop().expect("a container");
    let two = statuses.into_iter().enumerate();
    let container = |(index, status)| {
        let log = vec![format!("words of {index}")];
        Container { status, log, ..one.clone() }
    };
    let containers = two.map(container).collect();
    world.feed(Input::Observed { taken: world.now.mono, containers });
    assert_eq!(log(&world).join(" "), expected, "{statuses:?}");
}

/// Lets a component with a timeout of five seconds run out of time while every
/// observation shows it as `seen`.
#[track_caller]
fn late(behaviour: &str, seen: impl Fn(&mut Container), expected: &str) {
    let mut world = after(&format!("{behaviour}; manager off; deploy a web@1/0m5s; run 0"));
    for looks in 0..20 {
        world.now.mono.0 += 1_000;
        let mut containers = world.containers();
        for container in &mut containers {
            container.log = vec![String::new(); looks];
            seen(container);
        }
        world.feed(Input::Observed { taken: world.now.mono, containers });
    }
    assert_eq!(message(&world), format!("not healthy within 5 s: {expected}"));
}

/// The state of each component.
#[track_caller]
fn states(script: &str, expected: &str) {
    let reports = after(&format!("manager off; {script}")).node.reports();
    let states: Vec<String> = reports[0].components.iter().map(|it| it.state.to_string()).collect();
    assert_eq!(states.join(" "), expected);
}

fn message(world: &World) -> String {
    let report = world.node.reports().pop().expect("a report");
    report.status.error.expect("an error").message
}

fn log(world: &World) -> Vec<String> {
    let report = world.node.reports().pop();
    report.and_then(|it| it.colony).and_then(|it| it.log).unwrap_or_default()
}

/// The world after a script.
fn after(text: &str) -> World {
    let mut world = World::new();
    text.split(';').for_each(|it| script::run(&mut world, it.trim()));
    world
}
