//! Where deployments stand, what CO itself wants, and what it may ask for.

use colony_core::event::HoldScope;
use colony_core::fleet::{Outcome, PlacementBucket, StatusCounts};
use colony_core::id::BlobId;
use colony_core::site::{Action, File, Input};
use colony_core::time::Timestamp;
use colony_testkit::{Plant, blob, commit_id};

use crate::kit::story::{STORIES, app, plant_after, release};
use crate::kit::{Central, home, name};

#[test]
fn a_commit_is_pending_until_the_site_has_taken_it() {
    let (mut central, mut plant) = start();
    let hello = name("hello");
    check(&central, "GONE");
    central.fleet.change_planned(&home(), &hello, Timestamp(1)).expect("home exists");
    check(&central, "PENDING");
    commit(&mut central, Some(file("1.0.0")));
    check(&central, "PENDING");

    plant.deploy(&app("1.0.0"));
    central.sync(&plant);
    check(&central, "WAITING");

    plant.join("a");
    central.sync(&plant);
    check(&central, "INSTALLING");
    plant.converge();
    central.sync(&plant);
    check(&central, "INSTALLED");
}

#[test]
fn a_site_may_be_quicker_than_the_record_of_the_commit() {
    let (mut central, mut plant) = start();
    plant.join("a");
    plant.deploy(&app("1.0.0"));
    central.sync(&plant);
    commit(&mut central, Some(file("1.0.0")));
    check(&central, "INSTALLING");
}

#[test]
fn rollout_with_an_open_step_is_in_progress() {
    let (mut central, mut plant) = start();
    plant.join("a");
    plant.join("b");
    plant.silence("b");
    plant.pass(20);
    let outcome = |central: &mut Central, plant: &Plant| {
        central.sync(plant);
        central.view().outcome(&home(), &name("hello"), plant.now.wall)
    };
    let canary = "strategy: {type: canary, soak: 5m, promote: manual}";
    plant.deploy(&app("1.0.0").with(canary));
    plant.report("a", "hello", "installed");
    assert_eq!(outcome(&mut central, &plant), Outcome::InProgress, "it soaks");
    plant.pass(400);
    assert_eq!(outcome(&mut central, &plant), Outcome::InProgress, "it waits for a promotion");
    let promote = Action::Promote { deployment: colony_testkit::deployment_id("hello") };
    plant.command(promote).expect("promoted");
    assert_eq!(outcome(&mut central, &plant), Outcome::Deferred, "only b is missing");
}

#[test]
fn a_conflict_is_shown() {
    let (mut central, _) = start();
    let blobs = (Some(file("1.0.0")), None);
    central
        .fleet
        .change_conflict(&home(), &name("hello"), blobs, "-a\n+b", Timestamp(1))
        .expect("home");
    check(&central, "CONFLICT");
    central.fleet.change_dropped(&home(), &name("hello")).expect("home exists");
    check(&central, "GONE");
    assert_eq!(central.fleet.deployment_names().count(), 0);
}

#[test]
fn a_removal_is_pending_then_deleting_then_gone() {
    let (mut central, mut plant) = (Central::new(), plant_after(STORIES[0].1));
    central.sync(&plant);
    commit(&mut central, None);
    check(&central, "PENDING");
    plant.undeploy("hello");
    central.sync(&plant);
    check(&central, "DELETING");
    plant.converge();
    central.sync(&plant);
    check(&central, "GONE");
    assert_eq!(central.fleet.deployment_names().count(), 0);
    let archives: Vec<_> = central.view().archives.values().collect();
    let [archive] = archives[..] else { panic!("one archive: {archives:?}") };
    assert_eq!((archive.deleted, archive.began()), (2, Timestamp(2)), "committed at 2");
}

#[test]
fn state_is_as_old_as_the_placement_that_makes_it() {
    let (mut central, mut plant) = start();
    plant.join("a");
    plant.join("b");
    plant.deploy(&app("1.0.0"));
    let began = plant.now.wall;
    plant.pass(30);
    central.sync(&plant);
    let since = |central: &Central| central.view().rollup_status_since(&name("hello"));
    assert_eq!(since(&central), Some(began));
    plant.converge();
    plant.pass(30);
    central.sync(&plant);
    check(&central, "INSTALLED");
    assert!(since(&central) > Some(began), "INSTALLED is younger than the commit");
    let placements = || plant.site.placements().map(|it| it.since);
    assert_eq!(since(&central), placements().max());
}

#[test]
fn only_what_leaves_with_the_deployment_is_counted_as_deleted() {
    let (mut central, mut plant) = (Central::new(), plant_after(STORIES[0].1));
    let one = "replicas: 1";
    plant.deploy(&app("1.0.0").with(one));
    plant.converge();
    central.sync(&plant);
    assert_eq!(central.archived(), (0, 0));
    plant.undeploy("hello");
    plant.converge();
    central.sync(&plant);
    assert_eq!(central.archived(), (1, 0));
}

