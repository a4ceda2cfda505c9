//! What a node is offered and asked, and which of its words count.

use colony_core::event::Body;
use colony_core::id::NodeName;
use colony_core::site::{Action, Have, Input};
use colony_margo::{DeploymentStatus, Digest};
use colony_testkit::{App, Plant, deployment_id};

#[test]
fn what_is_removed_is_offered_no_more() {
    let mut plant = started();
    offered(&plant, 2, 1);
    plant.undeploy("hello");
    offered(&plant, 3, 0);
    plant.report_at("a", "hello", "removed", 2);
    check(&plant, "a DELETING 1");
    plant.report_at("a", "hello", "removed", 3);
    check(&plant, "");
}

#[test]
fn a_node_that_holds_something_else_under_our_version_gets_a_higher_one() {
    holds(2, Some("other"), 3, "a UNKNOWN(install) 1");
}

#[test]
fn a_node_that_holds_what_it_was_offered_gets_nothing_new() {
    holds(2, Some("own"), 2, "a INSTALLING 1");
    holds(2, None, 2, "a INSTALLING 1");
    holds(1, Some("other"), 2, "a INSTALLING 1");
}

#[test]
fn a_node_is_asked_for_what_is_not_known_of_it() {
    let mut plant = started();
    let node = name();
    assert!(plant.site.report_requests(&node).is_empty());
    plant.crash();
    let asks = plant.site.report_requests(&node);
    assert!(asks.capabilities && asks.deployments.is_empty() && !asks.is_empty());
    plant.must(Input::Joined(node.clone()));
    plant.join("a");
    let asks = plant.site.report_requests(&node);
    assert!(!asks.capabilities && !asks.is_empty());
    assert_eq!(asks.deployments, [deployment_id("hello")]);
    plant.report("a", "hello", "installed");
    assert!(plant.site.report_requests(&node).is_empty());
}

#[test]
fn node_that_holds_an_offer_and_never_reported_it_is_asked() {
    let mut plant = started();
    let asked = |plant: &Plant| plant.site.report_requests(&name()).deployments;
    plant.poll_with("a", 1);
    assert_eq!(asked(&plant), [], "the node does not hold the offer yet");
    plant.poll_with("a", 2);
    assert_eq!(asked(&plant), [deployment_id("hello")]);
    plant.report("a", "hello", "installing");
    assert_eq!(asked(&plant), [], "the node has reported");
}

#[test]
fn node_that_joins_again_with_its_old_state_is_asked_for_what_it_runs() {
    let mut plant = started();
    let manifest = |plant: &Plant| plant.site.manifest(&name()).expect("a manifest").etag;
    let before = manifest(&plant);
    plant.converge();
    plant.command(Action::Retire { node: name() }).expect("it is retired");
    plant.join("a");
    check(&plant, "a INSTALLING 1");
    assert_eq!(manifest(&plant), before, "the node holds it already and has no news");
    plant.poll_with("a", plant.version("a"));
    assert_eq!(plant.site.report_requests(&name()).deployments, [deployment_id("hello")]);
    plant.report("a", "hello", "installed");
    check(&plant, "a INSTALLED 1");
}

#[test]
fn a_report_of_an_older_offer_is_told_once() {
    let mut plant = started();
    stale(&plant, "");
    plant.report_at("a", "hello", "installed", 1);
    plant.report_at("a", "hello", "installed", 1);
    stale(&plant, "installed at 1");
    plant.report_at("a", "hello", "failed:exited", 1);
    stale(&plant, "installed at 1, failed at 1");
    check(&plant, "a INSTALLING 1");
}

#[test]
fn the_component_that_failed_says_why() {
    let mut plant = started();
    let error = |it: &str| format!(r#""error":{{"code":"{it}","source":"s","message":"m"}}"#);
    let json = format!(
        r#"{{"deploymentId":"{}","adoptedManifestVersion":2,"status":{{"state":"failed",{}}},
        "components":[{{"name":"db","state":"installed",{}}},{{"name":"web","state":"failed",{}}}]}}"#,
        deployment_id("hello"),
        error("engine-error"),
        error("unhealthy"),
        error("exited")
    );
    let status = DeploymentStatus::parse(json.as_bytes()).expect("a status").value;
    plant.must(Input::Status { node: name(), status: Box::new(status) });
    let placement = plant.site.placement(&plant.placement("a", "hello")).expect("it is there");
    let failure = placement.failure.as_ref().expect("it failed");
    assert_eq!(failure.code.as_str(), "exited");
}

#[test]
fn what_is_staged_takes_nothing_down() {
    let mut plant = started();
    let active_runs = |plant: &Plant| {
        plant
            .site
            .placement(&plant.placement("a", "hello"))
            .expect("it is there")
            .staging()
            .active_runs()
    };
    assert!(!active_runs(&plant));
    plant.converge();
    plant.deploy(&App::new("hello", "2.0.0").with("strategy: {type: blue-green, soak: 0s}"));
    assert!(active_runs(&plant), "2.0.0 is started beside 1.0.0");
    plant.report("a", "hello", "installed");
    check(&plant, "a UPDATING 2");
    assert!(!active_runs(&plant), "2.0.0 takes over");
}

/// The first attempt is under way.
fn started() -> Plant {
    let mut plant = Plant::new();
    plant.join("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant
}

fn name() -> NodeName {
    "a".parse().expect("a name")
}

/// The version of the manifest, and how many documents it lists.
#[track_caller]
fn offered(plant: &Plant, version: u64, documents: usize) {
    let manifest = plant.site.manifest(&name()).expect("a manifest");
    assert_eq!((manifest.version, manifest.documents.len()), (version, documents));
}

/// A node that was offered version 2 says that it holds this.
#[track_caller]
fn holds(version: u64, content: Option<&str>, expected: u64, states: &str) {
    let mut plant = started();
    let own = plant.site.manifest(&name()).expect("a manifest").etag;
    let etag = content.map(|it| if it == "own" { own } else { Digest::of(it.as_bytes()) });
    plant.must(Input::Heard { node: name(), have: Some(Have { version, etag }) });
    assert_eq!(plant.version("a"), expected);
    check(&plant, states);
    let is_raised = plant.events.iter().any(|it| matches!(it.body, Body::VersionRaised { .. }));
    assert_eq!(is_raised, expected > 2);
}

/// The stale reports, as recorded in events.
#[track_caller]
fn stale(plant: &Plant, expected: &str) {
    let report = |body: &Body| {
        let Body::StaleReport { adopted, state, .. } = body else { return None };
        Some(format!("{state} at {adopted}"))
    };
    let reports: Vec<String> = plant.events.iter().filter_map(|it| report(&it.body)).collect();
    assert_eq!(reports.join(", "), expected);
}

#[track_caller]
fn check(plant: &Plant, expected: &str) {
    let states = plant.states().replace("hello@", "").replace(".0.0", "");
    assert_eq!(states, expected);
}
