//! How deployments end, at the central orchestrator and at the site alike.

use colony_core::fleet::{Fleet, Outcome};
use colony_core::site::{Action, File};
use colony_core::time::Timestamp;
use colony_testkit::{Plant, blob, commit_id, deployment_id};

use crate::kit::story::{ROLLBACK, STOP, Step, app, plant_after, release, story, two_nodes};
use crate::kit::{Central, home, name};
use crate::status::file;

const RULE: &str = "eligibilityRules:
  - propertySelector:
      matchExpressions:
        - {key: /cpus/0/architecture, operator: In, values: [amd64]}";

#[test]
fn node_that_gave_a_revision_up_is_rolled_back() {
    let given_up = &story("rollback of one node")[..4];
    check(given_up, Outcome::RolledBack);
    let restarted: &[Step] = &[given_up[0], given_up[1], given_up[2], given_up[3], Plant::crash];
    check(restarted, Outcome::RolledBack);
}

#[test]
fn device_that_refuses_ends_as_failed() {
    let refuses: Step = |it| {
        it.join_with("a", "arm64", "");
        it.deploy(&app("2.0.0").needing(RULE));
        it.report("a", "hello", "failed:not-eligible");
        it.converge();
    };
    let plant = plant_after(&[two_nodes, refuses]);
    let expected = "hello@a FAILED(update) 2.0.0, hello@b INSTALLED 2.0.0";
    assert_eq!(plant.states(), expected);
    check(&[two_nodes, refuses], Outcome::Failed);
}

#[test]
fn refused_file_of_a_running_deployment_changes_no_outcome() {
    check(&[two_nodes, broken], Outcome::Installed);
}

#[test]
fn refused_file_of_a_new_deployment_has_failed() {
    check(&[|it| it.join("a"), broken], Outcome::Failed);
    check(&[|it| it.join("a"), broken, |it| it.undeploy("hello")], Outcome::Deleted);
}

/// The file was refused for the commit the central orchestrator waits for.
#[test]
fn refused_commit_of_the_central_orchestrator_has_failed() {
    let (mut central, mut plant) = (Central::new(), plant_after(&[two_nodes]));
    central.sync(&plant);
    let next = commit_id(3);
    let committed = |central: &mut Central, git| {
        let blob = Some(blob("id: 5\n"));
        central
            .fleet
            .change_committed(&home(), &name("hello"), git, blob, Timestamp(1))
            .expect("home");
        central.persist_rest();
    };
    committed(&mut central, next);
    assert_eq!(outcome(&central.fleet, plant.now.wall), Outcome::InProgress);
    broken(&mut plant);
    assert_eq!(plant.site.git(), Some(&commit_id(3)));
    central.sync(&plant);
    assert_eq!(outcome(&central.fleet, plant.now.wall), Outcome::Failed);

    // Another commit of a file with the same fault ends as well.
    committed(&mut central, commit_id(4));
    assert_eq!(outcome(&central.fleet, plant.now.wall), Outcome::InProgress);
    plant.pass(5);
    broken(&mut plant);
    central.sync(&plant);
    assert_eq!(outcome(&central.fleet, plant.now.wall), Outcome::Failed);
}

#[test]
fn outcomes_follow_the_story() {
    let cases: &[(&[Step], Outcome)] = &[
        (&[two_nodes], Outcome::Installed),
        (&[two_nodes, |it| it.deploy(&app("2.0.0"))], Outcome::InProgress),
        (&ROLLBACK[..3], Outcome::InProgress),
        (&ROLLBACK[..5], Outcome::RolledBack),
        (&ROLLBACK[..8], Outcome::Installed),
        (&STOP[..3], Outcome::Failed),
        (STOP, Outcome::Installed),
        (&story("failed first install")[..8], Outcome::RolledBack),
        (&[two_nodes, |it| it.undeploy("hello")], Outcome::InProgress),
        (&[two_nodes, |it| it.undeploy("hello"), Plant::converge], Outcome::Deleted),
        (&[two_nodes, away, |it| it.deploy(&app("2.0.0")), Plant::converge], Outcome::Deferred),
        (&[|it| it.join("a"), |it| it.deploy(&app("1.0.0").on("b"))], Outcome::Failed),
        (&[|it| it.deploy(&app("1.0.0"))], Outcome::InProgress),
    ];
    for (number, (steps, expected)) in cases.iter().enumerate() {
        assert_eq!(ends(steps), *expected, "case {number}");
    }
}

#[test]
fn site_that_is_silent_or_a_file_under_way_defers_the_outcome() {
    let (mut central, plant) = (Central::new(), plant_after(&[two_nodes]));
    central.sync(&plant);
    let (now, hello) = (plant.now.wall, name("hello"));
    let late = now.after(std::time::Duration::from_secs(90));
    central.fleet.change_planned(&home(), &hello, now).expect("home exists");
    assert_eq!(outcome(&central.fleet, now), Outcome::InProgress);
    let blob = Some(file("2.0.0"));
    central.fleet.change_committed(&home(), &hello, commit_id(9), blob, now).expect("home exists");
    assert_eq!(outcome(&central.fleet, now), Outcome::InProgress);
    assert_eq!(outcome(&central.fleet, late), Outcome::Deferred);
    let blobs = (Some(file("1.0.0")), None);
    central.fleet.change_conflict(&home(), &hello, blobs, "", now).expect("home exists");
    assert_eq!(outcome(&central.fleet, now), Outcome::Failed);
}

#[test]
fn order_that_is_on_its_way_keeps_the_outcome_open() {
    let (mut central, plant) = (Central::new(), plant_after(&STOP[..3]));
    central.sync(&plant);
    assert_eq!(outcome(&central.fleet, plant.now.wall), Outcome::Failed);
    let retry = Action::Retry { deployment: deployment_id("hello"), node: None };
    central.fleet.command(&home(), retry, "ana", Timestamp(u64::MAX)).expect("home exists");
    assert_eq!(outcome(&central.fleet, plant.now.wall), Outcome::InProgress);
    central.fleet.command(&home(), release(), "ana", Timestamp(u64::MAX)).expect("home exists");
    assert_eq!(outcome(&central.fleet, plant.now.wall), Outcome::InProgress);
}

fn away(plant: &mut Plant) {
    plant.silence("a");
    plant.pass(20);
}

fn broken(plant: &mut Plant) {
    let text = "id: 5\n";
    let path = "deployments/home/hello.yaml";
    plant.commit(vec![File::read(&home(), path, &blob(text), text.as_bytes())]);
}

#[track_caller]
fn check(steps: &[Step], expected: Outcome) {
    assert_eq!(ends(steps), expected);
}

/// How `hello` ends: the same at the central orchestrator and at the site.
#[track_caller]
fn ends(steps: &[Step]) -> Outcome {
    let plant = plant_after(steps);
    let mut central = Central::new();
    central.sync(&plant);
    let at_central = outcome(&central.fleet, plant.now.wall);
    let own = plant.site.view(plant.now).outcome(&home(), &name("hello"), plant.now.wall);
    assert_eq!(at_central, own, "both orchestrators say the same");
    at_central
}

fn outcome(fleet: &Fleet, now: Timestamp) -> Outcome {
    fleet.site(&home()).expect("home exists").outcome(&home(), &name("hello"), now)
}