#[test]
fn removal_of_a_file_that_the_site_never_could_use_comes_to_its_end() {
    let (mut central, mut plant) = start();
    let path = "deployments/home/hello.yaml";
    let text = b"not a deployment";
    plant.commit(vec![File::read(&home(), path, &blob("bad"), text)]);
    central.sync(&plant);
    commit(&mut central, None);
    check(&central, "PENDING");
    plant.commit(vec![File::removed(path)]);
    central.sync(&plant);
    check(&central, "GONE");
    assert_eq!(central.fleet.deployment_names().count(), 0);
    commit(&mut central, None);
    assert_eq!(central.fleet.deployment_names().count(), 0);
}

#[test]
fn removal_of_a_bad_file_ends_with_the_last_placement_or_the_next_orchestrator() {
    let (mut central, mut plant) = start();
    plant.join("a");
    plant.deploy(&app("1.0.0"));
    plant.converge();
    plant.silence("a");
    plant.pass(20);
    plant.undeploy("hello");
    let path = "deployments/home/hello.yaml";
    plant.commit(vec![File::read(&home(), path, &blob("bad"), b"not a deployment")]);
    central.sync(&plant);
    commit(&mut central, None);
    check(&central, "PENDING");

    let mut next = central.fleet.clone();
    next.join(&home(), plant.now.wall, true).expect("it is replaced");
    let standing = next.site(&home()).expect("home exists").rollup_status(&name("hello"));
    assert_eq!(standing.to_string(), "DELETING");

    plant.commit(vec![File::removed(path)]);
    central.sync(&plant);
    check(&central, "DELETING");
    plant.wake("a");
    plant.converge();
    central.sync(&plant);
    check(&central, "GONE");
    assert_eq!(central.fleet.deployment_names().count(), 0);
}

#[test]
fn retired_node_leaves_the_counts_of_a_deployment_that_stays() {
    let (mut central, mut plant) = start();
    for node in ["a", "b", "c"] {
        plant.join(node);
    }
    plant.deploy(&app("1.0.0"));
    plant.converge();
    plant.silence("c");
    plant.pass(60);
    for node in ["a", "c"] {
        let node = node.parse().expect("a name");
        plant.command(Action::Retire { node }).expect("it is retired");
    }
    central.sync(&plant);
    let placed: usize = central.view().placements.values().map(|it| it.len()).sum();
    assert_eq!((placed, central.count(PlacementBucket::Installed)), (1, 1));
    assert_eq!(central.view().installed(&name("hello")), 1);
    assert_eq!(central.archived(), (0, 0), "the deployment is still there");
    check(&central, "INSTALLED");

    plant.undeploy("hello");
    plant.converge();
    central.sync(&plant);
    assert_eq!(central.archived(), (1, 0), "only the deletion from node b counts");
}

#[test]
fn installed_with_another_revision_is_not_done() {
    let (mut central, mut plant) = (Central::new(), plant_after(STORIES[0].1));
    plant.command(Action::Hold { scope: HoldScope::Site, note: String::new() }).expect("held");
    plant.deploy(&app("2.0.0"));
    central.sync(&plant);
    check(&central, "WAITING");
    assert_eq!(central.count(PlacementBucket::Updating), 2);
}

#[test]
fn removal_behind_a_hold_waits() {
    let story = |change: &dyn Fn(&mut Plant)| {
        let (mut central, mut plant) = (Central::new(), plant_after(STORIES[0].1));
        plant.command(Action::Hold { scope: HoldScope::Site, note: String::new() }).expect("held");
        change(&mut plant);
        central.sync(&plant);
        check(&central, "WAITING");
        check_outcome(&central, plant.now.wall, Outcome::InProgress);
        plant.command(Action::ReleaseHold { scope: HoldScope::Site }).expect("held");
        central.sync(&plant);
        check(&central, "DELETING");
        plant.converge();
        central.sync(&plant);
        (central, plant.now.wall)
    };
    let (central, now) = story(&|plant| plant.undeploy("hello"));
    check(&central, "GONE");
    check_outcome(&central, now, Outcome::Deleted);
    let (central, now) = story(&|plant| plant.deploy(&app("1.0.0").with("replicas: 1")));
    check(&central, "INSTALLED");
    check_outcome(&central, now, Outcome::Installed);
}

#[test]
fn file_that_the_site_cannot_use_is_refused_and_not_gone() {
    let (mut central, mut plant) = start();
    plant.join("a");
    let (path, text) = ("deployments/home/hello.yaml", b"apiVersion: [");
    plant.commit(vec![File::read(&home(), path, &blob("apiVersion: ["), text)]);
    central.sync(&plant);
    check(&central, "REFUSED");
    check_outcome(&central, plant.now.wall, Outcome::Failed);
}

