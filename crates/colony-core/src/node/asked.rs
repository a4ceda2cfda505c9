//! The manager asks again: an answer of ours was lost, or never given.
//!
//! A manager that lost its memory, or a node that lost its disk, would leave
//! the other waiting for a report that nobody owes. What is asked for is
//! reported again; of what the node has nothing, it says so.

use colony_margo::{DeploymentId, Digest, ManifestVersion};

use super::Node;
use super::held::Held;
use super::policy::DEPLOYMENT_LIMIT;
use super::row::Phase;
use crate::time::Now;

impl Node {
    pub(super) fn asked(&mut self, deployments: Vec<DeploymentId>, now: Now) {
        let Some(version) = self.version() else { return };
        for id in deployments.into_iter().take(DEPLOYMENT_LIMIT) {
            if !self.deployments.contains_key(&id) && self.has_nothing_of(&id) {
                self.deployments.insert(id.clone(), gone(&id, version, &self.id));
            }
            if let Some(held) = self.deployments.get_mut(&id).filter(|it| it.record.report.acked) {
                held.record.report.number = self.meta.next_report(now);
                held.record.report.acked = false;
                held.record.phase.advance_removal(version);
            }
        }
    }

    /// The engine was looked at and shows no container of it.
    fn has_nothing_of(&self, id: &DeploymentId) -> bool {
        self.containers.as_ref().is_some_and(|it| !it.contains_key(id))
    }
}

impl Phase {
    /// The newest manifest does not list it either.
    fn advance_removal(&mut self, newest: ManifestVersion) {
        if let Phase::Removing { version, .. } | Phase::Removed { version } = self {
            *version = newest;
        }
    }
}

/// A record that says: removed.
fn gone(id: &DeploymentId, version: ManifestVersion, node: &colony_margo::DeviceId) -> Held {
    let mut held = Held::new(id.clone(), Digest::of(b""), b"", node);
    held.record.phase = Phase::Removed { version };
    held
}
