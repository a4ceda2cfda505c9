//! Which nodes a plan names, and that the site chooses them.

use colony_core::site::Action;
use colony_testkit::App;

use crate::kit::{World, app, texts};

#[test]
fn lowered_replicas_list_the_removals() {
    let mut world = World::installed("a b c", "replicas: 3");
    world.check(&app("1.0.0", "replicas: 1"), "b remove 1>-, c remove 1>-, a unchanged 1>1");
}

#[test]
fn changed_selector_lists_the_removals() {
    let mut world = World::installed("a:line=press b:line=paint c:line=press", "");
    world.check(
        &app("1.0.0", "selector: {line: press}"),
        "b remove 1>-, a unchanged 1>1, c unchanged 1>1",
    );
}

#[test]
fn changed_target_lists_the_removal_and_the_new_node() {
    let mut world = World::new("a b");
    world.deploy(&app("1.0.0", "").on("a"));
    world.converge();
    world.check(&app("1.0.0", "").on("b"), "a remove 1>-, b create ->1");
}

#[test]
fn node_with_fewer_deployments_is_chosen() {
    let mut world = World::new("a b");
    world.deploy(&App::new("other", "1.0.0").on("a"));
    world.converge();
    world.check(&app("1.0.0", "replicas: 1"), "b create ->1");
}

#[test]
fn node_that_is_online_is_chosen_and_kept_first() {
    let mut world = World::installed("a b", "replicas: 2");
    world.plant.silence("a");
    world.plant.pass(20);
    world.sync();
    world.check(
        &app("1.0.0", "replicas: 1"),
        "a deferred remove 1>- (offline 20 s), b unchanged 1>1",
    );
}

