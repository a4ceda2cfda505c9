//! Scenarios: a script in, a trace out.
//!
//! `world` plays manager, shell, disk and engine around a real `Node`. A trace
//! lists the actions of the engine and the reports to the manager, in order.

mod apply;
mod clock;
mod hostile;
mod kit;
mod manifest;
mod patience;
mod plan;
mod purge;
mod repair;
mod report;
mod report_content;
mod stage;

use kit::script;
use kit::world::World;

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
