//! How much a commit may remove at once, and what goes with a file that is gone.

use colony_core::event::Body;
use colony_core::site::File;
use colony_testkit::{App, Plant, blob};

const NAMES: [&str; 8] = ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"];

#[test]
fn more_than_half_of_what_is_there_is_not_removed_unasked() {
    held(2, 2, false);
    held(3, 3, true);
    held(5, 3, true);
    held(6, 3, false);
    held(7, 4, true);
    held(8, 4, false);
}

#[test]
fn what_is_leaving_already_is_not_there() {
    let mut plant = plant(8);
    plant.silence("node");
    plant.pass(16);
    plant.commit(removed_files(&NAMES[..3]));
    assert_eq!(held_count(&plant), 0);
    plant.commit(removed_files(&NAMES[3..6]));
    assert_eq!(held_count(&plant), 3, "three of five");
}

#[test]
fn removal_is_told_as_released_only_if_it_was_held() {
    let mut plant = plant(4);
    plant.commit(removed_files(&NAMES[..1]));
    check_removals(&plant, "");
    plant.commit(removed_files(&NAMES[1..4]));
    check_removals(&plant, "held 3");
    plant.commit(removed_files(&[]));
    check_removals(&plant, "held 3");
    plant.deploy(&app("a2"));
    check_removals(&plant, "held 3, released");
    plant.deploy(&App::new("other", "1.0.0"));
    check_removals(&plant, "held 3, released");
}

#[test]
fn windows_are_lifted_by_the_removal_of_their_own_file_alone() {
    let mut plant = plant(2);
    let text = "maintenanceWindows:\n  - {from: '22:00', to: '04:00'}\n";
    plant.commit(vec![read("sites/home.yaml", text)]);
    plant.deploy(&App { version: "2.0.0".to_owned(), ..app("a1") });
    plant.commit(removed_files(&["a2"]));
    check(&plant, "a1@node INSTALLED 1.0.0, a2@node DELETING 1.0.0");
    plant.commit(vec![File::removed("sites/home.yaml")]);
    check(&plant, "a1@node UPDATING 2.0.0, a2@node DELETING 1.0.0");
}

/// Removes so many of all at once.
#[track_caller]
fn held(all: usize, removed: usize, expected: bool) {
    let mut plant = plant(all);
    plant.commit(removed_files(&NAMES[..removed]));
    let leaving = plant.states().matches("DELETING").count();
    let result = (held_count(&plant), leaving);
    assert_eq!(result, if expected { (removed, 0) } else { (0, removed) }, "{removed} of {all}");
}

fn held_count(plant: &Plant) -> usize {
    plant.site.held_removal().map_or(0, |it| it.deployments.len())
}

/// A node that runs so many deployments.
fn plant(deployments: usize) -> Plant {
    let mut plant = Plant::new();
    plant.join("node");
    NAMES[..deployments].iter().for_each(|it| plant.deploy(&app(it)));
    plant.converge();
    plant
}

fn app(name: &str) -> App {
    App::new(name, "1.0.0")
}

fn removed_files(names: &[&str]) -> Vec<File> {
    names.iter().map(|it| File::removed(&format!("deployments/home/{it}.yaml"))).collect()
}

fn read(path: &str, text: &str) -> File {
    File::read(&"home".parse().expect("a name"), path, &blob(text), text.as_bytes())
}

/// What was said of removals that are too large.
#[track_caller]
fn check_removals(plant: &Plant, expected: &str) {
    let said = |body: &Body| {
        if let Body::RemovalHeld { deployments, .. } = body {
            return Some(format!("held {}", deployments.len()));
        }
        (*body == Body::RemovalReleased).then(|| "released".to_owned())
    };
    let said: Vec<String> = plant.events.iter().filter_map(|it| said(&it.body)).collect();
    assert_eq!(said.join(", "), expected);
}

#[track_caller]
fn check(plant: &Plant, expected: &str) {
    assert_eq!(plant.states(), expected);
}
