//! One deployment at this site, and the revisions of it that the site knows.
//!
//! - *accepted*: the last usable one that the site read from Git;
//! - *effective*: the one to run, which differs while the accepted one is
//!   quarantined;
//! - *wanted* (`rollout/wanted_revision.rs`): the one that a single node should
//!   run, which differs on a node that rejected the effective one;
//! - *target* (of a placement): the one that the node's manifest lists;
//! - *last converged*: the one that every reachable node ran last. Events call
//!   it `good` beside the `bad` revision that it replaces.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use colony_margo::Digest;

use crate::attempt::{Failure, Revision};
use crate::document::Document;
use crate::id::{BlobId, DeploymentId, DeploymentName, GitRevision, NodeName};
use crate::site::rollout::Rollout;
use crate::site::rollout::index::RolloutIndex;
use crate::time::Timestamp;

/// How many proven workloads of one deployment are remembered.
const PROVEN_LIMIT: usize = 8;

/// The state of a deployment at a site.
#[derive(Debug, Clone)]
pub struct Deployment {
    pub id: DeploymentId,
    pub name: DeploymentName,
    /// The revision in Git. If the file was removed or cannot be used: the last
    /// one that could.
    pub(super) accepted: Revision,
    /// Removed from Git.
    pub(super) withdrawn: bool,
    /// Git has the mark of a purge: its volumes are removed with it.
    pub(super) purge: bool,
    /// The last revision that every reachable node ran. A quarantine of this
    /// revision, and an order to roll back, put the revision to return to here.
    pub(super) last_converged: Option<Revision>,
    /// The one before that, in case `last_converged` fails before the end of its
    /// proving period.
    pub(super) converged_before: Option<Revision>,
    /// Workloads that a node ran for longer than their soak, the newest last.
    pub(super) proven: Vec<Digest>,
    pub(super) quarantine: BTreeMap<Digest, Quarantine>,
    /// Nodes that rolled back alone, with the revision they rejected.
    pub(super) rejected: BTreeMap<NodeName, Rejected>,
    /// Why the rollout of the accepted revision is stopped.
    pub(super) stopped: Option<Stopped>,
    /// How far the rollout of the accepted revision has come.
    pub(super) rollout: Rollout,
    /// The rollback that was reported as done.
    pub(super) rolled_back: Option<RolledBack>,
    /// The commit that introduced the accepted revision.
    pub(super) commit: Option<GitRevision>,
    /// The nodes that the deployment should run on.
    pub(super) nodes: BTreeSet<NodeName>,
    pub(super) since: Timestamp,
    /// The documents of all revisions that are still referenced.
    pub(super) documents: BTreeMap<BlobId, Arc<Document>>,
    /// Nodes with a placement, including placements being removed. Not stored:
    /// rebuilt from the placements.
    pub(super) placed: BTreeSet<NodeName>,
    pub(super) rollout_index: RolloutIndex,
}

/// A revision that this site refuses to run, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantine {
    pub revision: Revision,
    pub node: Option<NodeName>,
    /// The operator who ordered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub failure: Failure,
    pub since: Timestamp,
}

/// A revision one node rolled back from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    pub workload: Digest,
    pub failure: Failure,
}

/// A revision the site rolled back from, and the one it returned to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolledBack {
    pub bad: Revision,
    pub good: Option<Revision>,
    pub since: Timestamp,
}

impl RolledBack {
    /// Whether the record stays valid when Git changes from `before` to `next`.
    /// It does if Git keeps the bad workload, or reverts it to the good one,
    /// which completes the rollback. Any other change discards it, even a
    /// change of settings after the revert.
    pub(crate) fn survives(&self, before: &Revision, next: &Revision) -> bool {
        let back_to = [Some(&self.bad), self.good.as_ref()];
        let follows = back_to.into_iter().flatten().any(|it| it.workload == next.workload);
        before == next || (before.workload == self.bad.workload && follows)
    }
}

/// The failure that stopped a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    pub workload: Digest,
    pub node: NodeName,
    pub failure: Failure,
    pub since: Timestamp,
}

