//! One deployment at this site: what Git wants, what was good, what is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use colony_margo::Digest;

use crate::attempt::{Failure, Revision};
use crate::document::Document;
use crate::id::{BlobId, DeploymentId, DeploymentName, GitRevision, NodeName};
use crate::site::lanes::Lanes;
use crate::site::rollout::Rollout;
use crate::time::Wall;

/// How many proven workloads of one deployment are remembered.
const PROVEN_LIMIT: usize = 8;

/// What a site knows of a deployment.
#[derive(Debug, Clone)]
pub struct Deployment {
    pub id: DeploymentId,
    pub name: DeploymentName,
    /// The file's content in Git; what it was last if it is gone.
    pub(super) wanted: Revision,
    /// Gone from Git.
    pub(super) withdrawn: bool,
    /// The last revision every reachable node ran.
    pub(super) good: Option<Revision>,
    /// What was good before that, in case it does not last its soak.
    pub(super) good_before: Option<Revision>,
    /// Workloads that a node ran for longer than their soak, the newest last.
    pub(super) proven: Vec<Digest>,
    pub(super) quarantine: BTreeMap<Digest, Quarantine>,
    /// Nodes that gave a revision up on their own.
    pub(super) rejected: BTreeMap<NodeName, Rejected>,
    /// Why the rollout of the wanted revision stands still.
    pub(super) stopped: Option<Stopped>,
    /// How far the rollout of the wanted revision has come.
    pub(super) rollout: Rollout,
    /// The rollback that was reported as done.
    pub(super) rolled_back: Option<RolledBack>,
    /// The commit that brought what is wanted.
    pub(super) commit: Option<GitRevision>,
    /// Where it should run.
    pub(super) nodes: BTreeSet<NodeName>,
    pub(super) since: Wall,
    /// Every revision that something here still refers to.
    pub(super) documents: BTreeMap<BlobId, Arc<Document>>,
    /// Nodes that have a placement, also one that is leaving: rebuilt.
    pub(super) placed: BTreeSet<NodeName>,
    pub(super) lanes: Lanes,
}

/// Why a revision is refused at this site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantine {
    pub revision: Revision,
    pub node: Option<NodeName>,
    pub failure: Failure,
    pub since: Wall,
}

/// A revision one node rolled back from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    pub workload: Digest,
    pub failure: Failure,
}

/// A revision the site has left, and the one it went back to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolledBack {
    pub bad: Revision,
    pub good: Option<Revision>,
    pub since: Wall,
}

impl RolledBack {
    /// Whether it is still the last word when Git goes from `before` to `next`:
    /// the revert of the bad revision is the end of a rollback, anything else
    /// is a new beginning, other settings of what was gone back to included.
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
    pub since: Wall,
}

impl Deployment {
    pub(super) fn new(document: Arc<Document>, since: Wall) -> Deployment {
        let blob = document.revision.blob.clone();
        Deployment {
            id: document.id().clone(),
            name: document.name.clone(),
            wanted: document.revision.clone(),
            withdrawn: false,
            good: None,
            good_before: None,
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
            lanes: Lanes::default(),
        }
    }

    /// The revision Git holds.
    pub fn wanted(&self) -> &Revision {
        &self.wanted
    }

    pub fn is_withdrawn(&self) -> bool {
        self.withdrawn
    }

    pub fn good(&self) -> Option<&Revision> {
        self.good.as_ref()
    }

    pub fn quarantine(&self) -> &BTreeMap<Digest, Quarantine> {
        &self.quarantine
    }

    /// The nodes it is placed on.
    pub fn nodes(&self) -> &BTreeSet<NodeName> {
        &self.nodes
    }

    pub fn document(&self, revision: &Revision) -> Option<&Arc<Document>> {
        self.documents.get(&revision.blob)
    }

    /// Every document that something here still refers to.
    pub fn documents(&self) -> impl Iterator<Item = &Document> {
        self.documents.values().map(|it| &**it)
    }

    /// The document whose policy is in force: always the one in Git.
    pub fn policy(&self) -> Option<&Arc<Document>> {
        self.documents.get(&self.wanted.blob)
    }

    /// Git's revision, or the last good one while Git holds a quarantined one.
    pub fn effective(&self) -> Option<&Revision> {
        if !self.is_quarantined() {
            return Some(&self.wanted);
        }
        self.good.as_ref().filter(|it| !self.quarantine.contains_key(&it.workload))
    }

    /// The rollout waits for an operator.
    pub fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// The commit that brought what is wanted.
    pub fn commit(&self) -> Option<&GitRevision> {
        self.commit.as_ref()
    }

    /// Git holds a revision that is refused here.
    pub fn is_quarantined(&self) -> bool {
        self.quarantine.contains_key(&self.wanted.workload)
    }

    /// Every reachable node runs `revision`.
    pub(super) fn set_good(&mut self, revision: Revision) {
        let before = self.good.replace(revision.clone());
        if before.as_ref().map(|it| it.workload) != Some(revision.workload) {
            self.good_before = before;
        }
    }

    /// Some node ran this workload for longer than its soak.
    pub(super) fn prove(&mut self, workload: Digest) {
        self.unprove(workload);
        self.proven.push(workload);
        let surplus = self.proven.len().saturating_sub(PROVEN_LIMIT);
        self.proven.drain(..surplus);
    }

    pub(super) fn unprove(&mut self, workload: Digest) {
        self.proven.retain(|it| *it != workload);
    }

    /// Forgets documents that neither this nor a placement in `used` refers to.
    pub(super) fn forget_documents(&mut self, used: &BTreeSet<BlobId>) {
        let left = self.rolled_back.as_ref().map(|it| &it.bad);
        let own = [Some(&self.wanted), self.good.as_ref(), self.good_before.as_ref(), left];
        let own: BTreeSet<BlobId> = own.into_iter().flatten().map(|it| it.blob.clone()).collect();
        self.documents.retain(|blob, _| own.contains(blob) || used.contains(blob));
    }
}
