//! What runs on while a version is staged, and is not well.

use colony_core::event::Body;
use colony_core::why;
use colony_testkit::{App, Plant};

use super::{BLUE_GREEN, abort, because, check, installed, steer, updating};

const STAGED: &str = "a UPDATING 2 staged, b UPDATING 2 staged, c UPDATING 2 staged";

#[test]
fn it_is_told_once_and_holds_nothing_up() {
    let mut plant = staged("installed+unhealthy");
    check(&plant, STAGED);
    plant.report("b", "hello", "installed+unhealthy");
    assert_eq!(health_events(&plant), "b unhealthy");
    let why = "1.0.0, which node b runs meanwhile, is unhealthy: the health check does not pass";
    assert!(reasons(&plant, "b").contains(why), "{}", reasons(&plant, "b"));
    assert!(!reasons(&plant, "a").contains("is unhealthy"));
    plant.pass(61);
    plant.converge();
    check(&plant, "a INSTALLED 2, b INSTALLED 2, c INSTALLED 2");
    assert_eq!(health_events(&plant), "b unhealthy");
}

#[test]
fn whoever_takes_over_ends_it_and_the_next_stage_begins_anew() {
    let mut plant = staged("installed+unhealthy");
    plant.pass(61);
    check(&plant, "a UPDATING 2, b UPDATING 2, c UPDATING 2");
    assert!(!reasons(&plant, "b").contains("runs meanwhile"), "{}", reasons(&plant, "b"));
    plant.converge();
    plant.pass(61);
    plant.deploy(&App::new("hello", "3.0.0").with(BLUE_GREEN));
    assert!(!reasons(&plant, "b").contains("runs meanwhile"), "{}", reasons(&plant, "b"));
    plant.report("b", "hello", "installing+unhealthy");
    assert_eq!(health_events(&plant), "b unhealthy, b unhealthy");
}

#[test]
fn it_is_told_beside_the_failure_of_the_stage_as_well() {
    let mut plant = staged("failed:engine-error+unhealthy");
    check(&plant, "a UPDATING 2 staged, b FAILED(update) 2, c UPDATING 2 staged");
    assert!(reasons(&plant, "b").contains("1.0.0, which node b runs meanwhile, is unhealthy"));
    plant.pass(1);
    assert_eq!(health_events(&plant), "b unhealthy");
}

#[test]
fn its_recovery_is_told_too() {
    let mut plant = staged("installed+unhealthy");
    plant.report("b", "hello", "installed");
    assert_eq!(health_events(&plant), "b unhealthy, b well");
    assert!(!reasons(&plant, "b").contains("is unhealthy"));
}

#[test]
fn it_is_no_matter_of_the_stage_any_more_when_that_ends() {
    let mut plant = staged("installed+unhealthy");
    assert_eq!(steer(&mut plant, abort()), "");
    assert!(!reasons(&plant, "b").contains("runs meanwhile"), "{}", reasons(&plant, "b"));
    plant.converge();
    check(&plant, "a INSTALLED 1, b INSTALLED 1, c INSTALLED 1");
    plant.report("b", "hello", "installed+unhealthy");
    assert_eq!(health_events(&plant), "b unhealthy");
}

#[test]
fn it_is_remembered_over_a_crash() {
    let mut plant = staged("installed+unhealthy");
    plant.crash();
    plant.report("b", "hello", "installed+unhealthy");
    assert_eq!(health_events(&plant), "b unhealthy");
}

#[test]
fn what_replaces_a_staged_version_takes_its_slots() {
    let one = "strategy: {type: rolling, maxUnavailable: 1}";
    let mut plant = staged("installed");
    plant.deploy(&App::new("hello", "3.0.0").with(one));
    check(&plant, "a UPDATING 3, b UPDATING 2 staged, c UPDATING 2 staged");
    because(&plant, "b", "slots-full");
    plant.report("a", "hello", "installed");
    check(&plant, "a INSTALLED 3, b UPDATING 3, c UPDATING 2 staged");
    plant.converge();
    check(&plant, "a INSTALLED 3, b INSTALLED 3, c INSTALLED 3");
}

#[test]
fn staging_needs_no_slot_of_who_is_down() {
    let one = "strategy: {type: blue-green, soak: 1m, maxUnavailable: 1}";
    let mut plant = installed(one);
    plant.report("b", "hello", "failed:engine-error");
    plant.pass(10);
    check(&plant, "a INSTALLED 1, b UPDATING 1, c INSTALLED 1");
    plant.deploy(&App::new("hello", "2.0.0").with(one));
    check(&plant, "a UPDATING 2, b UPDATING 1, c UPDATING 2");
}

#[test]
fn what_failed_beside_is_not_down_and_takes_a_slot_to_be() {
    let one = "strategy: {type: blue-green, soak: 1m, maxUnavailable: 1}";
    let mut plant = updating(one);
    plant.report("a", "hello", "installed");
    plant.report("c", "hello", "installed");
    plant.report("b", "hello", "failed:registry-unavailable");
    plant.deploy(&App::new("hello", "2.0.0").with("strategy: {type: rolling, maxUnavailable: 1}"));
    plant.pass(60);
    check(&plant, "a UPDATING 2, b FAILED(update) 2, c UPDATING 2 staged");
}

#[test]
fn what_failed_beside_holds_nobody_up_who_is_down() {
    let mut plant = installed(BLUE_GREEN);
    plant.report("b", "hello", "failed:registry-unavailable");
    plant.deploy(&App::new("hello", "2.0.0").with(BLUE_GREEN));
    plant.report("a", "hello", "failed:registry-unavailable");
    check(&plant, "a FAILED(update) 2, b FAILED(update) 1, c UPDATING 2");
    plant.deploy(&App::new("hello", "3.0.0").with("strategy: {type: rolling, maxUnavailable: 1}"));
    check(&plant, "a FAILED(update) 2, b UPDATING 3, c UPDATING 2");
    plant.converge();
    check(&plant, "a INSTALLED 3, b INSTALLED 3, c INSTALLED 3");
}

/// Version 2 is staged everywhere; node b says so as told.
fn staged(b: &str) -> Plant {
    let mut plant = updating(BLUE_GREEN);
    plant.report("a", "hello", "installed");
    plant.report("b", "hello", b);
    plant.report("c", "hello", "installed");
    plant
}

/// The health events of active versions.
fn health_events(plant: &Plant) -> String {
    let said = plant.events.iter().filter_map(|it| {
        let Body::RunningHealth { node, failure, .. } = &it.body else { return None };
        let how = failure.as_ref().map_or("well", |it| it.code.as_str());
        Some(format!("{node} {how}"))
    });
    said.collect::<Vec<_>>().join(", ")
}

fn reasons(plant: &Plant, node: &str) -> String {
    let mut own = plant.site.placements().filter(|it| it.id.node.as_str() == node);
    let id = own.next().expect("it is placed").id.clone();
    let why = why::placement(&plant.site, &id, plant.now);
    why.map(|it| it.text(plant.now.wall)).unwrap_or_default()
}
