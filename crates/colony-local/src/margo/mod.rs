//! The Margo interface of the site: passes requests of nodes to the core and
//! responds from its state.
//!
//! A node asks for its manifest by a long poll; the response also carries the
//! site's requests to the node (`asks`: reports, logs, health), because only
//! nodes open connections. `Manager` is the trait that `colony_wfm` serves.

mod ask_throttle;
mod enrollment;
mod keys;
mod served_manifests;
#[cfg(test)]
mod tests;

use std::str::FromStr;
use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use colony_core::id::NodeName;
use colony_core::margo::{
    Capabilities, DeploymentId, DeploymentStatus, DeviceId, Digest, Problem, ProblemType,
};
use colony_core::site::{self, Input, NodeManifest, Site};
use colony_core::time::Now;
use colony_wfm::{
    CurrentManifest, Have, Joined, LogAnswer, Manager, ManagerRequests, NodeReport, SpiffeId,
};

use crate::brain::{Brain, BrainError};
use crate::health::vitals::Vitals;
use crate::logs::Logs;
use crate::problem;
use ask_throttle::AskThrottle;
pub(crate) use enrollment::Enrollment;
pub(crate) use keys::Keys;
use served_manifests::ServedManifests;

/// The site as its nodes see it.
#[derive(Debug)]
pub(crate) struct NodeApi {
    brain: Brain,
    logs: Logs,
    vitals: Vitals,
    enrollment: Arc<Enrollment>,
    stop: CancellationToken,
    served: ServedManifests,
    throttle: AskThrottle,
}

impl NodeApi {
    pub(crate) fn new(
        brain: Brain,
        logs: Logs,
        vitals: Vitals,
        enrollment: Arc<Enrollment>,
        stop: CancellationToken,
    ) -> NodeApi {
        let (served, throttle) = (ServedManifests::default(), AskThrottle::default());
        NodeApi { brain, logs, vitals, enrollment, stop, served, throttle }
    }

    /// Records that the node was in contact, once for each request that arrives (a
    /// long poll is evaluated several times). A fenced orchestrator
    /// records nothing and keeps serving its last state.
    async fn record_contact(
        &self,
        node: &NodeName,
        have: Option<site::Have>,
    ) -> Result<(), Problem> {
        if !self.throttle.take_arrival(node) {
            return Ok(());
        }
        match self.brain.step(Input::Heard { node: node.clone(), have }).await {
            Ok(()) | Err(BrainError::Refused(site::Refused::Fenced { .. })) => Ok(()),
            Err(error) => Err(problem::of_brain(error)),
        }
    }

    async fn read<T>(&self, read: impl FnOnce(&Site, Now) -> T) -> Result<T, Problem> {
        self.brain.read(read).await.map_err(problem::of_brain)
    }

    /// The manifest of the node; without its bytes if the node has it.
    fn manifest_or_unchanged(
        &self,
        site: &Site,
        node: &NodeName,
        have: &Have,
    ) -> Result<CurrentManifest, site::Refused> {
        let version = site.site_node(node).map_or(0, site::SiteNode::version);
        let has = |etag: Digest| have.etag.as_deref() == Some(etag.to_string().as_str());
        if let Some(etag) = self.served.etag(node, version).filter(|it| has(*it)) {
            self.served.clear(node, version, etag);
            return Ok(CurrentManifest {
                bytes: Vec::new(),
                etag,
                asks: ManagerRequests::default(),
            });
        }
        let manifest = site.manifest(node)?;
        let (bytes, etag) = (manifest.bytes.clone(), manifest.etag);
        if has(etag) {
            self.served.clear(node, version, etag);
        } else {
            self.served.show(node, manifest);
            colony_process::fail::hit(colony_process::fail::Point::LocalPollAnswered);
        }
        Ok(CurrentManifest { bytes, etag, asks: ManagerRequests::default() })
    }

    /// The requests to send with the next response.
    fn asks(&self, site: &Site, node: &NodeName, now: Now) -> ManagerRequests {
        let reports = site.report_requests(node);
        let asks = ManagerRequests {
            capabilities: reports.capabilities,
            deployments: reports.deployments,
            logs: self.logs.open_for(node, now.mono),
            renew: false,
            health: !self.vitals.has(node),
        };
        self.throttle.due(node, asks, now.mono)
    }

    /// Searches the current manifest for content that `ServedManifests` does not
    /// have.
    async fn find_in_manifest<T>(
        &self,
        node: &NodeName,
        find: impl FnOnce(&NodeManifest) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let manifest = self.read(|site, _| site.manifest(node)).await?;
        let manifest = manifest.map_err(|it| problem::refused(&it))?;
        Ok(find(&manifest))
    }
}

#[async_trait]
impl Manager for NodeApi {
    fn accepts(&self, id: &SpiffeId, key: Option<Digest>) -> Result<String, Problem> {
        let node = self.enrollment.client(id)?;
        let notifiers = self.brain.notifiers();
        if !notifiers.is_seeded() {
            return Err(problem::later(2, "what belongs to this site is not known yet"));
        }
        if !notifiers.has(&node) {
            let unknown = site::Refused::UnknownNode(node);
            return Err(problem::refused(&unknown));
        }
        self.enrollment.check_key(&node, key)?;
        self.throttle.arrived(&node);
        Ok(node.into())
    }

