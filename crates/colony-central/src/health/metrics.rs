//! The metrics of this role, in OpenMetrics text.

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The counters, and the registry that prints them.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    registry: Registry,
    /// Events of sites that were stored.
    pub events: Counter,
    /// Batches that were refused: fenced, diverged, torn.
    pub batches_refused: Counter,
    /// Batches of changes written to Git.
    pub commits: Counter,
    /// Changes that Git rejected.
    pub changes_refused: Counter,
    pub joins: Counter,
    pub sites: Gauge,
    pub sites_silent: Gauge,
    pub nodes: Gauge,
    pub nodes_online: Gauge,
    pub placements: Gauge,
    pub placements_failed: Gauge,
    pub changes_open: Gauge,
    pub ready: Gauge,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let mut metrics = Metrics::default();
        let mut registry = Registry::with_prefix("colony_central");
        let counters = [
            ("events_stored", "Events of sites that were stored", &metrics.events),
            ("batches_refused", "Batches that were refused", &metrics.batches_refused),
            ("git_batches", "Batches of changes written to Git", &metrics.commits),
            ("changes_refused", "Changes that Git rejected", &metrics.changes_refused),
            ("joins", "Orchestrators that joined", &metrics.joins),
        ];
        for (name, help, counter) in counters {
            registry.register(name, help, counter.clone());
        }
        let gauges = [
            ("sites", "Sites of the fleet", &metrics.sites),
            ("sites_silent", "Sites that do not connect", &metrics.sites_silent),
            ("nodes", "Nodes of all sites", &metrics.nodes),
            ("nodes_online", "Nodes whose lease runs", &metrics.nodes_online),
            ("placements", "Deployments on nodes", &metrics.placements),
            ("placements_failed", "Placements that are FAILED", &metrics.placements_failed),
            ("changes_open", "Changes that wait for Git", &metrics.changes_open),
            ("ready", "Whether this role can do its job", &metrics.ready),
        ];
        for (name, help, gauge) in gauges {
            registry.register(name, help, gauge.clone());
        }
        metrics.registry = registry;
        metrics
    }

    pub(crate) fn print(&self) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        encode(&mut text, &self.registry).ok();
        text
    }
}
