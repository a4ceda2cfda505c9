//! A new orchestrator takes a site over from what CO knows.

use std::slice;

use colony_core::event::Body;
use colony_core::fleet::{Fleet, LeftOut, Seeded};
use colony_core::id::BlobId;
use colony_core::site::{Action, Commit, File, Input};
use colony_core::state::{Op, State};
use colony_core::time::Timestamp;
use colony_testkit::{App, Plant, blob, commit_id};

use crate::kit::story::{STORIES, app, plant_after, story};
use crate::kit::{Central, home, text};
use crate::log::projection_steps::BLUE_GREEN;

#[test]
fn what_is_installed_is_taken_over_without_an_attempt() {
    let old = plant_after(STORIES[0].1);
    let (mut central, mut new) = replace(&old, &[app("1.0.0")]);

    new.wake("a");
    new.wake("b");
    new.pass(60);
    central.sync(&new);

    assert_eq!(new.states(), old.states());
    let moved = new.events.iter().filter(|it| matches!(it.body, Body::StateTransition(_)));
    assert_eq!(moved.count(), 0);
}

#[test]
fn what_was_under_way_is_unknown_until_the_node_speaks() {
    let mut old = plant_after(STORIES[0].1);
    old.deploy(&app("2.0.0"));
    let (mut central, mut new) = replace(&old, &[app("2.0.0")]);
    assert_eq!(new.states(), "hello@a UNKNOWN(update) 2.0.0, hello@b INSTALLED 1.0.0");
    central.sync(&new);

    new.wake("a");
    new.wake("b");
    new.report("a", "hello", "installed");
    new.converge();
    central.sync(&new);

    assert_eq!(new.states(), "hello@a INSTALLED 2.0.0, hello@b INSTALLED 2.0.0");
}

#[test]
fn numbers_given_before_a_restore_are_not_given_again() {
    let backup = Central::new().fleet;
    let given = |mut fleet: Fleet| {
        let order = fleet.command(&home(), Action::ReleaseRemoval, "ana", Timestamp(0));
        let number = order.expect("the site is there").number;
        (fleet.join(&home(), Timestamp(0), true).expect("it may join"), number)
    };
    let restored_at = |minute: u64| {
        let mut fleet = backup.clone();
        fleet.rewound(Timestamp(1_794_225_600_000 + minute * 60_000));
        fleet
    };

    let lost = given(backup.clone());
    let lost_again = given(restored_at(0));
    let fresh = given(restored_at(1));

    let rise = |a: (u32, Option<u64>), b: (u32, Option<u64>)| a.0 < b.0 && a.1 < b.1;
    assert!(rise(lost, lost_again) && rise(lost_again, fresh), "{lost:?} {lost_again:?} {fresh:?}");
}

#[test]
fn what_runs_on_beside_a_stage_is_told_anew_by_the_next_orchestrator() {
    let mut old = plant_after(STORIES[0].1);
    let next = app("2.0.0").with(BLUE_GREEN);
    old.deploy(&next);
    old.report("a", "hello", "installing+unhealthy");
    let (mut central, mut new) = replace(&old, &[next]);
    central.sync(&new);
    new.wake("a");
    new.report("a", "hello", "installing+unhealthy");
    central.sync(&new);
    let lost = central.view().placement(&new.placement("a", "hello")).map(|it| &it.running);
    assert!(lost.is_some_and(Option::is_some));
}

#[test]
fn what_ran_beside_is_still_beside_for_the_next_orchestrator() {
    let one = "strategy: {type: blue-green, soak: 1m, maxUnavailable: 1}";
    let (first, next) = (app("1.0.0").with(one), app("2.0.0").with(one));
    let mut old = plant_after(STORIES[0].1);
    old.deploy(&first);
    old.deploy(&next);
    check_phases(&old, "stage stage");
    check_phases(&replace(&old, slice::from_ref(&next)).1, "stage stage");

    old.report("a", "hello", "installed");
    old.report("b", "hello", "installed");
    old.pass(61);
    check_phases(&old, "active stage");
    let (mut central, mut new) = replace(&old, slice::from_ref(&next));
    check_phases(&new, "active stage");
    new.wake("a");
    new.wake("b");
    new.report("b", "hello", "installed");
    check_phases(&new, "active stage");
    new.report("a", "hello", "installed");
    check_phases(&new, "active active");
    new.converge();
    central.sync(&new);
    assert_eq!(new.states(), "hello@a INSTALLED 2.0.0, hello@b INSTALLED 2.0.0");
}

