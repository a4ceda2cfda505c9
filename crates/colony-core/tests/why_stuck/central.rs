//! Each stuck case is asked at the central orchestrator, too: the answers go over
//! the wire, and what is shown there equals what the site says.

use colony_core::fleet::{AnswersTaken, Fleet};
use colony_core::id::SiteName;
use colony_core::why::{self, AnswerKey, AnswerOutbox, AnswerUpdate, Subject, Surroundings, Why};
use colony_testkit::{App, Plant, blob, commit_id, projection_difference};

/// A central orchestrator that has all events and answers of the plant.
#[track_caller]
fn central(plant: &Plant) -> Fleet {
    let mut fleet = Fleet::of_site(home(plant), plant.site.view(plant.now));
    if plant.site.log().incarnation == 0 {
        fleet = folded(plant);
    }
    let mut outbox = AnswerOutbox::new(1);
    outbox.refresh(&plant.site, &Surroundings::default(), &Default::default(), plant.now);
    while let Some(update) = outbox.next(300) {
        let bytes = serde_json::to_vec(&update).expect("answers are JSON");
        let read: AnswerUpdate = serde_json::from_slice(&bytes).expect("answers read back");
        let taken = fleet.answers_apply(&home(plant), &read);
        assert_eq!(taken, Ok(AnswersTaken::Stored));
        outbox.acknowledged(update.number);
    }
    fleet
}

/// From the events alone; an LO that took over began with what was known before.
#[track_caller]
fn folded(plant: &Plant) -> Fleet {
    let mut fleet = Fleet::new();
    fleet.site_add(&home(plant));
    fleet.join(&home(plant), plant.now.wall, false).expect("the site is new");
    let _ = fleet.apply(&home(plant), &plant.events, plant.now.wall).expect("the whole log");
    let view = fleet.site(&home(plant)).expect("it was added");
    assert_eq!(projection_difference(view, &plant.site, plant.now), None);
    fleet
}

fn home(plant: &Plant) -> SiteName {
    plant.site.name().clone()
}

/// Compares all answers about a deployment, and returns them.
#[track_caller]
pub(crate) fn check_deployment(plant: &Plant, deployment: &str) -> Vec<Why> {
    let (name, now) = (Plant::name(deployment), plant.now.wall);
    let own = why::deployment(&plant.site, &name, plant.now);
    let mut fleet = central(plant);
    let site_has_it = fleet.deployment_names().any(|it| *it == name);
    if !site_has_it {
        // Nothing at the site names it: only a commit under way makes it known.
        let committed =
            fleet.change_committed(&home(plant), &name, commit_id(99), Some(blob("")), now);
        committed.expect("the site is there");
    }
    let mut shown = fleet.why(&home(plant), &name, None, now).expect("the site is there");
    if !site_has_it && !own.is_empty() {
        assert_eq!(shown.remove(0).cause.name(), "not-fetched");
    }
    if !own.is_empty() || site_has_it {
        shown.retain(|it| it.cause.name() != "awaits-revert");
        assert_eq!(shown, own, "asked at the central orchestrator");
    }
    own
}

/// Compares the answer about one placement, which may be part of that for its
/// whole deployment.
#[track_caller]
pub(crate) fn check_placement(plant: &Plant, deployment: &str, own: Option<&Why>) {
    let shown = check_deployment(plant, deployment);
    let Some(own) = own else { return };
    assert!(shown.iter().any(|it| it.cause == own.cause), "{own:?} is not in {shown:?}");
}

#[track_caller]
pub(crate) fn check_answer(plant: &Plant, key: AnswerKey, own: &[Why]) {
    let fleet = central(plant);
    let view = fleet.site(&home(plant)).expect("the site is there");
    assert_eq!(view.answers_about(&key), own, "asked at the central orchestrator");
    let whole = fleet.why_site(&home(plant), None, plant.now.wall).expect("the site is there");
    assert!(own.iter().all(|it| whole.contains(it)), "{own:?} is not in {whole:?}");
}

#[test]
fn equal_causes_of_two_deployments_are_both_shown() {
    let mut plant = super::installed("a");
    for name in ["hello", "pump"] {
        plant.deploy(&App::new(name, "1.0.0").with("replicas: 2"));
    }
    plant.converge();
    check(&plant, "hello too-few-fit, pump too-few-fit");
}

#[test]
fn absence_of_a_node_is_shown_once() {
    let mut plant = super::installed("a");
    plant.silence("a");
    plant.pass(60);
    check(&plant, "node-offline");
}

/// Compares everything that is shown of the plant's site.
#[track_caller]
fn check(plant: &Plant, expected: &str) {
    let whys = central(plant).why_site(&home(plant), None, plant.now.wall).expect("it is there");
    let shown = whys.iter().map(|it| match &it.subject {
        Subject::Deployment { deployment } => format!("{deployment} {}", it.cause.name()),
        Subject::Site { .. } | Subject::Node { .. } | Subject::Placement { .. } => {
            it.cause.name().to_owned()
        }
    });
    assert_eq!(shown.collect::<Vec<_>>().join(", "), expected);
}
