//! Which node waits for which, and the events at the end of a rollout.

use colony_core::event::Body;
use colony_core::site::File;
use colony_testkit::{App, Plant, blob, deployment_id};

const CANARY: &str = "strategy: {type: canary, canary: 1, soak: 5m}";

#[test]
fn who_needs_a_place_in_the_step_does_not_hold_up_who_has_one() {
    let mut plant = plant("a b c");
    plant.deploy(&App::new("hello", "1.0.0").with("strategy: {type: all-at-once}"));
    plant.report("b", "hello", "installed");
    plant.report("c", "hello", "installed");
    for _ in 0..3 {
        plant.report("a", "hello", "failed:registry-unavailable");
        plant.pass(40);
    }
    plant.report("a", "hello", "failed:registry-unavailable");
    plant.silence("a");
    plant.pass(16);
    plant.deploy(&App::new("hello", "2.0.0").with(CANARY));
    check(&plant, "a FAILED(install) 1, b UPDATING 2, c INSTALLED 1");
    plant.report("b", "hello", "failed:registry-unavailable");
    plant.wake("a");
    plant.pass(8);
    check(&plant, "a FAILED(install) 1, b UPDATING 2, c INSTALLED 1");
}

#[test]
fn a_rollout_of_one_node_converges_after_its_soak() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0").with(CANARY));
    plant.report("a", "hello", "installed");
    plant.pass(299);
    check_ends(&plant, "");
    plant.pass(2);
    check_ends(&plant, "converged");
}

#[test]
fn it_converges_once() {
    let mut plant = plant("a b");
    plant.deploy(&App::new("hello", "1.0.0").with(CANARY));
    plant.converge();
    plant.pass(301);
    plant.converge();
    let open = plant.site.deployment(&deployment_id("hello")).expect("it is there").rollout().step;
    assert_eq!(open, 1, "the last step stays open");
    plant.report("b", "hello", "installed");
    plant.join("c");
    plant.converge();
    check_ends(&plant, "converged");
}

#[test]
fn what_runs_nowhere_has_not_converged() {
    let mut plant = plant("");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.pass(60);
    check_ends(&plant, "");
}

#[test]
fn a_first_install_is_rolled_back_when_it_is_gone() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    for _ in 0..3 {
        plant.report("a", "hello", "failed:exited");
        check_ends(&plant, "");
        plant.pass(30);
    }
    check(&plant, "a DELETING 1");
    plant.converge();
    check_ends(&plant, "rolled-back");
}

#[test]
fn what_leaves_git_on_its_way_back_is_only_removed() {
    let mut plant = plant("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.deploy(&App::new("hello", "2.0.0"));
    plant.report("a", "hello", "failed:exited");
    plant.undeploy("hello");
    plant.converge();
    check(&plant, "");
    check_ends(&plant, "converged");
}

#[test]
fn the_one_that_leaves_takes_no_name_from_its_successor() {
    let mut plant = plant("a");
    let app = App::new("hello", "1.0.0");
    plant.deploy(&app);
    plant.converge();
    let (old, new) = (deployment_id("hello"), deployment_id("another"));
    let text = app.text(plant.site.name()).replace(old.as_str(), new.as_str());
    let path = "deployments/home/hello.yaml";
    let file = File::read(plant.site.name(), path, &blob(&text), text.as_bytes());
    plant.commit(vec![file]);
    check(&plant, "a DELETING 1, a INSTALLING 1");
    plant.converge();
    check(&plant, "a INSTALLED 1");
    plant.undeploy("hello");
    check(&plant, "a DELETING 1");
}

#[test]
fn who_is_still_leaving_holds_up_no_convergence() {
    let mut plant = plant("a b");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.deploy(&App::new("hello", "2.0.0").on("b"));
    plant.report("b", "hello", "installed");
    check(&plant, "a DELETING 1, b INSTALLED 2");
    check_ends(&plant, "converged, converged");
}

#[test]
fn who_refuses_to_stage_holds_up_no_convergence() {
    let rule = "eligibilityRules:\n  - propertySelector:\n      matchExpressions:\n        \
                - {key: /cpus/0/architecture, operator: In, values: [amd64]}";
    let mut plant = plant("a b");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    plant.join_with("a", "arm64", "");
    let settings = "strategy: {type: blue-green, soak: 0s}";
    plant.deploy(&App::new("hello", "2.0.0").with(settings).needing(rule));
    plant.report("a", "hello", "failed:not-eligible");
    plant.report("b", "hello", "installed");
    plant.report("b", "hello", "installed");
    check(&plant, "a FAILED(update) 2, b INSTALLED 2");
    check_ends(&plant, "converged, converged");
}

fn plant(nodes: &str) -> Plant {
    let mut plant = Plant::new();
    nodes.split_whitespace().for_each(|it| plant.join(it));
    plant
}

/// Compares the events that end a rollout.
#[track_caller]
fn check_ends(plant: &Plant, expected: &str) {
    let end = |body: &Body| {
        let converged = matches!(body, Body::DeploymentConverged { .. }).then_some("converged");
        converged.or(matches!(body, Body::RolledBack { .. }).then_some("rolled-back"))
    };
    let ends = plant.events.iter().filter_map(|it| end(&it.body));
    assert_eq!(ends.collect::<Vec<_>>().join(", "), expected);
}

#[track_caller]
fn check(plant: &Plant, expected: &str) {
    let states = plant.states().replace("hello@", "").replace(".0.0", "");
    assert_eq!(states, expected);
}
