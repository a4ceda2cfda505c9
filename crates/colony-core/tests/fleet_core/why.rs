//! Whatever is not at its end has a reason that names its facts.

use colony_core::event::HoldScope;
use colony_core::fleet::{Fleet, Standing};
use colony_core::id::BlobId;
use colony_core::site::{Action, File};
use colony_core::state::State;
use colony_core::time::Wall;
use colony_testkit::{App, Plant, blob, commit_id};

use crate::kit::{Central, home, name};
use crate::story::{ROLLBACK, STOP, STORIES, Step, app, told};

#[test]
fn nothing_is_unfinished_without_a_reason() {
    for (story, steps) in STORIES {
        let (mut plant, mut central) = (Plant::new(), Central::new());
        for step in *steps {
            step(&mut plant);
            central.sync(&plant);
            for name in central.fleet.deployment_names() {
                let standing = central.fleet.standing(&home(), name).expect("home exists");
                let done = [Standing::Gone, Standing::Placed(State::Installed)];
                let why = central.fleet.why(&home(), name, plant.now.wall).expect("home exists");
                assert!(done.contains(&standing) || !why.is_empty(), "{story}: {standing}");
            }
        }
    }
}

#[test]
fn what_is_installed_needs_no_reason() {
    check(STORIES[0].1, &[]);
}

#[test]
fn a_rollback_waits_for_its_revert_and_stays_refused() {
    let (bad, good) = (short("2.0.0"), short("1.0.0"));
    let refused = format!(
        "the site refuses {bad}: exited on node a; it runs {good} instead, for 0 s; operator: \
         commit another revision, or release this one"
    );
    let awaits = format!(
        "the site went back from {bad}; {good} has to be put back into deployments/home/hello.yaml, \
         for 0 s; central orchestrator: it is written with the next commit if Git still holds the \
         bad file"
    );
    check(&ROLLBACK[..4], &[&awaits, &refused]);
    check(&ROLLBACK[..5], &[&refused]);
}

#[test]
fn a_stopped_rollout_names_the_node_that_stopped_it() {
    check(
        &STOP[..3],
        &[
            "the rollout stopped when node a failed with exited, for 0 s; operator: commit another \
             revision, or retry on node a",
            "node a is FAILED(update) after attempt 2: a container ended; its only try is used up, \
             for 0 s; local orchestrator: look at the container's logs",
            "node b still runs the revision before, for 0 s; local orchestrator: its turn comes when \
             the nodes before it are done",
        ],
    );
    check(STOP, &[]);
}

#[test]
fn what_is_tried_again_says_how_often_and_when() {
    let failing = |times: usize, code: &str| {
        let mut plant = told(&[STORIES[0].1[0], |it| it.deploy(&app("1.0.0"))]);
        for _ in 1..times {
            plant.report("a", "hello", &format!("failed:{code}"));
            plant.pass(60);
        }
        plant.report("a", "hello", &format!("failed:{code}"));
        plant.pass(1);
        reasons(&central(&plant).fleet, &plant)
    };
    assert_eq!(
        failing(1, "registry-unavailable"),
        [
            "node a is FAILED(install) after attempt 1: the registry answered with a server error or \
          not at all; tried once, for 1 s; local orchestrator, in 3 s: try 2, and so on until it \
          works; to do: check the registry"
        ],
    );
    assert_eq!(
        failing(3, "registry-unavailable"),
        [
            "node a is FAILED(install) after attempt 3: the registry answered with a server error or \
          not at all; tried 3 times, for 1 s; local orchestrator, in 16 s: try 4, and so on until \
          it works; to do: check the registry"
        ],
    );
    assert_eq!(
        failing(2, "image-missing"),
        [
            "node a is FAILED(install) after attempt 2: the image or archive does not exist; tried 2 \
          times, for 1 s; local orchestrator, in 7 s: try 3 of 3; to do: push it, or deploy another \
          version"
        ],
    );
}

#[test]
fn nodes_that_are_away_are_named() {
    let away: &[Step] =
        &[STORIES[0].1[0], |it| it.deploy(&app("1.0.0")), |it| it.silence("a"), |it| it.pass(20)];
    check(
        away,
        &[
            "node a is away; it is left UNKNOWN(install) there, for 5 s; node a: it goes on when node \
           a is heard again",
        ],
    );
}

#[test]
fn a_deployment_that_fits_nowhere_says_so() {
    let blob = short_of(&app("1.0.0").on("b"));
    check(
        &[STORIES[0].1[0], |it| it.deploy(&app("1.0.0").on("b"))],
        &[&format!(
            "the site took {blob} and placed it on none of its 1 nodes, for 0 s; operator: ask the \
             site why each node does not fit, or let one join"
        )],
    );
}