impl Deployment {
    pub(super) fn new(document: Arc<Document>, since: Timestamp) -> Deployment {
        let blob = document.revision.blob.clone();
        Deployment {
            id: document.id().clone(),
            name: document.name.clone(),
            accepted: document.revision.clone(),
            withdrawn: false,
            purge: false,
            last_converged: None,
            converged_before: None,
            proven: Vec::new(),
            quarantine: BTreeMap::new(),
            rejected: BTreeMap::new(),
            stopped: None,
            rollout: Rollout::default(),
            rolled_back: None,
            commit: None,
            nodes: BTreeSet::new(),
            since,
            documents: BTreeMap::from([(blob, document)]),
            placed: BTreeSet::new(),
            rollout_index: RolloutIndex::default(),
        }
    }

    /// The revision in Git, or the last one that could be used.
    pub fn accepted(&self) -> &Revision {
        &self.accepted
    }

    pub fn is_withdrawn(&self) -> bool {
        self.withdrawn
    }

    /// Its volumes are removed with it.
    pub fn is_purged(&self) -> bool {
        self.withdrawn && self.purge
    }

    pub fn last_converged(&self) -> Option<&Revision> {
        self.last_converged.as_ref()
    }

    pub fn quarantine(&self) -> &BTreeMap<Digest, Quarantine> {
        &self.quarantine
    }

    /// The nodes that the deployment should run on.
    pub fn nodes(&self) -> &BTreeSet<NodeName> {
        &self.nodes
    }

    pub fn document(&self, revision: &Revision) -> Option<&Arc<Document>> {
        self.documents.get(&revision.blob)
    }

    /// All documents that are still referenced.
    pub fn documents(&self) -> impl Iterator<Item = &Document> {
        self.documents.values().map(|it| &**it)
    }

    /// The document whose policy is in force: always the accepted one.
    pub fn policy(&self) -> Option<&Arc<Document>> {
        self.documents.get(&self.accepted.blob)
    }

    /// The revision to run: the one in Git or, while that is quarantined, the
    /// last converged one. `None` if both are quarantined or none has converged.
    pub fn effective(&self) -> Option<&Revision> {
        if !self.is_quarantined() {
            return Some(&self.accepted);
        }
        self.last_converged.as_ref().filter(|it| !self.quarantine.contains_key(&it.workload))
    }

    /// The rollout waits for an operator.
    pub fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// The commit that introduced the accepted revision.
    pub fn commit(&self) -> Option<&GitRevision> {
        self.commit.as_ref()
    }

    /// The revision in Git is quarantined at this site.
    pub fn is_quarantined(&self) -> bool {
        self.quarantine.contains_key(&self.accepted.workload)
    }

    /// Records that every reachable node runs `revision`.
    pub(super) fn set_converged(&mut self, revision: Revision) {
        let before = self.last_converged.replace(revision.clone());
        if before.as_ref().map(|it| it.workload) != Some(revision.workload) {
            self.converged_before = before;
        }
    }

    /// Records that some node ran this workload for longer than its soak.
    pub(super) fn prove(&mut self, workload: Digest) {
        self.unprove(workload);
        self.proven.push(workload);
        let surplus = self.proven.len().saturating_sub(PROVEN_LIMIT);
        self.proven.drain(..surplus);
    }

    pub(super) fn unprove(&mut self, workload: Digest) {
        self.proven.retain(|it| *it != workload);
    }

    /// Drops documents that are referenced neither here nor in `used`.
    pub(super) fn forget_documents(&mut self, used: &BTreeSet<BlobId>) {
        let left = self.rolled_back.as_ref().map(|it| &it.bad);
        let own = [
            Some(&self.accepted),
            self.last_converged.as_ref(),
            self.converged_before.as_ref(),
            left,
        ];
        let own: BTreeSet<BlobId> = own.into_iter().flatten().map(|it| it.blob.clone()).collect();
        self.documents.retain(|blob, _| own.contains(blob) || used.contains(blob));
    }
}