#[test]
fn offline_nodes_are_deferred() {
    let (mut central, mut plant) = (Central::new(), plant_after(STORIES[0].1));
    plant.silence("a");
    plant.pass(20);
    plant.deploy(&app("2.0.0"));
    plant.converge();
    central.sync(&plant);
    check(&central, "WAITING");
    assert_eq!(
        (central.count(PlacementBucket::Installed), central.count(PlacementBucket::Deferred)),
        (1, 1)
    );

    plant.command(Action::Hold { scope: HoldScope::Site, note: String::new() }).expect("held");
    plant.wake("a");
    central.sync(&plant);
    let shares =
        (central.count(PlacementBucket::Installed), central.count(PlacementBucket::Updating));
    assert_eq!(shares, (1, 1), "it is back, and its turn comes");
}

#[test]
fn device_that_cannot_stage_is_deferred() {
    let (mut central, mut plant) = (Central::new(), plant_after(STORIES[0].1));
    plant.join_foreign("z");
    plant.converge();
    let strategy = "strategy: {type: blue-green, soak: 0s}";
    plant.deploy(&app("2.0.0").with(strategy));
    plant.converge();
    plant.pass(2);
    plant.converge();
    central.sync(&plant);
    assert_eq!(
        (central.count(PlacementBucket::Installed), central.count(PlacementBucket::Deferred)),
        (2, 1)
    );
}

#[test]
fn rolled_back_is_never_a_success() {
    let (mut central, mut plant) = (Central::new(), plant_after(STORIES[0].1));
    plant.deploy(&app("2.0.0"));
    plant.report("a", "hello", "failed:exited");
    central.sync(&plant);
    check(&central, "ROLLINGBACK");
    plant.converge();
    central.sync(&plant);
    check(&central, "ROLLED_BACK");

    plant.deploy(&app("1.0.0"));
    central.sync(&plant);
    check(&central, "ROLLED_BACK");
    assert_eq!(central.count(PlacementBucket::RolledBack), 2);

    plant.deploy(&app("3.0.0"));
    plant.converge();
    central.sync(&plant);
    check(&central, "INSTALLED");
}

#[test]
fn a_delete_of_what_is_unknown_needs_force() {
    let (mut central, mut plant) = (Central::new(), plant_after(STORIES[0].1));
    central.sync(&plant);
    assert_eq!(central.view().delete_check(&name("hello"), false), []);
    plant.deploy(&app("2.0.0"));
    plant.silence("a");
    plant.pass(20);
    central.sync(&plant);

    let refusals = central.view().delete_check(&name("hello"), false);

    let texts: Vec<String> = refusals.iter().map(|(node, it)| format!("{node}: {it}")).collect();
    let text = "a: whether it runs is unknown; `--force` removes it without confirmation";
    assert_eq!(texts, [text]);
    assert_eq!(central.view().delete_check(&name("hello"), true), []);
    plant.undeploy("hello");
    central.sync(&plant);
    assert_eq!(central.view().delete_check(&name("hello"), false), [], "it is leaving");
}

#[test]
fn commands_are_numbered_and_open_until_acknowledged() {
    let (mut central, mut plant) = (Central::new(), plant_after(STORIES[0].1));
    central.sync(&plant);
    for action in [Action::ReleaseRemoval, release()] {
        central.fleet.command(&home(), action, "ana", Timestamp(u64::MAX)).expect("home exists");
    }
    central.persist_rest();
    assert_eq!(central.restored(), central.fleet);
    assert_eq!(numbers(&central), [1, 2]);

    let open: Vec<_> = central.fleet.commands_open(&home()).into_iter().cloned().collect();
    let _ = plant.step(Input::Command(open[0].clone()));
    central.sync(&plant);
    assert_eq!(numbers(&central), [2]);
    let _ = plant.step(Input::Command(open[1].clone()));
    central.sync(&plant);
    assert!(numbers(&central).is_empty());
    let next = central.fleet.command(&home(), release(), "ana", Timestamp(9)).expect("home exists");
    assert_eq!(next.number, Some(3));
}

fn numbers(central: &Central) -> Vec<u64> {
    central.fleet.commands_open(&home()).iter().filter_map(|it| it.number).collect()
}

pub(crate) fn start() -> (Central, Plant) {
    let (mut central, plant) = (Central::new(), Plant::new());
    central.sync(&plant);
    (central, plant)
}

pub(crate) fn commit(central: &mut Central, blob: Option<BlobId>) {
    let committed =
        central.fleet.change_committed(&home(), &name("hello"), commit_id(2), blob, Timestamp(2));
    committed.expect("home exists");
    central.persist_rest();
}

#[track_caller]
pub(crate) fn check(central: &Central, expected: &str) {
    let view = central.view();
    assert_eq!(view.rollup_status(&name("hello")).to_string(), expected);
    // What lists show is counted again after every write.
    let mut counts = StatusCounts::new();
    for name in view.deployment_names() {
        *counts.entry(view.rollup_status(name)).or_default() += 1;
    }
    assert_eq!(central.fleet.status_counts(&home()), Some(&counts));
}

#[track_caller]
fn check_outcome(central: &Central, now: Timestamp, expected: Outcome) {
    assert_eq!(central.view().outcome(&home(), &name("hello"), now), expected);
}

pub(crate) fn file(version: &str) -> BlobId {
    blob(&app(version).text(&home()))
}
