//! What a deployment waits for inside its site, as the central orchestrator shows it.

use colony_core::event::HoldScope;
use colony_core::site::{Action, File};
use colony_testkit::{Plant, blob};

use crate::kit::home;
use crate::kit::story::{STORIES, Step, app, failed, plant_after, story, two_nodes};
use crate::log::projection_steps::{BLUE_GREEN, CANARY, command, pause, three_nodes};
use crate::why::{names, synced};

#[test]
fn attempt_under_way_is_named() {
    let one = |it: &mut Plant| it.join("a");
    let first = |it: &mut Plant| it.deploy(&app("1.0.0"));
    let next = |it: &mut Plant| it.deploy(&app("2.0.0"));
    check(&[one, first], &["in-progress"]);
    check(&[one, first, Plant::converge, next], &["in-progress"]);
    check(&[one, first, Plant::converge, next, failed], &["quarantined", "in-progress"]);
}

#[test]
fn node_that_never_left_the_good_revision_waits_for_nothing_while_others_go_back() {
    let next = |it: &mut Plant| it.deploy(&app("2.0.0"));
    check(&[two_nodes, next, failed], &["quarantined", "in-progress"]);
}

#[test]
fn rollout_in_steps_waits_for_a_soak_or_for_an_operator() {
    let update: Step = |it| it.deploy(&app("2.0.0").with(CANARY));
    check(&[three_nodes, update], &["in-progress", "canary-first"]);
    let paused: Step = |it| command(it, pause());
    check(&[three_nodes, update, paused], &["in-progress", "paused"]);
    check(&[three_nodes, update, Plant::converge], &["soaking"]);
    check(&[three_nodes, update, Plant::converge, |it| it.pass(61)], &["awaits-promotion"]);
}

#[test]
fn failed_version_next_to_a_staged_one_is_named() {
    let update: Step = |it| it.deploy(&app("2.0.0").with(BLUE_GREEN));
    let lost: Step = |it| it.report("a", "hello", "installing+unhealthy");
    let also = |steps: &[Step]| {
        let plant = plant_after(steps);
        let central = synced(&plant);
        let whys = central.fleet.why(&home(), &crate::kit::name("hello"), None, plant.now.wall);
        let whys = whys.expect("home exists");
        whys.iter().any(|it| it.also.iter().any(|it| it.name() == "running-lost"))
    };
    assert!(also(&[three_nodes, update, lost]));
    let well: Step = |it| it.report("a", "hello", "installing");
    assert!(!also(&[three_nodes, update, lost, well]));
}

#[test]
fn stopped_rollout_and_failures_are_named() {
    let stop: Step = |it| it.deploy(&app("2.0.0").with("onFailure: stop"));
    check(&[two_nodes, stop, failed], &["rollout-stopped", "tries-used-up"]);
    let missing: Step = |it| it.report("a", "hello", "failed:image-missing");
    let first: Step = |it| it.deploy(&app("1.0.0"));
    check(&[|it| it.join("a"), first, missing], &["backoff"]);
}

#[test]
fn node_that_is_away_is_named() {
    let first: Step = |it| it.deploy(&app("1.0.0"));
    let away: Step = |it| {
        it.silence("a");
        it.pass(20);
    };
    check(&[|it| it.join("a"), first, away], &["lost-offline"]);
    check(&[two_nodes, away], &["stale"]);
}

#[test]
fn deployment_that_fits_nowhere_says_so() {
    check(&[|it| it.join("a"), |it| it.deploy(&app("1.0.0").on("b"))], &["target-not-joined"]);
    let north: Step = |it| it.deploy(&app("1.0.0").with("selector: {zone: north}"));
    check(&[|it| it.join("a"), north], &["nothing-fits"]);
}

#[test]
fn hold_explains_what_it_stops_and_nothing_else() {
    let hold: Step = |it| {
        let (scope, note) = (HoldScope::Site, "audit".to_owned());
        it.command(Action::Hold { scope, note }).expect("held");
    };
    check(&[|it| it.join("a"), hold, |it| it.deploy(&app("1.0.0"))], &["hold-site"]);
    let mut held = STORIES[0].1.to_vec();
    held.push(hold);
    check(&held, &[]);
}

#[test]
fn held_removal_is_named_at_the_deployments_it_removes() {
    let plant = plant_after(&story("large removal")[..4]);
    let central = synced(&plant);
    assert_eq!(names(&central.fleet, "w", plant.now.wall), ["removal-held"]);
    assert_eq!(names(&central.fleet, "z", plant.now.wall), [""; 0]);
}

#[test]
fn first_install_that_was_given_up_is_quarantined() {
    check(&story("failed first install")[..8], &["quarantined"]);
}

#[test]
fn file_with_several_faults_says_how_many() {
    let faults = |text: &str| {
        let mut plant = Plant::new();
        let path = "deployments/home/hello.yaml";
        plant.commit(vec![File::read(&home(), path, &blob(text), text.as_bytes())]);
        let whys =
            synced(&plant).fleet.why(&home(), &crate::kit::name("hello"), None, plant.now.wall);
        whys.expect("home exists").iter().map(|it| it.text(plant.now.wall)).collect::<String>()
    };
    assert!(faults("id: [").contains("hello.yaml:1:5: YAML cannot be read here: unclosed bracket"));
    let several = faults("id: 5\n");
    assert!(several.contains("which is required (and 2 more findings)"), "{several}");
}

/// Tells a story and compares what `hello` waits for at its end.
#[track_caller]
fn check(steps: &[Step], expected: &[&str]) {
    let plant = plant_after(steps);
    assert_eq!(names(&synced(&plant).fleet, "hello", plant.now.wall), expected);
}
