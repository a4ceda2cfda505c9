//! Scenarios: a script in, a trace out.
//!
//! `world` plays manager, shell, disk and engine around a real `Node`. A trace
//! lists what the engine was asked to do and what the manager heard, in order.

mod apply;
mod chaos;
mod clock;
mod crash;
mod fake;
mod limits;
mod manifest;
mod patience;
mod plan;
mod property;
mod repair;
mod report;
mod script;
mod stage;
mod told;
mod world;

use world::World;

/// Runs a script and compares the trace of its last command.
#[track_caller]
fn check(script: &str, expected: &str) {
    let mut world = World::new();
    for command in script.split(';') {
        world.trace.clear();
        script::run(&mut world, command.trim());
    }
    assert_eq!(world.trace.join(", "), expected);
}
