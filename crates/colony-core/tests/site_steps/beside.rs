//! What runs on while a version is staged, and is not well.

use colony_core::event::Body;
use colony_core::why;
use colony_testkit::Plant;

use super::{BLUE_GREEN, abort, check, steer, updating};

const STAGED: &str = "a UPDATING 2 staged, b UPDATING 2 staged, c UPDATING 2 staged";

#[test]
fn it_is_told_once_and_holds_nothing_up() {
    let mut plant = staged("installed+unhealthy");
    check(&plant, STAGED);
    plant.report("b", "hello", "installed+unhealthy");
    assert_eq!(told(&plant), "b unhealthy");
    let why = "1.0.0, which node b runs meanwhile, is not well: the health check does not pass";
    assert!(reasons(&plant, "b").contains(why), "{}", reasons(&plant, "b"));
    assert!(!reasons(&plant, "a").contains("not well"));
    plant.pass(61);
    plant.converge();
    check(&plant, "a INSTALLED 2, b INSTALLED 2, c INSTALLED 2");
    assert_eq!(told(&plant), "b unhealthy");
}

#[test]
fn its_recovery_is_told_too() {
    let mut plant = staged("installed+unhealthy");
    plant.report("b", "hello", "installed");
    assert_eq!(told(&plant), "b unhealthy, b well");
    assert!(!reasons(&plant, "b").contains("not well"));
}

#[test]
fn it_is_no_matter_of_the_stage_any_more_when_that_ends() {
    let mut plant = staged("installed+unhealthy");
    assert_eq!(steer(&mut plant, abort()), "");
    assert!(!reasons(&plant, "b").contains("runs meanwhile"), "{}", reasons(&plant, "b"));
    plant.converge();
    check(&plant, "a INSTALLED 1, b INSTALLED 1, c INSTALLED 1");
    plant.report("b", "hello", "installed+unhealthy");
    assert_eq!(told(&plant), "b unhealthy");
}

#[test]
fn it_is_remembered_over_a_crash() {
    let mut plant = staged("installed+unhealthy");
    plant.crash();
    plant.report("b", "hello", "installed+unhealthy");
    assert_eq!(told(&plant), "b unhealthy");
}

/// Version 2 is staged everywhere; node b says so as told.
fn staged(b: &str) -> Plant {
    let mut plant = updating(BLUE_GREEN);
    plant.report("a", "hello", "installed");
    plant.report("b", "hello", b);
    plant.report("c", "hello", "installed");
    plant
}

/// What was told of those that run on.
fn told(plant: &Plant) -> String {
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
    why::placement(&plant.site, &id, plant.now).map(|it| it.to_string()).unwrap_or_default()
}
