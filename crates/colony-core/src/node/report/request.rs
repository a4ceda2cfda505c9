//! The local orchestrator requests reports that were lost or never sent.
//!
//! If the local orchestrator lost its memory, or the node lost its disk, the
//! site would wait for reports that the node does not owe. The node repeats
//! each requested report. A deployment that the node has nothing of is reported
//! as removed.

use colony_margo::{DeploymentId, Digest, ManifestVersion};

use crate::node::Node;
use crate::node::deployment_entry::DeploymentEntry;
use crate::node::policy::DEPLOYMENT_LIMIT;
use crate::node::row::Phase;
use crate::time::Now;

impl Node {
    pub(in crate::node) fn accept_report_requests(
        &mut self,
        deployments: Vec<DeploymentId>,
        now: Now,
    ) {
        let Some(version) = self.version() else { return };
        for id in deployments.into_iter().take(DEPLOYMENT_LIMIT) {
            if !self.deployments.contains_key(&id) && self.has_nothing_of(&id) {
                self.deployments.insert(id.clone(), removed_entry(&id, version, &self.id));
            }
            if let Some(entry) = self.deployments.get_mut(&id).filter(|it| it.record.report.acked) {
                entry.record.report.number = self.meta.next_report(now);
                entry.record.report.acked = false;
                entry.record.phase.advance_removal(version);
            }
        }
    }

    /// The engine was observed and shows no container of the deployment.
    fn has_nothing_of(&self, id: &DeploymentId) -> bool {
        self.containers.as_ref().is_some_and(|it| !it.contains_key(id))
    }
}

impl Phase {
    /// The newest manifest does not list the deployment either.
    fn advance_removal(&mut self, newest: ManifestVersion) {
        if let Phase::Removing { version, .. } | Phase::Removed { version, .. } = self {
            *version = newest;
        }
    }
}

/// An entry that reports the deployment as removed.
fn removed_entry(
    id: &DeploymentId,
    version: ManifestVersion,
    node: &colony_margo::DeviceId,
) -> DeploymentEntry {
    let mut entry = DeploymentEntry::new(id.clone(), Digest::of(b""), b"", node);
    entry.record.phase = Phase::Removed { version, purged: false };
    entry
}