#[test]
fn a_hold_is_a_reason_of_what_it_stops() {
    let held: &[Step] = &[
        STORIES[0].1[0],
        |it| {
            let (scope, note) = (HoldScope::Site, "audit".to_owned());
            it.command(Action::Hold { scope, note }).expect("held");
        },
        |it| it.deploy(&app("1.0.0")),
    ];
    check(
        held,
        &[
            "it is placed on node a and has not begun there, for 0 s; local orchestrator: ask the \
             site what its start on node a waits for",
            "ana holds site home: audit, for 0 s; site engineer: ana or an operator releases the hold",
        ],
    );
}

#[test]
fn a_file_the_site_cannot_use_is_named_with_its_place() {
    let broken: &[Step] = &[|it| {
        let path = "deployments/home/hello.yaml";
        let text = b"id: [";
        it.commit(vec![File::read(&home(), path, &blob("x"), text)]);
    }];
    let why = reasons(&central(&told(broken)).fleet, &told(broken));
    assert_eq!(why.len(), 1, "{why:?}");
    assert!(why[0].starts_with("the site refuses deployments/home/hello.yaml:1:"), "{why:?}");
}

#[test]
fn a_file_that_lacks_something_is_told_what() {
    let broken: &[Step] = &[|it| {
        let (path, text) = ("deployments/home/hello.yaml", b"{}\n");
        it.commit(vec![File::read(&home(), path, &blob("x"), text)]);
    }];
    let why = reasons(&central(&told(broken)).fleet, &told(broken));
    assert!(why[0].contains("hello.yaml:1:1: id: is missing (and "), "{why:?}");
}

#[test]
fn what_central_wants_is_told_by_path_and_content() {
    let plant = Plant::new();
    let mut central = central(&plant);
    let (fleet, now) = (&mut central.fleet, plant.now.wall);
    let (hello, file) = (name("hello"), Some(blob("1")));
    fleet.target_planned(&home(), &hello, now).expect("home exists");
    let planned = "deployments/home/hello.yaml is planned and not committed yet, for 0 s; central \
                   orchestrator: it is committed and pushed with the next batch";
    assert_eq!(reasons(fleet, &plant), [planned]);

    fleet.target_committed(&home(), &hello, commit_id(7), file.clone(), now).expect("home exists");
    let committed = "deployments/home/hello.yaml is committed as 6b86b27 in 0000000; site home is at \
                     0000000 and has not taken it, for 0 s; local orchestrator: site home takes it \
                     at its next fetch";
    assert_eq!(reasons(fleet, &plant), [committed]);

    fleet.target_conflict(&home(), &hello, (file, None), "", now).expect("home exists");
    let conflict = "deployments/home/hello.yaml holds no file in Git, not 6b86b27, for 0 s; \
                    operator: compare deployments/home/hello.yaml and plan again on top of what Git \
                    holds";
    assert_eq!(reasons(fleet, &plant), [conflict]);
}

#[test]
fn the_site_itself_comes_first() {
    let hello = name("hello");
    let mut fleet = Fleet::new();
    fleet.site_add(&home());
    fleet.target_planned(&home(), &hello, Wall(0)).expect("home exists");
    assert_eq!(first(&fleet, 1), "no orchestrator has ever joined site home");
    fleet.join(&home(), Wall(0), false).expect("free");
    assert_eq!(first(&fleet, 1), "the orchestrator of site home has joined but not read Git yet");
    fleet.join(&home(), Wall(0), true).expect("replaced");
    let taking =
        "incarnation 1 has replaced the orchestrator of site home and has not taken over yet";
    assert_eq!(first(&fleet, 1), taking);
    let silent = "the orchestrator of site home (incarnation 1) is not heard";
    assert_eq!(first(&fleet, 7_200), silent);
}

fn first(fleet: &Fleet, seconds: u64) -> String {
    let now = Wall(seconds * 1_000);
    let why = fleet.why(&home(), &name("hello"), now).expect("home exists");
    why[0].cause.to_string()
}

/// Tells a story and compares the reasons `hello` has at its end.
#[track_caller]
fn check(steps: &[Step], expected: &[&str]) {
    let plant = told(steps);
    assert_eq!(reasons(&central(&plant).fleet, &plant), expected);
}

fn central(plant: &Plant) -> Central {
    let mut central = Central::new();
    central.sync(plant);
    central
}

fn reasons(fleet: &Fleet, plant: &Plant) -> Vec<String> {
    let why = fleet.why(&home(), &name("hello"), plant.now.wall).expect("home exists");
    why.iter().map(ToString::to_string).collect()
}

fn short(version: &str) -> String {
    short_of(&app(version))
}

fn short_of(app: &App) -> String {
    let blob: BlobId = blob(&app.text(&home()));
    blob.as_str()[..7].to_owned()
}
