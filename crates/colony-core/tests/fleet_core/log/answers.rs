//! Answers on their way from a site to the central orchestrator.

use std::collections::BTreeMap;

use colony_core::fleet::{AnswersTaken, Fleet};
use colony_core::time::Timestamp;
use colony_core::why::{AnswerKey, AnswerOutbox, AnswerUpdate, Outage, Surroundings, Why};
use colony_testkit::{App, Plant, site_answers};

use crate::kit::story::{STORIES, Step, app, plant_after, two_nodes};
use crate::kit::{Central, home};

const ALL: usize = usize::MAX;

#[test]
fn answers_are_sent_once_and_then_only_what_changed() {
    let (mut outbox, mut plant) = (AnswerOutbox::new(1), waiting());
    let mut fleet = Central::new().fleet;
    refresh(&mut outbox, &plant, 0);
    let first = outbox.next(ALL).expect("everything is new");
    assert!(first.complete && first.changed.len() > 1, "{first:?}");
    assert_eq!(send(&mut fleet, &mut outbox, &first), AnswersTaken::Stored);
    assert_eq!(outbox.next(ALL), None);

    let seen = plant.changes.len();
    plant.report("a", "hello", "installed");
    plant.converge();
    refresh(&mut outbox, &plant, seen);
    let second = outbox.next(ALL).expect("hello is installed");
    let expected: Vec<AnswerKey> =
        vec![AnswerKey::Deployment(colony_testkit::deployment_id("hello"))];
    assert_eq!(second.changed.keys().cloned().collect::<Vec<_>>(), expected);
    assert!(!second.complete && second.changed.values().all(Vec::is_empty), "{second:?}");
    assert_eq!(send(&mut fleet, &mut outbox, &second), AnswersTaken::Stored);
    check(&fleet, &plant);
}

#[test]
fn lost_acknowledgement_sends_the_same_update_again() {
    let (mut outbox, mut plant) = (AnswerOutbox::new(1), waiting());
    let mut fleet = Central::new().fleet;
    refresh(&mut outbox, &plant, 0);
    let update = outbox.next(ALL).expect("everything is new");
    assert_eq!(fleet.answers_apply(&home(), &update), Ok(AnswersTaken::Stored));

    let seen = plant.changes.len();
    plant.converge();
    refresh(&mut outbox, &plant, seen);
    let again = outbox.next(ALL).expect("it was not acknowledged");
    assert_eq!(again, update, "the content of a number never changes");
    let before = fleet.clone();
    assert_eq!(send(&mut fleet, &mut outbox, &again), AnswersTaken::Stored);
    assert_eq!(fleet, before);
    let rest = outbox.next(ALL).expect("what changed meanwhile");
    assert_eq!(send(&mut fleet, &mut outbox, &rest), AnswersTaken::Stored);
    check(&fleet, &plant);
}

#[test]
fn missing_update_makes_the_site_start_over() {
    let (mut outbox, mut plant) = (AnswerOutbox::new(1), waiting());
    let mut fleet = Central::new().fleet;
    refresh(&mut outbox, &plant, 0);
    let first = outbox.next(ALL).expect("everything is new");
    send(&mut fleet, &mut outbox, &first);
    let backup = fleet.clone();
    let seen = plant.changes.len();
    plant.converge();
    refresh(&mut outbox, &plant, seen);
    let second = outbox.next(ALL).expect("it is installed");
    send(&mut fleet, &mut outbox, &second);
    let seen = plant.changes.len();
    plant.deploy(&app("2.0.0"));
    refresh(&mut outbox, &plant, seen);
    let third = outbox.next(ALL).expect("it updates");

    let mut fleet = backup;
    let before = fleet.clone();
    assert_eq!(fleet.answers_apply(&home(), &third), Ok(AnswersTaken::Incomplete));
    assert_eq!(fleet, before, "nothing of it is taken");
    outbox.start_over();
    let whole = outbox.next(ALL).expect("everything again");
    assert!(whole.complete, "{whole:?}");
    assert_eq!(send(&mut fleet, &mut outbox, &whole), AnswersTaken::Stored);
    check(&fleet, &plant);
}

/// An orchestrator that was started again has a session of its own.
#[test]
fn new_session_voids_what_an_earlier_one_sent() {
    let (mut outbox, mut plant) = (AnswerOutbox::new(1), waiting());
    let mut fleet = Central::new().fleet;
    refresh(&mut outbox, &plant, 0);
    let first = outbox.next(ALL).expect("everything is new");
    send(&mut fleet, &mut outbox, &first);
    plant.converge();
    plant.crash();

    let mut outbox = AnswerOutbox::new(2);
    refresh(&mut outbox, &plant, 0);
    let whole = outbox.next(ALL).expect("everything again");
    assert!(whole.complete, "{whole:?}");
    send(&mut fleet, &mut outbox, &whole);
    check(&fleet, &plant);
    let late = AnswerUpdate { number: first.number + 1, complete: false, ..first.clone() };
    for late in [first, late] {
        assert_eq!(fleet.answers_apply(&home(), &late), Ok(AnswersTaken::Incomplete));
        check(&fleet, &plant);
    }
}