#[test]
fn what_soaked_long_ago_is_proven_again_after_a_soak() {
    let (mut central, mut new) = replace(&updated(), &[app("2.0.0")]);
    new.wake("a");
    new.wake("b");
    new.pass(3_600);
    new.report("a", "hello", "failed:unhealthy");
    central.sync(&new);
    assert_eq!(new.states(), "hello@a FAILED(update) 2.0.0, hello@b INSTALLED 2.0.0");
    new.pass(60);
    new.converge();
    assert_eq!(new.states(), "hello@a INSTALLED 2.0.0, hello@b INSTALLED 2.0.0");
}

#[test]
fn what_fails_soon_after_a_takeover_goes_back_to_what_the_nodes_ran_before() {
    let (mut central, mut new) = replace(&updated(), &[app("2.0.0")]);
    new.wake("a");
    new.wake("b");
    new.report("a", "hello", "failed:unhealthy");
    new.converge();
    central.sync(&new);
    assert_eq!(new.states(), "hello@a INSTALLED 1.0.0, hello@b INSTALLED 1.0.0");
}

/// The first node comes back with what was condemned while it was away.
#[test]
fn what_fails_after_a_takeover_goes_back_to_nothing_that_was_condemned() {
    let mut old = plant_after(STORIES[0].1);
    old.deploy(&app("2.0.0"));
    old.report("a", "hello", "installed");
    old.silence("a");
    old.pass(20);
    old.report("b", "hello", "failed:exited");
    old.converge();
    old.deploy(&app("3.0.0"));
    old.converge();
    old.pass(3_600);
    assert_eq!(old.states(), "hello@a INSTALLED 2.0.0, hello@b INSTALLED 3.0.0");

    let (mut central, mut new) = replace(&old, &[app("3.0.0")]);
    new.wake("a");
    new.wake("b");
    new.converge();
    assert_eq!(new.states(), "hello@a INSTALLED 3.0.0, hello@b INSTALLED 3.0.0");
    new.report("a", "hello", "failed:exited");
    new.converge();
    central.sync(&new);
    assert_eq!(new.states(), "hello@a INSTALLED 1.0.0, hello@b INSTALLED 1.0.0");
}

#[test]
fn way_back_from_a_stage_is_one_for_the_next_orchestrator_too() {
    let next = app("2.0.0").with(BLUE_GREEN);
    let mut old = plant_after(STORIES[0].1);
    old.deploy(&next);
    check_phases(&old, "stage stage");
    old.report("a", "hello", "failed:exited");
    check_phases(&old, "active active");
    check_phases(&replace(&old, slice::from_ref(&next)).1, "active active");
    let told = old.events.iter().filter_map(|it| {
        let Body::StateTransition(it) = &it.body else { return None };
        Some((it.to, it.staged))
    });
    let told: Vec<_> = told.filter(|it| it.0 != State::Failed(Op::Update)).collect();
    let back = (State::RollingBack, false);
    assert!(told.ends_with(&[back, back]) && told.contains(&(State::Updating, true)), "{told:?}");
}

#[test]
fn files_and_histories_are_told_anew_by_the_next_orchestrator() {
    let mut old = plant_after(STORIES[0].1);
    let path = "deployments/home/broken.yaml";
    old.commit(vec![File::read(&home(), path, &blob("{"), b"{")]);
    let rewrite = Commit { revision: commit_id(50), base: None, rewritten: true, files: vec![] };
    let _ = old.step(Input::Commit(rewrite));
    let mut central = Central::new();
    central.sync(&old);
    assert!(central.view().files.contains_key(path) && central.view().holds.history.is_some());
    let (mut central, new) = replace(&old, &[app("1.0.0")]);
    central.sync(&new);
    assert_eq!((central.view().files.len(), &central.view().holds.history), (0, &None));
}

#[test]
fn a_quarantine_survives_the_orchestrator() {
    let mut old = plant_after(STORIES[0].1);
    old.deploy(&app("2.0.0"));
    old.report("a", "hello", "failed:exited");
    old.converge();
    let (mut central, mut new) = replace(&old, &[app("2.0.0")]);
    new.wake("a");
    new.wake("b");
    new.pass(60);
    central.sync(&new);
    assert_eq!(new.states(), "hello@a INSTALLED 1.0.0, hello@b INSTALLED 1.0.0");
}

