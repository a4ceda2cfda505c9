//! Which nodes get a deployment, and which keep it.

use colony_core::site::{Action, Input};
use colony_testkit::{App, Plant, deployment_id};

#[test]
fn a_node_that_is_heard_is_chosen_before_one_that_is_not() {
    let mut plant = plant("a b");
    plant.silence("a");
    plant.pass(16);
    plant.deploy(&hello("replicas: 1"));
    check(&plant, "b INSTALLING 1");
}

#[test]
fn who_runs_it_keeps_it_before_who_does_not() {
    let mut plant = plant("a b");
    plant.deploy(&hello("strategy: {type: all-at-once}\nreplicas: 2"));
    plant.report("b", "hello", "installed");
    check(&plant, "a INSTALLING 1, b INSTALLED 1");
    plant.deploy(&hello("replicas: 1"));
    check(&plant, "a DELETING 1, b INSTALLED 1");
}

#[test]
fn who_is_heard_keeps_it_before_who_is_not() {
    let mut plant = plant("a b");
    plant.deploy(&hello("replicas: 2"));
    plant.converge();
    plant.silence("a");
    plant.pass(16);
    plant.deploy(&hello("replicas: 1"));
    check(&plant, "a DELETING 1, b INSTALLED 1");
}

#[test]
fn labels_that_are_no_texts_are_compared_as_they_are_written() {
    for (selector, expected) in [
        ("gpu: 'true'", "a INSTALLING 1"),
        ("gpu: 'false'", "b INSTALLING 1"),
        ("line: '4'", "a INSTALLING 1"),
        ("line: '5'", "b INSTALLING 1"),
        ("gpu: yes", ""),
        ("line: four", ""),
    ] {
        let mut plant = Plant::new();
        plant.join_with("a", "amd64", r#""gpu":true,"line":4"#);
        plant.join_with("b", "amd64", r#""gpu":false,"line":5"#);
        plant.deploy(&hello(&format!("selector: {{{selector}}}")));
        check(&plant, expected);
    }
}

#[test]
fn what_leaves_the_site_gets_no_more_nodes() {
    let mut plant = plant("a");
    plant.deploy(&hello(""));
    plant.converge();
    plant.undeploy("hello");
    plant.join("b");
    check(&plant, "a DELETING 1");
    let deployment = plant.site.deployment(&deployment_id("hello")).expect("it is leaving");
    let nodes: Vec<&str> = deployment.nodes().iter().map(|it| it.as_str()).collect();
    assert_eq!(nodes, ["a"]);
}

#[test]
fn file_that_comes_back_finds_every_node_that_still_has_it() {
    let mut plant = plant("a b");
    plant.deploy(&hello("replicas: 2"));
    plant.converge();
    plant.deploy(&hello("replicas: 1"));
    plant.command(Action::Cordon { node: "b".parse().expect("a name") }).expect("known");
    plant.undeploy("hello");
    check(&plant, "a DELETING 1, b DELETING 1");
    plant.deploy(&hello("strategy: {type: all-at-once}\nreplicas: 2"));
    check(&plant, "a INSTALLING 1, b INSTALLING 1");
}

#[test]
fn file_that_comes_back_after_a_takeover_finds_the_node_that_still_has_it() {
    let mut seed = colony_testkit::seed(&hello(""), "DELETING");
    seed.nodes[0].cordoned = true;
    seed.deployments[0].withdrawn = true;
    let mut plant = Plant::unseeded(1);
    plant.must(Input::Seed(Box::new(seed)));
    plant.deploy(&hello(""));
    check(&plant, "a PENDING 1");
}

fn plant(nodes: &str) -> Plant {
    let mut plant = Plant::new();
    nodes.split_whitespace().for_each(|it| plant.join(it));
    plant
}

fn hello(settings: &str) -> App {
    App::new("hello", "1.0.0").with(settings)
}

#[track_caller]
fn check(plant: &Plant, expected: &str) {
    let states = plant.states().replace("hello@", "").replace(".0.0", "");
    assert_eq!(states, expected);
}
