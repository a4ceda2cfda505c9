//! A crash at any moment: the end is the same, and no healthy container is
//! stopped.

use crate::node::Status;
use crate::node::tests::kit::script;
use crate::node::tests::kit::world::World;

#[test]
fn crash_anywhere_changes_nothing_in_the_end() {
    check("db@1 is checked; deploy a db@1 web@1; run 12");
    check("db@1 is checked; deploy a db@1 web@1; run 7; deploy a db@1 web@2; run 12");
    check("deploy a web@1; run 7; deploy a web@2; run 3; deploy a web@3; run 12");
    let attempts = "web@2 is exiting; deploy a web@2; run 3; deploy a web@1 attempt=2";
    check(&format!("deploy a web@1; run 7; {attempts}; run 12"));
    check("deploy a web@1; run 7; deploy a web@2 phase=stage; run 9; deploy a web@2; run 12");
    check(
        "deploy a web@1; run 7; deploy a web@2 phase=stage; run 3; deploy a web@1 attempt=2; run 12",
    );
    check("deploy a web@1; run 7; undeploy a; run 7");
    check("deploy a web@1; run 7; undeploy a; run 0; deploy a web@1 attempt=2; run 12");
    check("deploy a web@1; run 14; web@1 becomes exited; run 12");
}

/// Runs a script once undisturbed and once with a crash at each moment.
#[track_caller]
fn check(text: &str) {
    let undisturbed = end(text, None);
    let moments = undisturbed.moments;
    assert!(moments > 30, "{moments}");
    for moment in 0..moments {
        let disturbed = end(text, Some(moment));
        assert_eq!(summary(&disturbed), summary(&undisturbed), "died at {moment}");
    }
}

fn end(text: &str, dies_at: Option<usize>) -> World {
    let mut world = World::new();
    world.dies_at = dies_at;
    text.split(';').for_each(|it| script::run(&mut world, it.trim()));
    world
}

/// What runs, and the last reports.
fn summary(world: &World) -> (Vec<(String, bool)>, Vec<String>, usize) {
    let running = world.engine.values().map(|it| (it.title.clone(), it.status == Status::Running));
    (running.collect(), world.heard.values().cloned().collect(), world.disk.len())
}