/// A session that central never heard of cannot be told from a new one; the one
/// that runs is asked to start over and is heard again.
#[test]
fn earlier_session_is_late_even_if_central_never_heard_of_it() {
    let (mut lost, plant) = (AnswerOutbox::new(10), waiting());
    let mut fleet = Central::new().fleet;
    refresh(&mut lost, &plant, 0);
    let late = lost.next(ALL).expect("everything is new");
    let mut outbox = AnswerOutbox::new(20);
    refresh(&mut outbox, &plant, 0);
    let first = outbox.next(ALL).expect("everything is new");
    send(&mut fleet, &mut outbox, &first);

    assert_eq!(fleet.answers_apply(&home(), &late), Ok(AnswersTaken::Incomplete));
    check(&fleet, &plant);
}

#[test]
fn update_that_arrives_after_a_later_one_changes_nothing() {
    let (mut outbox, mut plant) = (AnswerOutbox::new(1), waiting());
    let mut fleet = Central::new().fleet;
    refresh(&mut outbox, &plant, 0);
    let first = outbox.next(ALL).expect("everything is new");
    send(&mut fleet, &mut outbox, &first);
    let seen = plant.changes.len();
    plant.converge();
    refresh(&mut outbox, &plant, seen);
    let second = outbox.next(ALL).expect("it is installed");
    send(&mut fleet, &mut outbox, &second);
    assert!(outbox.is_settled());
    assert_eq!(fleet.answers_apply(&home(), &first), Ok(AnswersTaken::Stored));
    check(&fleet, &plant);
}

#[test]
fn site_without_answers_says_so_once() {
    let (mut outbox, plant) = (AnswerOutbox::new(1), plant_after(STORIES[0].1));
    let mut fleet = Central::new().fleet;
    refresh(&mut outbox, &plant, 0);
    let update = outbox.next(ALL).expect("that all is well is news");
    assert!(update.complete && update.changed.is_empty(), "{update:?}");
    send(&mut fleet, &mut outbox, &update);
    assert_eq!(outbox.next(ALL), None);
}

#[test]
fn large_updates_are_sent_in_parts() {
    let mut plant = Plant::new();
    plant.join("a");
    for number in 0..30 {
        plant.deploy(&App::new(&format!("app-{number}"), "1.0.0").on("b"));
    }
    let (mut outbox, mut fleet) = (AnswerOutbox::new(1), Central::new().fleet);
    refresh(&mut outbox, &plant, 0);
    let (mut parts, mut largest) = (Vec::new(), 0);
    while let Some(update) = outbox.next(2_000) {
        largest = largest.max(serde_json::to_vec(&update.changed).expect("JSON").len());
        parts.push((update.number, update.complete));
        assert_eq!(send(&mut fleet, &mut outbox, &update), AnswersTaken::Stored);
    }
    assert!(parts.len() > 3 && largest < 4_000, "{parts:?}, {largest} bytes");
    let expected = (1..).zip(std::iter::once(true).chain(std::iter::repeat(false)));
    assert!(parts.iter().copied().eq(expected.take(parts.len())), "{parts:?}");
    check(&fleet, &plant);
}

/// A part that is lost on the way does not leave a hole.
#[test]
fn start_over_between_two_parts_sends_everything() {
    let mut plant = Plant::new();
    plant.join("a");
    ["x", "y", "z"].iter().for_each(|it| plant.deploy(&App::new(it, "1.0.0").on("b")));
    let (mut outbox, mut fleet) = (AnswerOutbox::new(1), Central::new().fleet);
    refresh(&mut outbox, &plant, 0);
    let first = outbox.next(1).expect("the first part");
    send(&mut fleet, &mut outbox, &first);
    outbox.start_over();
    let seen = plant.changes.len();
    plant.undeploy("x");
    refresh(&mut outbox, &plant, seen);
    while let Some(update) = outbox.next(1) {
        send(&mut fleet, &mut outbox, &update);
    }
    check(&fleet, &plant);
}

#[test]
fn touched_answers_are_all_that_changed() {
    let folder: &[Step] = &[two_nodes, |it| it.undeploy("hello"), Plant::converge];
    let stories = STORIES.iter().map(|it| it.1).chain([folder]);
    for (number, steps) in stories.enumerate() {
        let (mut plant, mut outbox) = (Plant::new(), AnswerOutbox::new(0));
        let mut seen = 0;
        for (at, step) in steps.iter().enumerate() {
            step(&mut plant);
            refresh(&mut outbox, &plant, seen);
            seen = plant.changes.len();
            let full = site_answers(&plant.site, plant.now);
            assert_eq!(*outbox.current(), full, "story {number}, after step {at}");
        }
    }
}

