//! How a plan says that a revision spreads.

use colony_testkit::App;

use crate::kit::{World, app};

#[test]
fn canary_names_who_goes_first_and_the_steps() {
    check(
        "strategy: {type: canary, canary: 1, steps: [50%], soak: 5m, promote: manual}",
        "1 a: 1 of 4 nodes, then soaks for 5 min and waits for `colony deployment promote hello`; \
         2 b: 2 of 4 nodes, then soaks for 5 min and waits for `colony deployment promote hello`; \
         3 c d: all nodes",
    );
    check(
        "strategy: {type: canary, canary: 50%, soak: 0s}",
        "1 a b: 2 of 4 nodes, then the next step; 2 c d: all nodes",
    );
    check(
        "strategy: {type: canary, canary: {line: press}, soak: 2m}",
        "1 c: 1 of 4 nodes, then soaks for 2 min; 2 a b d: all nodes",
    );
}

#[test]
fn step_that_adds_no_node_is_left_out() {
    check(
        "strategy: {type: canary, canary: 3, steps: [2], soak: 0s}",
        "1 a b c: 3 of 4 nodes, then the next step; 2 d: all nodes",
    );
}

#[test]
fn promotion_of_what_all_nodes_have_is_not_asked_for() {
    let manual = "strategy: {type: canary, canary: 1, soak: 5m, promote: manual}";
    let next = app("2.0.0", manual);
    assert_eq!(text(&World::installed("a", ""), &next), "1 a: all nodes, then soaks for 5 min");
    let at_once = "strategy: {type: canary, canary: 4, soak: 0s, promote: manual}";
    check(at_once, "1 a b c d: all nodes");
}

#[test]
fn blue_green_says_that_it_stages() {
    check(
        "strategy: {type: blue-green, soak: 5m}",
        "1 a b c d: staged beside the version that runs, then soaks for 5 min; \
         2 a b c d: takes over",
    );
}

#[test]
fn other_strategies_have_no_steps() {
    check("strategy: {type: rolling}", "");
    check("strategy: {type: all-at-once}", "");
}

#[test]
fn steps_are_those_of_a_new_version_only() {
    let canary = "strategy: {type: canary, canary: 1, soak: 5m}";
    let world = World::installed("a b", canary);
    assert_eq!(world.plan(&app("1.0.0", &format!("{canary}\nreplicas: 1"))).steps, []);
    let fresh = World::new("a b");
    assert_eq!(
        text(&fresh, &app("1.0.0", canary)),
        "1 a: 1 of 2 nodes, then soaks for 5 min; 2 b: all nodes"
    );
}

/// The first nodes of the plan are the first nodes of the site.
#[test]
fn site_begins_with_the_nodes_of_the_first_step() {
    for settings in [
        "strategy: {type: canary, canary: 2, maxUnavailable: 4, soak: 5m}",
        "strategy: {type: canary, canary: {line: press}, soak: 5m}",
        "strategy: {type: blue-green, soak: 5m}",
    ] {
        let mut world = four();
        let next = app("2.0.0", settings);
        let first = world.plan(&next).steps.remove(0).nodes;
        world.deploy(&next);
        let site = &world.plant.site;
        let begun = site.placements().filter(|it| it.state().is_in_progress());
        let begun: Vec<_> = begun.map(|it| it.id.node.clone()).collect();
        assert_eq!(begun, first, "{settings}");
    }
}

fn four() -> World {
    World::installed("a b c:line=press d", "")
}

#[track_caller]
fn check(settings: &str, expected: &str) {
    assert_eq!(text(&four(), &app("2.0.0", settings)), expected);
}

fn text(world: &World, app: &App) -> String {
    let steps = world.plan(app).steps;
    let text = |it: &colony_core::plan::PlanStep| {
        let nodes: Vec<&str> = it.nodes.iter().map(|it| it.as_str()).collect();
        format!("{} {}: {}", it.step, nodes.join(" "), it.text)
    };
    steps.iter().map(text).collect::<Vec<_>>().join("; ")
}
