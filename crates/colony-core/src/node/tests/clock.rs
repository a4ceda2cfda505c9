//! The clock of a node: when it is stored, and that it never goes back.

use crate::node::tests::kit::script;
use crate::node::tests::kit::world::{World, fresh};
use crate::node::{Input, Key, Row};
use crate::time::{Monotonic, Now};

#[test]
fn clock_is_stored_every_ten_seconds_while_something_is_timed() {
    let slow = "web@1 is slow; deploy a web@1; run 0";
    stored(slow, 1_000, false);
    stored(slow, 9_000, false);
    stored(slow, 11_000, true);
}

#[test]
fn nothing_is_written_while_nothing_is_timed() {
    stored("deploy a web@1; run 9", 9_000, false);
    stored("deploy a web@1; run 9", 90_000, false);
}

#[test]
fn clock_is_never_behind_what_was_done_last() {
    not_behind("web@1 is slow; deploy a web@1; run 20; deploy a db@1 web@1; run 3");
    not_behind("deploy a web@1; run 9");
    not_behind("deploy a web@1; run 90; web@1 becomes exited; run 9");
    let staged = "deploy a web@1; run 90; deploy a web@2 phase=stage; run 90";
    not_behind(&format!("{staged}; web@2+ becomes exited; run 9"));
}

/// Whether the clock is stored with a tick so long after it was stored last.
#[track_caller]
fn stored(script: &str, millis: u64, expected: bool) {
    let mut world = after(script);
    let mono = Monotonic(world.node.clock().0 + millis);
    let step = world.node.step(Input::Tick, Now { mono, ..world.now });
    assert_eq!(step.changed.contains(&Key::Meta), expected, "{step:?}");
}

/// Starts a node whose own clock was not stored in time.
#[track_caller]
fn not_behind(script: &str) {
    let world = after(script);
    let rows = world.disk.values().map(|it| serde_json::from_str::<Row>(it).expect("a row"));
    let rows = rows.filter(|it| matches!(it, Row::Deployment(_)));
    let clock = fresh(rows.collect::<Vec<_>>()).clock();
    assert!(world.now.mono.since(clock).as_secs() < 12, "{clock:?} of {:?}", world.now.mono);
}

/// The world after a script.
fn after(text: &str) -> World {
    let mut world = World::new();
    text.split(';').for_each(|it| script::run(&mut world, it.trim()));
    world
}
