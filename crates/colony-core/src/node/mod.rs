//! The core of an execution node: which containers should run, which actions
//! lead there, and which reports the local orchestrator gets.
//!
//! Pure. After a crash everything is decided again from the rows and a fresh
//! observation of the engine, and containers with the right fingerprint are
//! left alone. A node also works with other Margo managers; these comments call
//! all of them the local orchestrator.
//!
//! A shell drives it like this:
//! - start: `restore` from the rows, let `Monotonic` continue from `clock`,
//!   send `Capabilities`, send `Observed`;
//! - each `step`: store the rows in `changed` at once, then begin `actions`
//!   (reading their `subject` right away), observe if `observe`, tick at
//!   `wake`;
//! - an action has ended: `Done`. If another action of the same deployment is
//!   begun while a `Prepare` runs, the `Prepare` is dropped and needs no
//!   `Done`;
//! - the engine emits an event, or a few seconds have passed: `Observed`;
//! - a manifest arrives: `check`, fetch what is missing, `Manifest`;
//! - send `reports`, and `Acked` for each accepted one; `Asked` if the site
//!   orchestrator requests reports;
//! - clean up what is not `needed`, once there is a `version`.
//!
//! Invariants:
//! - a manifest is accepted whole or not at all, and versions never go back;
//! - a healthy component with the wanted fingerprint is never stopped;
//! - nothing is removed before a manifest was accepted;
//! - at most one action per deployment is under way.
//!
//! Left out: how a document becomes containers (the engine's adapter), and
//! whether a failed document is tried again (the local orchestrator decides).

mod decision;
mod deployment_entry;
mod engine;
pub mod image;
pub mod journal;
mod manifest;
mod outcome;
mod policy;
mod report;
mod row;
mod step;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use colony_margo::{Capabilities, Component, DeploymentId, DeviceId, Digest, ManifestVersion};

pub use decision::plan::{Part, Plan, fingerprint};
pub use engine::{Action, Container, Health, Prepared, Status, staged};
pub use manifest::{Fetch, Rejection};
pub use policy::{Backoff, COMPONENT_LIMIT, DEPLOYMENT_LIMIT, Policy};
pub use row::{
    Accepted, ComponentStart, Key, Meta, Phase, Record, Report, Restarts, Retry, Row, Text,
};
pub use step::{Input, Step};

use crate::time::Monotonic;
use decision::{RunningAction, UnlistedDeployment};
use deployment_entry::DeploymentEntry;

/// The state of one execution node.
#[derive(Debug, Clone)]
pub struct Node {
    id: DeviceId,
    policy: Policy,
    meta: Meta,
    deployments: BTreeMap<DeploymentId, DeploymentEntry>,
    // The fields below live in memory only.
    capabilities: Option<Capabilities>,
    /// The containers of the last observation; `None` before the first one.
    containers: Option<BTreeMap<DeploymentId, Vec<Container>>>,
    observed_at: Monotonic,
    running_actions: BTreeMap<DeploymentId, RunningAction>,
    unlisted: BTreeMap<DeploymentId, UnlistedDeployment>,
}

impl Node {
    /// Restores a node from its rows; without rows, an empty node.
    pub fn restore(id: DeviceId, policy: Policy, rows: impl IntoIterator<Item = Row>) -> Node {
        let mut meta = Meta::default();
        let mut deployments = BTreeMap::new();
        for row in rows {
            match row {
                Row::Meta(it) => meta = it,
                Row::Deployment(record) => {
                    deployments.insert(record.id.clone(), DeploymentEntry::restore(*record, &id));
                }
            }
        }
        let stamps = deployments.values().filter_map(|it| it.record.stamp());
        meta.clock = stamps.chain([meta.clock]).max().unwrap_or_default();
        Node {
            id,
            policy,
            meta,
            deployments,
            capabilities: None,
            containers: None,
            observed_at: Monotonic(0),
            running_actions: BTreeMap::new(),
            unlisted: BTreeMap::new(),
        }
    }

    /// The row to store under `key`; `None` if it is to be deleted.
    pub fn row(&self, key: &Key) -> Option<Row> {
        match key {
            Key::Meta => Some(Row::Meta(self.meta.clone())),
            Key::Deployment(id) => {
                self.deployments.get(id).map(|it| Row::Deployment(Box::new(it.record.clone())))
            }
        }
    }

    pub fn id(&self) -> &DeviceId {
        &self.id
    }

    /// Where the monotonic clock must continue after a restart.
    pub fn clock(&self) -> Monotonic {
        self.meta.clock
    }

    /// The version of the manifest that was accepted last.
    pub fn version(&self) -> Option<ManifestVersion> {
        self.meta.accepted.as_ref().map(|it| it.version)
    }

    /// The value to send as `If-None-Match`.
    pub fn etag(&self) -> Option<&str> {
        self.meta.accepted.as_ref().and_then(|it| it.etag.as_deref())
    }

    /// The deployments that the accepted manifest lists, with their wire
    /// digests.
    pub fn wanted(&self) -> BTreeMap<DeploymentId, Digest> {
        let wanted = self.deployments.iter().filter(|it| it.1.record.phase.is_wanted());
        wanted.map(|(id, it)| (id.clone(), it.record.wire)).collect()
    }

    pub fn phase(&self, deployment: &DeploymentId) -> Option<&Phase> {
        self.deployments.get(deployment).map(|it| &it.record.phase)
    }

    /// The fingerprints whose images and archives must be kept. Meaningless
    /// before a manifest was accepted.
    pub fn needed(&self) -> BTreeSet<Digest> {
        let wanted = self.deployments.values().flat_map(DeploymentEntry::needed);
        wanted
            .chain(self.running_actions.values().filter_map(|it| it.action.fingerprint()))
            .collect()
    }

    /// The document and component of an action, for the shell to read the
    /// location of the artifact and the parameters.
    pub fn subject(&self, action: &Action) -> Option<(&Plan, &Component)> {
        let fingerprint = action.fingerprint()?;
        let entry = self.deployments.get(action.deployment())?;
        let plan = entry
            .plan
            .iter()
            .chain(&entry.previous)
            .find(|it| it.parts.iter().any(|it| it.fingerprint == fingerprint))?;
        Some((plan, plan.document.component(action.component()?)?))
    }
}