    async fn manifest(&self, client: &str, have: Have) -> Result<CurrentManifest, Problem> {
        if self.stop.is_cancelled() {
            return Err(problem::of_brain(BrainError::Stopping));
        }
        let node = node_name(client)?;
        let etag = have.etag.as_deref().and_then(|it| it.parse().ok());
        let reported = have.version.map(|version| site::Have { version, etag });
        self.record_contact(&node, reported).await?;
        let respond = |site: &Site, now: Now| {
            let held = self.manifest_or_unchanged(site, &node, &have)?;
            Ok(CurrentManifest { asks: self.asks(site, &node, now), ..held })
        };
        self.read(respond).await?.map_err(|it: site::Refused| problem::refused(&it))
    }

    async fn changed(&self, client: &str) {
        match node_name(client) {
            Ok(node) => self.brain.notifiers().node_changed(&node).await,
            Err(_) => std::future::pending().await,
        }
    }

    async fn document(&self, client: &str, id: &str, digest: &Digest) -> Result<Vec<u8>, Problem> {
        let node = node_name(client)?;
        self.record_contact(&node, None).await?;
        let missing = || {
            let what = format!("no deployment {id} with this digest is assigned to {client}");
            Problem::new(ProblemType::DeploymentNotFound).detail(what)
        };
        let id = DeploymentId::from_str(id).map_err(|_| missing())?;
        colony_process::fail::hit(colony_process::fail::Point::LocalDocumentAnswered);
        if let Some(found) = self.served.document(&node, &id, digest) {
            return Ok(found);
        }
        let found =
            self.find_in_manifest(&node, |it| served_manifests::document(it, &id, digest)).await?;
        found.ok_or_else(missing)
    }

    async fn bundle(&self, client: &str, digest: &Digest) -> Result<Vec<u8>, Problem> {
        let node = node_name(client)?;
        self.record_contact(&node, None).await?;
        if let Some(found) = self.served.bundle(&node, digest) {
            return Ok(found);
        }
        let found = self.find_in_manifest(&node, |it| served_manifests::bundle(it, digest)).await?;
        found.ok_or_else(|| Problem::new(ProblemType::InvalidBundle))
    }

    async fn capabilities_put(
        &self,
        client: &str,
        device: DeviceId,
        body: Capabilities,
    ) -> Result<bool, Problem> {
        let node = node_name(client)?;
        if device.as_str() != client || body.id() != &device {
            let detail = format!("`{client}` speaks for itself only, not for `{device}`");
            return Err(Problem::new(ProblemType::NotAuthorized).detail(detail));
        }
        let known =
            |site: &Site, _| site.site_node(&node).is_some_and(|it| it.capabilities().is_some());
        let created = !self.read(known).await?;
        let input = Input::Capabilities(node, Box::new(body));
        self.brain.step(input).await.map_err(problem::of_brain)?;
        Ok(created)
    }

    async fn capabilities_delete(&self, client: &str, device: DeviceId) -> Result<(), Problem> {
        if device.as_str() != client {
            return Err(Problem::new(ProblemType::DeviceNotFound));
        }
        let detail = "a node leaves its site by `colony node retire`";
        Err(Problem::new(ProblemType::NotAuthorized).detail(detail))
    }

    async fn status(&self, client: &str, status: DeploymentStatus) -> Result<(), Problem> {
        let node = node_name(client)?;
        if status.device_id.as_ref().is_some_and(|it| it.as_str() != client) {
            return Err(Problem::new(ProblemType::DeviceNotFound));
        }
        let input = Input::Status { node, status: Box::new(status) };
        self.brain.step(input).await.map_err(problem::of_brain)?;
        colony_process::fail::hit(colony_process::fail::Point::LocalReportStored);
        Ok(())
    }

    async fn logs(&self, client: &str, request: &str, answer: LogAnswer) -> Result<(), Problem> {
        let node = node_name(client)?;
        self.record_contact(&node, None).await?;
        // A request that is no longer open is not the node's fault.
        self.logs.answered(&node, request, answer);
        Ok(())
    }

    async fn health(&self, client: &str, report: NodeReport) -> Result<(), Problem> {
        let node = node_name(client)?;
        self.record_contact(&node, None).await?;
        if self.vitals.put(&node, report) {
            self.brain.notifiers().nodes.wake();
            self.brain.notifiers().events.wake();
        }
        Ok(())
    }

    async fn renew(&self, client: &str, csr: &str) -> Result<Joined, Problem> {
        let node = node_name(client)?;
        self.record_contact(&node, None).await?;
        self.enrollment.renew(&node, csr).await
    }
}

fn node_name(client: &str) -> Result<NodeName, Problem> {
    client.parse().map_err(|error: colony_core::id::NameError| {
        Problem::new(ProblemType::NotAuthorized).detail(error.to_string())
    })
}
