//! Reports the state of the site and its nodes to central: on a change, but at
//! most once a second, and periodically.

use std::time::Duration;

use bytes::Bytes;
use http::Method;

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
        engine: engine(site_node),
        ready,
        reasons,
        progress: vitals.pulls(site, &site_node.name),
    }
}

/// colony's own nodes name their engine in labels of their capabilities.
fn engine(site_node: &SiteNode) -> Option<String> {
    let labels = site_node.capabilities()?.labels();
    let text = |key: &str| labels.get(key).and_then(|it| it.as_str()).map(str::to_owned);
    let kind = text("engine")?;
    Some(text("engine-version").map_or(kind.clone(), |it| format!("{kind} {it}")))
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