#[test]
fn holds_and_cordons_and_done_commands_survive_the_orchestrator() {
    let mut old = Plant::new();
    story("operator").iter().for_each(|step| step(&mut old));
    let (mut central, new) = replace(&old, &[app("2.0.0")]);
    central.sync(&new);
    assert_eq!(new.site.holds(), old.site.holds());
}

#[test]
fn what_the_next_orchestrator_takes_or_drops_is_held_no_more() {
    let old = plant_after(&story("large removal")[..4]);
    let apps = [("x", "2.0.0"), ("y", "2.0.0"), ("z", "1.0.0")];
    let (mut central, new) = replace(&old, &apps.map(|(name, version)| App::new(name, version)));
    central.sync(&new);
    assert_eq!(central.view().holds.removal, None);
}

#[test]
fn what_came_back_before_the_next_orchestrator_read_git_is_held_no_more() {
    let old = plant_after(&story("large removal")[..4]);
    let mut central = Central::new();
    central.sync(&old);
    assert!(central.view().holds.removal.is_some());
    let (mut central, new) = replace(&old, &["w", "x", "y", "z"].map(|it| App::new(it, "1.0.0")));
    central.sync(&new);
    assert_eq!(central.view().holds.removal, None);
}

#[test]
fn a_deployment_whose_text_is_lost_is_left_out_and_named() {
    let old = plant_after(STORIES[0].1);
    let mut central = Central::new();
    central.sync(&old);

    let Seeded { seed, left_out } = central.fleet.seed(&home(), |_| None).expect("home exists");

    assert_eq!((seed.deployments.len(), seed.placements.len(), seed.nodes.len()), (0, 0, 2));
    assert_eq!(left_out.len(), 1);
    assert_eq!(left_out[0].name.as_ref().map(|it| it.as_str()), Some("hello"));
    assert_eq!(left_out[0].missing.len(), 1);
}

#[test]
fn a_join_forgets_who_was_heard_and_what_was_ready() {
    let old = plant_after(STORIES[0].1);
    let mut central = Central::new();
    central.sync(&old);
    central.fleet.join(&home(), old.now.wall, true).expect("replaced");
    central.replaced();
    assert!(!central.view().head.ready);
    assert!(central.view().nodes.values().all(|it| !it.is_online()));
    assert!(central.view().incarnation() == Some(1));
    assert_eq!(central.restored(), central.fleet);
}

/// Version 2 runs on a and b, and has run for long.
fn updated() -> Plant {
    let mut plant = plant_after(STORIES[0].1);
    plant.pass(3_600);
    plant.deploy(&app("2.0.0"));
    plant.converge();
    plant.pass(3_600);
    plant
}

#[track_caller]
fn check_phases(plant: &Plant, expected: &str) {
    let phase = |node: &str| {
        let manifest = plant.site.manifest(&node.parse().expect("a name")).expect("a manifest");
        let text = String::from_utf8_lossy(&manifest.documents[0].2).into_owned();
        let line = text.lines().find_map(|it| it.trim().strip_prefix("phase: "));
        line.expect("a phase").to_owned()
    };
    assert_eq!(["a", "b"].map(phase).join(" "), expected);
}

/// Fences `old`, seeds its successor and lets it read Git.
fn replace(old: &Plant, apps: &[App]) -> (Central, Plant) {
    let mut central = Central::new();
    central.sync(old);
    let (new, left_out) = succeed(&mut central, old, apps, |it| text(old, it));
    assert_eq!(left_out, []);
    (central, new)
}

/// The same, with as many of the texts as there are.
pub(crate) fn succeed(
    central: &mut Central,
    old: &Plant,
    apps: &[App],
    text: impl Fn(&BlobId) -> Option<String>,
) -> (Plant, Vec<LeftOut>) {
    assert_eq!(central.fleet.join(&home(), old.now.wall, true), Ok(1));
    central.replaced();
    let seeded = central.fleet.seed(&home(), text).expect("home exists");
    let mut new = Plant::unseeded(1);
    new.now = old.now;
    new.must(Input::Seed(Box::new(seeded.seed)));
    new.commit(apps.iter().map(|it| it.file(&home())).collect());
    (new, seeded.left_out)
}
