//! Sites of a given size.
//!
//! A site has 50 placements on each node and deployments of five replicas, so
//! that nodes and deployments grow together with the placements.

use colony_core::id::PlacementId;
use colony_core::site::{File, Input, Site};
use colony_testkit::{App, Plant, status};

const PER_NODE: usize = 50;
const REPLICAS: usize = 5;

/// Started all at once, so that a whole site can be under way.
const SETTINGS: &str = "replicas: 5\nselector: {zone: north}\nstrategy: {type: all-at-once}";

const CONSTRAINTS: &str = "\
capacityRequirements: {cpu: {cores: 2, architectures: [amd64, arm64]}, memory: 1Gi}
eligibilityRules:
  - propertySelector:
      matchExpressions:
        - {key: /vendor, operator: In, values: [colony]}
        - {key: /otelCollector, operator: In, values: [true]}";

/// A site whose `placements` are all under way.
pub(crate) fn under_way(placements: usize) -> Plant {
    let mut plant = with_nodes(placements / PER_NODE);
    let files = (0..placements / REPLICAS).map(|it| file(it, "1.0.0")).collect();
    plant.commit(files);
    assert_eq!(plant.site.placements().count(), placements, "the shape of the site");
    plant
}

/// The same site when everything is installed.
pub(crate) fn settled(placements: usize) -> Plant {
    let mut plant = under_way(placements);
    plant.converge();
    plant
}

/// A site in the middle of a rolling update of one deployment on every node.
pub(crate) fn updating(placements: usize) -> Plant {
    let mut plant = with_nodes(placements);
    plant.deploy(&App::new("wide", "1.0.0").with("strategy: {type: all-at-once}"));
    plant.converge();
    plant.deploy(&App::new("wide", "2.0.0"));
    plant
}

/// A ready site with `nodes` nodes and nothing on them.
pub(crate) fn with_nodes(nodes: usize) -> Plant {
    let mut plant = Plant::new();
    for index in 0..nodes {
        plant.join_with(&node(index), "amd64", r#""zone":"north""#);
    }
    plant
}

pub(crate) fn node(index: usize) -> String {
    format!("node-{index:05}")
}

pub(crate) fn name(index: usize) -> String {
    format!("app-{index:05}")
}

pub(crate) fn file(index: usize, version: &str) -> File {
    let app = App::new(&name(index), version).with(SETTINGS).needing(CONSTRAINTS);
    app.file(&"home".parse().expect("a name"))
}

/// The report that `id` is installed, as its node would send it.
pub(crate) fn installed(site: &Site, id: &PlacementId) -> Input {
    let adopted = site.site_node(&id.node).map_or(1, |it| it.version());
    let status = status(&id.deployment, "installed", adopted, 1_000_000);
    Input::Status { node: id.node.clone(), status: Box::new(status) }
}

/// `count` placements spread over the whole site.
pub(crate) fn spread(site: &Site, count: usize) -> Vec<PlacementId> {
    let all: Vec<&PlacementId> = site.placements().map(|it| &it.id).collect();
    let stride = (all.len() / count).max(1);
    all.into_iter().step_by(stride).take(count).cloned().collect()
}
