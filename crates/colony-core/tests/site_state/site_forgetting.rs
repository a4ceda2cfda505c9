//! What a site keeps of what it went through, and what it forgets.

use std::collections::BTreeSet;

use colony_core::event::Body;
use colony_core::id::NodeName;
use colony_core::site::{Commit, Content, Input};
use colony_testkit::{App, Plant, commit_id, deployment_id, status};

#[test]
fn what_fails_before_its_soak_goes_back_to_what_was_good_before() {
    let mut plant = went_through("a", &["1.0.0", "2.0.0"]);
    plant.report("a", "hello", "failed:exited");
    check(&plant, "a ROLLINGBACK 1");
}

#[test]
fn another_policy_leaves_what_was_good_before() {
    let mut plant = went_through("a b", &["1.0.0", "2.0.0"]);
    plant.deploy(&hello("2.0.0").with("progressDeadline: 20m"));
    plant.report("a", "hello", "failed:exited");
    plant.converge();
    check(&plant, "a INSTALLED 1, b INSTALLED 1");
}

#[test]
fn file_with_another_policy_alone_is_what_runs() {
    let mut plant = went_through("a", &["1.0.0"]);
    plant.deploy(&hello("1.0.0").with("progressDeadline: 20m"));
    let deployment = plant.site.deployment(&deployment_id("hello")).expect("it is there");
    let placement = plant.site.placement(&plant.placement("a", "hello")).expect("it is there");
    assert_eq!(placement.revisions.target.as_ref(), Some(deployment.accepted()));
    check(&plant, "a INSTALLED 1");
}

#[test]
fn documents_nobody_needs_are_forgotten() {
    let plant = went_through("a", &["1.0.0", "2.0.0", "3.0.0", "4.0.0"]);
    known(&plant, "3 4");
}

#[test]
fn document_of_a_node_that_is_away_is_kept() {
    let mut plant = went_through("a b", &["1.0.0"]);
    plant.silence("b");
    plant.pass(16);
    go_through(&mut plant, &["2.0.0", "3.0.0", "4.0.0"]);
    known(&plant, "1 3 4");
    plant.crash();
    check(&plant, "a INSTALLED 4, b INSTALLED 1");
}

#[test]
fn what_a_node_gave_up_is_no_matter_for_the_next_revision() {
    let mut plant = went_through("a b", &["1.0.0"]);
    plant.deploy(&hello("2.0.0").with("onFailure: rollback-node"));
    plant.report("a", "hello", "failed:exited");
    plant.converge();
    let told = |plant: &Plant| {
        let deployment = plant.site.deployment(&deployment_id("hello")).expect("it is there");
        let good = deployment.last_converged() == Some(deployment.accepted());
        (deployment.rejected().contains_key(&name("a")), good)
    };
    assert_eq!(told(&plant), (true, false));
    go_through(&mut plant, &["3.0.0"]);
    assert_eq!(told(&plant), (false, true), "version 3 is good everywhere");
}

#[test]
fn rollback_is_told_once_for_each_time_git_asks_for_the_bad_one() {
    let mut plant = went_through("a", &["1.0.0"]);
    plant.deploy(&hello("2.0.0"));
    plant.report("a", "hello", "failed:exited");
    plant.converge();
    assert_eq!(rollbacks(&plant), 1);
    plant.deploy(&hello("2.0.0").with("progressDeadline: 20m"));
    assert_eq!(rollbacks(&plant), 1, "it is the same revision");
    go_through(&mut plant, &["3.0.0", "2.0.0"]);
    assert_eq!(rollbacks(&plant), 2);
    check(&plant, "a INSTALLED 3");
}

#[test]
fn device_that_was_set_up_anew_may_count_from_the_start() {
    let mut plant = went_through("a", &[]);
    plant.deploy(&hello("1.0.0"));
    // Its clock was ahead in its former life, and so were its numbers.
    let far = status(&deployment_id("hello"), "installed", plant.version("a"), u64::MAX >> 12);
    plant.must(Input::Status { node: name("a"), status: Box::new(far) });
    plant.report("a", "hello", "failed:disk-full");
    check(&plant, "a INSTALLED 1");
    plant.join("a");
    plant.report("a", "hello", "failed:disk-full");
    check(&plant, "a FAILED(update) 1");
}

#[test]
fn step_says_what_changed_and_for_whom() {
    let mut plant = went_through("a b", &["1.0.0"]);
    let changed = plant.step(Input::Tick).changed;
    assert!(changed.is_empty() && changed.nodes().is_empty(), "{changed:?}");
    let files = vec![hello("2.0.0").file(plant.site.name())];
    let commit = Commit { revision: commit_id(99), base: None, rewritten: false, files };
    let changed = plant.step(Input::Commit(commit)).changed;
    assert!(!changed.is_empty());
    assert_eq!(*changed.nodes(), BTreeSet::from([name("a")]), "b has to wait");
}

#[test]
fn node_is_listed_what_it_is_to_run() {
    let mut plant = went_through("a", &["1.0.0"]);
    let node = name("a");
    let listed = |plant: &Plant| plant.site.site_node(&node).expect("it joined").listed().clone();
    let manifest = plant.site.manifest(&node).expect("a manifest");
    let documents = manifest.documents.iter().map(|it| (it.0.clone(), it.1)).collect();
    assert_eq!(listed(&plant), documents);
    assert_eq!(listed(&plant).len(), 1);
    plant.undeploy("hello");
    assert_eq!(listed(&plant).len(), 0);
}

/// A plant whose nodes got these versions, one after the other.
fn went_through(nodes: &str, versions: &[&str]) -> Plant {
    let mut plant = Plant::new();
    nodes.split_whitespace().for_each(|it| plant.join(it));
    go_through(&mut plant, versions);
    plant
}

fn go_through(plant: &mut Plant, versions: &[&str]) {
    for version in versions {
        plant.deploy(&hello(version));
        plant.converge();
    }
}

fn hello(version: &str) -> App {
    App::new("hello", version)
}

fn name(node: &str) -> NodeName {
    node.parse().expect("a name")
}

fn rollbacks(plant: &Plant) -> usize {
    plant.events.iter().filter(|it| matches!(it.body, Body::RolledBack { .. })).count()
}

/// The versions whose documents are kept.
#[track_caller]
fn known(plant: &Plant, expected: &str) {
    let deployment = plant.site.deployment(&deployment_id("hello")).expect("it is there");
    let is_known = |version: &u32| {
        let file = hello(&format!("{version}.0.0")).file(plant.site.name());
        let Content::Deployment(document) = file.content else { panic!("{file:?}") };
        deployment.document(&document.revision).is_some()
    };
    let versions: Vec<String> = (1..=4).filter(is_known).map(|it| it.to_string()).collect();
    assert_eq!(versions.join(" "), expected);
}

#[track_caller]
fn check(plant: &Plant, expected: &str) {
    let states = plant.states().replace("hello@", "").replace(".0.0", "");
    assert_eq!(states, expected);
}