#[test]
fn answers_touch_only_the_deployments_that_changed() {
    let mut plant = Plant::new();
    plant.join("a");
    ["x", "y"].iter().for_each(|it| plant.deploy(&App::new(it, "1.0.0")));
    let mut outbox = AnswerOutbox::new(1);
    refresh(&mut outbox, &plant, 0);
    let first = outbox.next(ALL).expect("everything is new");
    outbox.acknowledged(first.number);
    let seen = plant.changes.len();
    plant.report("a", "x", "installed");
    refresh(&mut outbox, &plant, seen);
    let update = outbox.next(ALL).expect("x is installed");
    let keys: Vec<String> = update.changed.keys().map(ToString::to_string).collect();
    assert_eq!(keys, [format!("deployment/{}", colony_testkit::deployment_id("x"))]);
}

#[test]
fn outside_of_the_site_changes_answers() {
    let (mut outbox, plant) = (AnswerOutbox::new(1), waiting());
    let mut fleet = Central::new().fleet;
    refresh(&mut outbox, &plant, 0);
    let first = outbox.next(ALL).expect("everything is new");
    send(&mut fleet, &mut outbox, &first);

    let outage = |problem: &str| Outage { since: plant.now.wall, problem: problem.to_owned() };
    let unready = BTreeMap::from([("a".parse().expect("a name"), vec!["no engine".to_owned()])]);
    let outside =
        Surroundings { unready, central: Some(outage("refused")), git: Some(outage("timed out")) };
    outbox.refresh(&plant.site, &outside, &Default::default(), plant.now);
    let update = outbox.next(ALL).expect("the outside is news");
    send(&mut fleet, &mut outbox, &update);
    let causes = fleet.why_site(&home(), None, plant.now.wall).expect("home exists");
    let causes: Vec<&str> = causes.iter().flat_map(Why::causes).map(|it| it.name()).collect();
    for name in ["central-unreachable", "git-unreachable", "node-not-ready"] {
        assert!(causes.contains(&name), "{causes:?}");
    }
    let shown = fleet.why_site(&home(), None, plant.now.wall.after(MINUTE)).expect("home exists");
    let texts = shown.iter().map(|it| it.text(plant.now.wall.after(MINUTE))).collect::<String>();
    assert!(texts.contains("Git has not answered for 60 s: timed out"), "{texts}");
    assert!(texts.contains("node a is not ready: no engine"), "{texts}");

    outbox.refresh(&plant.site, &Surroundings::default(), &Default::default(), plant.now);
    let update = outbox.next(ALL).expect("it is over");
    send(&mut fleet, &mut outbox, &update);
    check(&fleet, &plant);
}

#[test]
fn keys_read_back_and_others_are_refused() {
    let keys = ["site", "node/a", "file/hello", "deployment/2cf24dba-5fb0-430e-86e8-3b2ac5b9e29e"];
    for text in keys {
        let key: AnswerKey = text.parse().expect("a key");
        assert_eq!(key.to_string(), text);
    }
    for text in ["", "sites", "site/", "node/", "node/A", "deployment/x", "file/..", "other/a"] {
        let error = text.parse::<AnswerKey>().expect_err("no key").to_string();
        assert!(error.starts_with(&format!("`{text}` is not `site`, `node/<name>`")), "{error}");
    }
}

#[test]
fn join_forgets_the_answers_of_the_one_before() {
    let (mut outbox, plant) = (AnswerOutbox::new(1), waiting());
    let mut fleet = Central::new().fleet;
    refresh(&mut outbox, &plant, 0);
    let first = outbox.next(ALL).expect("everything is new");
    send(&mut fleet, &mut outbox, &first);
    fleet.join(&home(), Timestamp(0), true).expect("replaced");
    let view = fleet.site(&home()).expect("home exists");
    assert_eq!((view.answers.len(), view.head.answers), (0, None));
}

const MINUTE: std::time::Duration = std::time::Duration::from_secs(60);

/// `hello` is being installed on `a`; a file is refused.
fn waiting() -> Plant {
    let mut plant = Plant::new();
    plant.join("a");
    let broken = colony_core::site::File::read(
        &home(),
        "deployments/home/broken.yaml",
        &colony_testkit::blob("{"),
        b"{",
    );
    plant.commit(vec![broken]);
    plant.deploy(&app("1.0.0"));
    plant
}

fn refresh(outbox: &mut AnswerOutbox, plant: &Plant, seen: usize) {
    let changed = plant.changed_since(seen);
    outbox.refresh(&plant.site, &Surroundings::default(), &changed, plant.now);
    outbox.refresh_nonempty(&plant.site, plant.now);
}

/// Over the line and back.
fn send(fleet: &mut Fleet, outbox: &mut AnswerOutbox, update: &AnswerUpdate) -> AnswersTaken {
    let bytes = serde_json::to_vec(update).expect("answers are JSON");
    let read: AnswerUpdate = serde_json::from_slice(&bytes).expect("answers read back");
    assert_eq!(read, *update);
    let taken = fleet.answers_apply(&home(), &read).expect("home exists");
    outbox.acknowledged(update.number);
    taken
}

#[track_caller]
fn check(fleet: &Fleet, plant: &Plant) {
    let view = fleet.site(&home()).expect("home exists");
    assert_eq!(*view.answers, site_answers(&plant.site, plant.now));
}
