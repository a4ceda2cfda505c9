//! Reports the state of the site and its nodes to central: on a change, but at
//! most once a second, and periodically.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::Value;

use colony_api::site::{NodeHealth, NodesReport};
use colony_core::event::Presence;
use colony_core::site::{Site, SiteNode};
use colony_core::time::Now;
use colony_process::{Paced, Reconcile};

use crate::brain::{Brain, BrainError};
use crate::health::Health;
use crate::health::vitals::Vitals;
use crate::uplink::central::Central;
use crate::uplink::record_result;

const PERIOD: Duration = Duration::from_secs(30);
/// The shortest time between two reports.
const PACE: Duration = Duration::from_secs(1);

/// Facts that do not change while the role runs.
#[derive(Debug, Clone)]
pub(crate) struct About {
    pub urls: Vec<String>,
    pub ca: String,
    pub ca_pem: String,
    pub domain: String,
}

#[derive(Debug)]
pub(crate) struct Report {
    pub brain: Brain,
    pub health: Health,
    pub central: Central,
    pub vitals: Vitals,
    pub about: About,
}

impl Report {
    /// Limits the rate, because changes come in bursts.
    pub(crate) fn paced(self) -> Paced<Report> {
        Paced::new(self, PACE)
    }
}

/// The report about the site and its nodes.
pub(crate) async fn nodes_report(
    brain: &Brain,
    health: &Health,
    vitals: &Vitals,
    about: &About,
) -> Result<NodesReport, BrainError> {
    let readiness = health.readiness(brain).await;
    let nodes = brain.read(|site, now| nodes(site, vitals, now)).await?;
    let About { urls, ca, ca_pem, domain } = about.clone();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let (ready, reasons) = (readiness.ready, readiness.reasons);
    Ok(NodesReport { ready, reasons, version, urls, ca, ca_pem, domain, nodes })
}

fn nodes(site: &Site, vitals: &Vitals, now: Now) -> Vec<NodeHealth> {
    vitals.forget(site);
    site.site_nodes().map(|it| node(site, it, vitals, now)).collect()
}

fn node(site: &Site, site_node: &SiteNode, vitals: &Vitals, now: Now) -> NodeHealth {
    let heard = site_node.presence() != Presence::Joined;
    let (ready, reasons) = vitals.readiness(site, &site_node.name);
    let ago = now.wall.since(site_node.last_heard()).as_millis();
    NodeHealth {
        name: site_node.name.clone(),
        last_heard_ms_ago: heard.then(|| u64::try_from(ago).unwrap_or(u64::MAX)),
        engine: site_node.capabilities().and_then(|it| engine(it.labels())),
        ready,
        reasons,
        progress: vitals.pulls(site, &site_node.name),
    }
}

/// colony's own nodes name their engines in labels of their capabilities: a
/// text, or a list if there are several, with the versions in the same order.
fn engine(labels: &BTreeMap<String, Value>) -> Option<String> {
    let texts = |key: &str| -> Vec<&str> {
        match labels.get(key) {
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
            one => one.and_then(Value::as_str).into_iter().collect(),
        }
    };
    let versions = texts("engine-version");
    let engines = texts("engine").into_iter().enumerate();
    let named = engines.map(|(at, kind)| match versions.get(at) {
        Some(version) => format!("{kind} {version}"),
        None => kind.to_owned(),
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| named.join(", "))
}

impl Reconcile for Report {
    const NAME: &'static str = "report";

    async fn reconcile(&mut self) -> anyhow::Result<Duration> {
        let report = nodes_report(&self.brain, &self.health, &self.vitals, &self.about).await?;
        let body = Bytes::from(serde_json::to_vec(&report)?);
        let told = self.central.send_only(Method::PUT, "/nodes", body).await;
        record_result(&self.brain, &self.health, told).await?;
        Ok(PERIOD)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_engines_of_a_node_are_shown() {
        check(json!({}), None);
        check(json!({ "engine": "docker" }), Some("docker"));
        check(json!({ "engine": "docker", "engine-version": "20.10" }), Some("docker 20.10"));
        let both =
            json!({ "engine": ["docker", "kubernetes"], "engine-version": ["20.10", "1.20"] });
        check(both, Some("docker 20.10, kubernetes 1.20"));
    }

    #[track_caller]
    fn check(labels: Value, expected: Option<&str>) {
        let labels: BTreeMap<String, Value> = serde_json::from_value(labels).unwrap();
        assert_eq!(engine(&labels).as_deref(), expected);
    }
}
