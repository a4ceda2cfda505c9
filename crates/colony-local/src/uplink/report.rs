//! Tells CO how the site and its nodes are: on a change, but at most once a
//! second, and now and then.

use std::time::Duration;

use bytes::Bytes;
use http::Method;

use colony_api::site::{NodeHealth, NodesReport};
use colony_core::event::Presence;
use colony_core::site::{Member, Site};
use colony_core::time::Now;
use colony_task::{Paced, Reconcile};

use crate::brain::{Brain, Denied};
use crate::central::Central;
use crate::health::Health;
use crate::uplink::heed;
use crate::vitals::Vitals;

const PERIOD: Duration = Duration::from_secs(30);
/// The shortest time between two reports.
const PACE: Duration = Duration::from_secs(1);

/// What does not change while the role runs.
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
    /// Changes come in crowds.
    pub(crate) fn paced(self) -> Paced<Report> {
        Paced::new(self, PACE)
    }
}

/// What the site reports of itself and its nodes.
pub(crate) async fn nodes_report(
    brain: &Brain,
    health: &Health,
    vitals: &Vitals,
    about: &About,
) -> Result<NodesReport, Denied> {
    let readiness = health.readiness(brain).await;
    let nodes = brain.read(|site, now| nodes(site, vitals, now)).await?;
    let About { urls, ca, ca_pem, domain } = about.clone();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let (ready, reasons) = (readiness.ready, readiness.reasons);
    Ok(NodesReport { ready, reasons, version, urls, ca, ca_pem, domain, nodes })
}

fn nodes(site: &Site, vitals: &Vitals, now: Now) -> Vec<NodeHealth> {
    vitals.forget(site);
    site.members().map(|it| node(site, it, vitals, now)).collect()
}

fn node(site: &Site, member: &Member, vitals: &Vitals, now: Now) -> NodeHealth {
    let heard = member.presence() != Presence::Joined;
    let (ready, reasons) = vitals.readiness(site, &member.name);
    let ago = now.wall.since(member.last_heard()).as_millis();
    NodeHealth {
        name: member.name.clone(),
        last_heard_ms_ago: heard.then(|| u64::try_from(ago).unwrap_or(u64::MAX)),
        engine: engine(member),
        ready,
        reasons,
        progress: vitals.pulls(site, &member.name),
    }
}

/// A node of ours names its engine in labels of its capabilities.
fn engine(member: &Member) -> Option<String> {
    let labels = member.capabilities()?.labels();
    let text = |key: &str| labels.get(key).and_then(|it| it.as_str()).map(str::to_owned);
    let kind = text("engine")?;
    Some(text("engine-version").map_or(kind.clone(), |it| format!("{kind} {it}")))
}

impl Reconcile for Report {
    const NAME: &'static str = "report";

    async fn reconcile(&mut self) -> anyhow::Result<Duration> {
        let report = nodes_report(&self.brain, &self.health, &self.vitals, &self.about).await?;
        let body = Bytes::from(serde_json::to_vec(&report)?);
        let told = self.central.tell(Method::PUT, "/nodes", body).await;
        heed(&self.brain, &self.health, told).await?;
        Ok(PERIOD)
    }
}
