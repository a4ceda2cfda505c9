//! `/metrics`: the site in numbers, collected on request.

use std::collections::BTreeMap;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use colony_core::event::Presence;
use colony_core::margo::Problem;
use colony_core::site::Site;

use crate::brain::Brain;
use crate::health::Health;
use crate::problem;

pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Labels = Vec<(&'static str, String)>;

#[derive(Debug, Default)]
struct Numbers {
    ready: bool,
    placements: BTreeMap<&'static str, i64>,
    nodes: BTreeMap<&'static str, i64>,
    deployments: i64,
    refused: i64,
    events: i64,
}

pub(crate) async fn text(brain: &Brain, health: &Health) -> Result<String, Problem> {
    let numbers = brain.read(|site, _| count(site)).await.map_err(problem::of_brain)?;
    let unsent = numbers.events - i64::try_from(health.next_unsent()).unwrap_or(0);
    let mut registry = Registry::with_prefix("colony_local");
    single(&mut registry, "ready", "1 if the site serves manifests", i64::from(numbers.ready));
    single(&mut registry, "deployments", "deployments in Git", numbers.deployments);
    single(&mut registry, "files_refused", "files in Git that cannot be used", numbers.refused);
    single(&mut registry, "events", "the number of the next event", numbers.events);
    single(&mut registry, "events_unsent", "events the central one has not", unsent.max(0));
    let away = i64::from(health.central_is_away());
    single(&mut registry, "central_away", "1 if the central one does not answer", away);
    family(&mut registry, "placements", "placements by state", "state", numbers.placements);
    family(&mut registry, "nodes", "nodes by presence", "presence", numbers.nodes);
    let mut text = String::new();
    encode(&mut text, &registry).map_err(|it| problem::internal("write the metrics", &it))?;
    Ok(text)
}

fn count(site: &Site) -> Numbers {
    let mut numbers = Numbers {
        ready: site.is_ready(),
        deployments: i64::try_from(site.deployments().count()).unwrap_or(i64::MAX),
        refused: i64::try_from(site.refused_files().len()).unwrap_or(i64::MAX),
        events: i64::try_from(site.log().next).unwrap_or(i64::MAX),
        ..Numbers::default()
    };
    for placement in site.placements() {
        *numbers.placements.entry(placement.state().name()).or_default() += 1;
    }
    for site_node in site.site_nodes() {
        *numbers.nodes.entry(presence(site_node.presence())).or_default() += 1;
    }
    numbers
}

fn single(registry: &mut Registry, name: &str, help: &str, value: i64) {
    let gauge = Gauge::<i64>::default();
    gauge.set(value);
    registry.register(name, help, gauge);
}

fn family(
    registry: &mut Registry,
    name: &str,
    help: &str,
    label: &'static str,
    values: BTreeMap<&'static str, i64>,
) {
    let family = Family::<Labels, Gauge>::default();
    for (key, value) in values {
        family.get_or_create(&vec![(label, key.to_owned())]).set(value);
    }
    registry.register(name, help, family);
}

fn presence(presence: Presence) -> &'static str {
    match presence {
        Presence::Joined => "joined",
        Presence::Online => "online",
        Presence::Suspect => "suspect",
        Presence::Offline => "offline",
    }
}
