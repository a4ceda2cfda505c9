//! What a plan says of changes that wait.

use colony_core::event::HoldScope;
use colony_core::site::{Action, SiteSettings};
use colony_testkit::deployment_id;

use crate::kit::{World, app, texts};

const CANARY: &str = "strategy: {type: canary, soak: 5m}";

#[test]
fn hold_is_named() {
    for (scope, what) in
        [(HoldScope::Site, "the site"), (HoldScope::Deployment(deployment_id("hello")), "hello")]
    {
        let mut world = World::installed("a", "");
        let hold = Action::Hold { scope, note: "audit".to_owned() };
        world.plant.command(hold).expect("held");
        world.sync();
        let reason = format!("will wait: ana holds {what} (audit)");
        check(&world, "2.0.0", "", &format!("a update 1>2 ({reason})"));
        let removal = world.plan_text(None);
        assert_eq!(texts(&removal.targets), format!("a remove 1>- ({reason})"));
    }
}

#[test]
fn holds_of_site_and_deployment_are_both_named() {
    let mut world = World::installed("a", "");
    for scope in [HoldScope::Site, HoldScope::Deployment(deployment_id("hello"))] {
        let hold = Action::Hold { scope, note: String::new() };
        world.plant.command(hold).expect("held");
    }
    world.sync();
    let reason = "will wait: ana holds the site, and ana holds hello";
    check(&world, "2.0.0", "", &format!("a update 1>2 ({reason})"));
}

#[test]
fn delay_is_named_as_long_as_it_is_the_last_thing_to_end() {
    let mut world = World::installed("a", "");
    check(
        &world,
        "2.0.0",
        "delay: 5m",
        "a update 1>2 (will wait: its `delay` is not over; it starts in 5 min)",
    );
    world.deploy(&app("2.0.0", "delay: 5m"));
    world.plant.pass(120);
    world.sync();
    check(
        &world,
        "2.0.0",
        "delay: 9m",
        "a update 1>2 (will wait: its `delay` is not over; it starts in 7 min)",
    );
    check(&world, "2.0.0", "delay: 1m", "a update 1>2");
    let text = "maintenanceWindows: [{from: '22:00', to: '23:00'}]";
    world.settings = SiteSettings::parse(text.as_bytes()).expect("valid");
    let reason = "will wait: outside the maintenance window; it starts in 9 h";
    check(&world, "3.0.0", "delay: 5m", &format!("a update 1>3 ({reason})"));
    check(
        &world,
        "3.0.0",
        "delay: 24h",
        "a update 1>3 (will wait: its `delay` is not over; it starts in 24 h)",
    );
}

#[test]
fn offline_node_is_offline_since_it_was_heard() {
    let mut world = World::installed("a b", "");
    world.plant.silence("b");
    world.plant.pass(20);
    world.sync();
    check(&world, "2.0.0", "", "a update 1>2, b deferred update 1>2 (offline 20 s)");
}

#[test]
fn forced_removal_waits_for_no_node() {
    let mut world = World::installed("a b", "");
    world.plant.silence("b");
    world.plant.pass(20);
    world.sync();
    let removal = |world: &World| texts(&world.plan_text(None).targets);
    assert_eq!(removal(&world), "a remove 1>-, b deferred remove 1>- (offline 20 s)");
    world.force = true;
    let reason = "forced: offline 20 s; its removal stays unconfirmed";
    let there = "forced: not waited for; its removal may stay unconfirmed";
    assert_eq!(removal(&world), format!("a remove 1>- ({there}), b remove 1>- ({reason})"));
    let mut held = World::installed("a", "");
    held.force = true;
    let hold = Action::Hold { scope: HoldScope::Site, note: String::new() };
    held.plant.command(hold).expect("held");
    held.plant.silence("a");
    held.plant.pass(20);
    held.sync();
    assert_eq!(removal(&held), "a remove 1>- (will wait: ana holds the site)");
    let later = world.plant.now.wall.after(std::time::Duration::from_secs(7200));
    world.plant.now.wall = later;
    let away = "the site has been offline for 2 h";
    let expected = format!("a deferred remove 1>- ({away}), b deferred remove 1>- ({away})");
    assert_eq!(removal(&world), expected);
}

#[test]
fn closed_maintenance_window_is_named() {
    let mut world = World::installed("a", "");
    let text = "maintenanceWindows: [{from: '22:00', to: '23:00'}]";
    world.settings = SiteSettings::parse(text.as_bytes()).expect("valid");
    let reason = "will wait: outside the maintenance window; it starts in 9 h";
    check(&world, "2.0.0", "", &format!("a update 1>2 ({reason})"));
    assert_eq!(texts(&world.plan_text(None).targets), "a remove 1>-");
}

#[test]
fn pause_holds_the_same_version_up_and_no_other() {
    let mut world = World::installed("a b", "");
    world.deploy(&app("2.0.0", CANARY));
    let pause = Action::Pause { deployment: deployment_id("hello"), note: String::new() };
    world.plant.command(pause).expect("paused");
    world.converge();
    check(
        &world,
        "2.0.0",
        "strategy: {type: canary, soak: 9m}",
        "a unchanged 2>2, b update 1>2 (will wait: ana paused the rollout)",
    );
    check(&world, "3.0.0", CANARY, "a update 2>3, b update 1>3");
}

#[test]
fn offline_site_defers_everything() {
    let mut world = World::installed("a", "");
    let now = world.plant.now.wall.after(std::time::Duration::from_secs(7200));
    world.plant.now.wall = now;
    check(&world, "2.0.0", "", "a deferred update 1>2 (the site has been offline for 2 h)");
}

#[track_caller]
fn check(world: &World, version: &str, settings: &str, expected: &str) {
    assert_eq!(texts(&world.plan(&app(version, settings)).targets), expected);
}
