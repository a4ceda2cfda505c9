//! `/metrics` of a node, in OpenMetrics text.

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::brain::Brain;
use crate::manager::Manager;

/// Measured on request: nothing is counted in between.
pub(crate) fn render(brain: &Brain, manager: &Manager, engine: bool) -> String {
    let mut registry = Registry::with_prefix("colony_node");
    let mut set = |name: &str, help: &str, value: i64| {
        let gauge = Gauge::<i64>::default();
        gauge.set(value);
        registry.register(name, help, gauge);
    };
    let count = |it: usize| i64::try_from(it).unwrap_or(i64::MAX);
    set("deployments", "Deployments the manifest lists", count(brain.wanted_count()));
    set("reports_open", "Reports not taken by the manager", count(brain.reports().len()));
    let version = brain.accepted_version_and_etag().0.unwrap_or(0);
    let version = i64::try_from(version).unwrap_or(i64::MAX);
    set("manifest_version", "Version of the accepted manifest", version);
    set(
        "site_up",
        "Whether the site's orchestrator answered last",
        i64::from(manager.is_reachable()),
    );
    set("engine_up", "Whether the container engine answers", i64::from(engine));
    let mut text = String::new();
    // Writing to a text cannot fail.
    let _ = encode(&mut text, &registry);
    text
}
