//! The brain of an execution node: which containers should be there, what to
//! do about it, and what to tell the manager.
//!
//! Pure. From the rows and a fresh observation of the engine everything is
//! decided again after a crash, and what runs with the right fingerprint is
//! left alone.
//!
//! A shell drives it like this:
//! - start: `restore` from the rows, let `Mono` go on from `clock`, give
//!   `Capabilities`, give `Observed`;
//! - each `step`: store the rows in `changed` at once, then begin `actions`
//!   (reading their `subject` right away), observe if `observe`, tick at `wake`;
//! - the end of an action: `Done`. If one of the same deployment is begun
//!   while a `Prepare` runs, that is dropped; its end need not be told;
//! - the engine says something, or a few seconds have passed: `Observed`;
//! - a manifest came: `check`, fetch what is missing, `Manifest`;
//! - send `reports`, and `Acked` for each that was taken; `Asked` if the
//!   manager says that it waits for some;
//! - clean up what is not `needed`, once there is a `version`.
//!
//! Invariants:
//! - a manifest is accepted whole or not at all, and versions never go back;
//! - a component that is well with the wanted fingerprint is never stopped;
//! - nothing is removed before a manifest was accepted;
//! - at most one action per deployment is under way.
//!
//! Left out: how a document becomes containers (the engine's adapter), and
//! whether a failed document is tried again (the manager's business).

mod apply;
mod asked;
mod decide;
mod engine;
mod held;
pub mod journal;
mod manifest;
mod outcome;
mod plan;
mod policy;
mod remove;
mod repair;
mod report;
mod row;
mod sight;
mod step;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use colony_margo::{Capabilities, Component, DeploymentId, DeviceId, Digest, ManifestVersion};

pub use engine::{Action, Container, Health, Prepared, Status, staged};
pub use manifest::{Fetch, Rejection};
pub use plan::{Part, Plan, fingerprint};
pub use policy::{Backoff, COMPONENT_LIMIT, DEPLOYMENT_LIMIT, Policy};
pub use row::{Accepted, Key, Meta, Phase, Record, Report, Restarts, Retry, Row, Text, Turn};
pub use step::{Input, Step};

use crate::time::Mono;
use decide::{Busy, Stray};
use held::Held;

/// The state of one execution node.
#[derive(Debug, Clone)]
pub struct Node {
    id: DeviceId,
    policy: Policy,
    meta: Meta,
    deployments: BTreeMap<DeploymentId, Held>,
    // What follows lives in memory only.
    capabilities: Option<Capabilities>,
    /// What the engine showed last; `None` before the first look.
    containers: Option<BTreeMap<DeploymentId, Vec<Container>>>,
    seen: Mono,
    busy: BTreeMap<DeploymentId, Busy>,
    strays: BTreeMap<DeploymentId, Stray>,
}

impl Node {
    /// A node that never heard of anything, or one brought back from its rows.
    pub fn restore(id: DeviceId, policy: Policy, rows: impl IntoIterator<Item = Row>) -> Node {
        let mut meta = Meta::default();
        let mut deployments = BTreeMap::new();
        for row in rows {
            match row {
                Row::Meta(it) => meta = it,
                Row::Deployment(record) => {
                    deployments.insert(record.id.clone(), Held::restore(*record, &id));
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
            seen: Mono(0),
            busy: BTreeMap::new(),
            strays: BTreeMap::new(),
        }
    }

    /// The row to store under `key`; to be deleted if there is none.
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

    /// Where the monotonic clock must go on after a restart.
    pub fn clock(&self) -> Mono {
        self.meta.clock
    }

    /// The version of the manifest that was accepted last.
    pub fn version(&self) -> Option<ManifestVersion> {
        self.meta.accepted.as_ref().map(|it| it.version)
    }

    /// What to send as `If-None-Match`.
    pub fn etag(&self) -> Option<&str> {
        self.meta.accepted.as_ref().and_then(|it| it.etag.as_deref())
    }

    /// What the accepted manifest lists, by wire digest.
    pub fn wanted(&self) -> BTreeMap<DeploymentId, Digest> {
        let wanted = self.deployments.iter().filter(|it| it.1.record.phase.is_wanted());
        wanted.map(|(id, it)| (id.clone(), it.record.wire)).collect()
    }

    pub fn phase(&self, deployment: &DeploymentId) -> Option<&Phase> {
        self.deployments.get(deployment).map(|it| &it.record.phase)
    }

    /// The fingerprints whose images and archives must be kept. Means nothing
    /// before a manifest was accepted.
    pub fn needed(&self) -> BTreeSet<Digest> {
        let wanted = self.deployments.values().flat_map(Held::needed);
        wanted.chain(self.busy.values().filter_map(|it| it.action.fingerprint())).collect()
    }

    /// The document and component an action is about, for the shell to read
    /// where its artifact is and which parameters go to it.
    pub fn subject(&self, action: &Action) -> Option<(&Plan, &Component)> {
        let fingerprint = action.fingerprint()?;
        let held = self.deployments.get(action.deployment())?;
        let plan = held
            .plan
            .iter()
            .chain(&held.previous)
            .find(|it| it.parts.iter().any(|it| it.fingerprint == fingerprint))?;
        Some((plan, plan.document.component(action.component()?)?))
    }
}