#[test]
fn too_few_nodes_are_a_warning_that_names_the_misfits() {
    let mut world = World::new("a b:line=paint");
    world.plant.join_with("c", "amd64", r#""line":"press""#);
    world.plant.command(Action::Cordon { node: "c".parse().expect("a name") }).expect("known");
    world.plant.join_with("d", "amd64", r#""line":"press""#);
    world.plant.pass(1);
    world.sync();
    let plan = world.check(
        &app("1.0.0", "replicas: 5\nselector: {line: press}"),
        "d create ->1, c refused ->1 (would fit but is cordoned)",
    );
    assert_eq!(
        plan.warnings,
        ["home: only 1 of 5 replicas have a node: a needs label line=press, device has no such \
          label; b needs label line=press, device has line=paint; c would fit but is cordoned"]
    );
    assert_eq!(plan.refusal, None);
}

#[test]
fn node_that_leaves_is_a_misfit_too() {
    let mut world = World::installed("a b:line=press", "replicas: 2");
    let plan = world.check(
        &app("1.0.0", "replicas: 2\nselector: {line: press}"),
        "a remove 1>-, b unchanged 1>1",
    );
    assert_eq!(
        plan.warnings,
        ["home: only 1 of 2 replicas have a node: a needs label line=press, device has no such \
          label"]
    );
}

#[test]
fn enough_replicas_are_no_reason_to_list_misfits() {
    let mut world = World::new("a b");
    world.plant.command(Action::Cordon { node: "b".parse().expect("a name") }).expect("known");
    world.sync();
    let plan = world.check(&app("1.0.0", "replicas: 1"), "a create ->1");
    assert_eq!(plan.warnings, [""; 0]);
}

#[test]
fn plan_that_can_run_nowhere_is_refused() {
    let world = World::new("a b:line=paint");
    let plan = world.plan(&app("1.0.0", "selector: {line: press}"));
    let reason = "no node fits: a needs label line=press, device has no such label; \
                  b needs label line=press, device has line=paint";
    assert_eq!(texts(&plan.targets), format!("* refused ->1 ({reason})"));
    let refusal = format!("no node can run hello, so nothing was changed: home: {reason}");
    assert_eq!(plan.refusal, Some(refusal));

    let arm = "capacityRequirements: {cpu: {cores: 1, architectures: [arm64]}}";
    let plan = world.plan(&App::new("hello", "1.0.0").needing(arm));
    assert!(plan.refusal.is_some_and(|it| it.contains("home/a: needs")), "{:?}", plan.targets);
}

#[test]
fn selector_that_matches_nothing_removes_nothing_unasked() {
    let world = World::installed("a b", "");
    let plan = world.plan(&app("1.0.0", "selector: {line: press}"));
    assert!(texts(&plan.targets).starts_with("a remove 1>-, b remove 1>-, * refused ->1"));
    assert!(plan.refusal.is_some());
}

#[test]
fn site_without_nodes_takes_it_later() {
    let mut world = World::new("");
    let plan =
        world.check(&app("1.0.0", ""), "* deferred create ->1 (no node has joined the site yet)");
    assert_eq!(plan.refusal, None);
}

#[test]
fn another_version_is_an_update_and_another_file_of_it_a_restart() {
    let mut world = World::installed("a b", "");
    let parameters =
        "parameters: {greeting: {value: hi, targets: [{pointer: G, components: [web]}]}}";
    let text = app("1.0.0", "").text(&crate::kit::home()).replace("parameters: {}", parameters);
    let plan = world.plan_text(Some(text));
    assert_eq!(texts(&plan.targets), "a restart 1>1, b restart 1>1");
    world.check(&app("2.0.0", ""), "a update 1>2, b update 1>2");
}

#[test]
fn delete_lists_every_placement() {
    let world = World::installed("a b", "");
    let plan = world.plan_text(None);
    assert_eq!(texts(&plan.targets), "a remove 1>-, b remove 1>-");
    assert_eq!(plan.refusal, None);
}

#[test]
fn file_that_cannot_be_read_is_refused() {
    let world = World::installed("a", "");
    let plan = world.plan_text(Some("id: 7\n".to_owned()));
    assert!(texts(&plan.targets).starts_with("* refused ->- (the file is not valid: "));
    assert!(plan.refusal.is_some());
}

#[test]
fn quarantined_version_is_refused() {
    let mut world = World::installed("a b", "");
    world.deploy(&app("2.0.0", ""));
    world.plant.report("a", "hello", "failed:exited");
    world.converge();
    world.deploy(&app("1.0.0", ""));
    world.converge();
    let reason = "2.0.0 is quarantined at home (exited, 2 s ago); \
                  release it with `colony quarantine release hello --site home`";
    let plan = world.plan(&app("2.0.0", ""));
    let expected = format!("a refused 1>2 ({reason}), b refused 1>2 ({reason})");
    assert_eq!(texts(&plan.targets), expected);
    assert!(plan.refusal.is_some());
}

#[test]
fn removal_for_a_quarantined_version_says_so() {
    let mut world = World::new("a");
    world.deploy(&app("1.0.0", ""));
    for _ in 0..3 {
        world.plant.report("a", "hello", "failed:exited");
        world.plant.pass(60);
    }
    world.converge();
    world.deploy(&app("2.0.0", ""));
    world.plant.report("a", "hello", "failed:registry-unavailable");
    world.sync();
    let plan = world.plan(&app("1.0.0", ""));
    assert!(
        texts(&plan.targets).starts_with("a remove 2>- (1.0.0 is quarantined at home"),
        "{}",
        texts(&plan.targets)
    );
    let refusal = plan.refusal.expect("it can run nowhere");
    assert!(refusal.contains("nothing was changed: home/a: 1.0.0 is quarantined"), "{refusal}");
}

#[test]
fn policy_of_a_quarantined_version_may_change() {
    let mut world = World::installed("a b", "");
    world.deploy(&app("2.0.0", ""));
    world.plant.report("a", "hello", "failed:exited");
    world.converge();
    let plan = world.plan(&app("2.0.0", "replicas: 1"));
    assert!(
        texts(&plan.targets).starts_with("b remove 1>-, a unchanged 1>2 (2.0.0 is quarantined")
    );
    assert_eq!(plan.refusal, None);
    world.apply(&app("2.0.0", "replicas: 1"), &plan);
}
