//! The core of a local orchestrator: one site, its deployments and nodes.
//!
//! `Site::step` takes one input and the time, and returns the emitted events
//! and the changed rows. The shell persists both in one transaction and only
//! then responds or acts. What a node should run is not an output but a
//! function of the state (`Site::manifest`), so it is computed again after a
//! crash. Only `placement/transition.rs` changes the state of a placement;
//! `persisted/seed.rs` restores it.

mod deployment;
mod desired;
mod input;
mod node;
mod orders;
mod persisted;
mod placement;
mod rollout;
mod settings;
mod step_context;
mod timer;
pub(crate) mod view;

use std::collections::{BTreeMap, BTreeSet};

pub use deployment::{Deployment, Quarantine, Rejected, RolledBack, Stopped};
pub(crate) use desired::file::deployment_name;
pub use desired::file::{Commit, Content, File, deployment_file, deployment_path};
pub use desired::held::{HeldHistory, HeldRemoval, RefusedFile};
pub use input::{Changed, Input, Refused, RowKey, Step};
pub use node::manifest::{NodeManifest, ReportRequests};
pub use node::{Have, SiteNode, is_colony_node};
pub use orders::command::{Action, Command};
pub use persisted::row::Row;
pub use persisted::seed::{Seed, SeedDeployment, SeedNode, SeedPlacement};
pub use placement::{ActiveFailure, Offer, Placement, Staging};
pub use rollout::{Rollout, slot};
pub use settings::{Hold, SiteSettings, Timing, Window};

use crate::event::{HoldScope, Incarnation, Log};
use crate::id::{DeploymentId, DeploymentName, GitRevision, NodeName, PlacementId, SiteName};
use crate::time::Monotonic;
use timer::Timers;

/// The state of a local orchestrator.
#[derive(Debug, Clone)]
pub struct Site {
    log: Log,
    clock: Monotonic,
    phase: Phase,
    timing: Timing,
    settings: SiteSettings,
    git: GitState,
    holds: BTreeMap<HoldScope, Hold>,
    /// The highest number of the handled commands from central.
    commands_done: u64,
    deployments: BTreeMap<DeploymentId, Deployment>,
    placements: BTreeMap<PlacementId, Placement>,
    site_nodes: BTreeMap<NodeName, SiteNode>,
    /// Rebuilt from the other fields, never persisted.
    index: Index,
}

/// The state read from Git, and the parts of it that wait for an operator.
#[derive(Debug, Clone, Default)]
struct GitState {
    revision: Option<GitRevision>,
    /// Files that cannot be used, by path.
    refused: BTreeMap<String, RefusedFile>,
    removal: Option<HeldRemoval>,
    /// A rewritten history that waits to be accepted; `accepted` is the commit
    /// of one that an operator has accepted.
    rewritten: Option<HeldHistory>,
    accepted: Option<GitRevision>,
}

/// Whether the local orchestrator may act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Phase {
    /// Placements are not known yet.
    Unseeded,
    /// Placements are known, Git is not read yet.
    Seeded,
    Ready,
    /// Central knows a later incarnation, so this one must not change anything.
    Fenced {
        by: Incarnation,
    },
}

#[derive(Debug, Clone, Default)]
struct Index {
    names: BTreeMap<DeploymentName, DeploymentId>,
    timers: Timers,
    /// Deployments with queued nodes that wait for a guard.
    pending_work: BTreeSet<DeploymentId>,
    /// Deployments whose soak was interrupted by a restart: the clock of the
    /// site stood still, so the end of the soak has moved.
    moved_soaks: BTreeSet<DeploymentId>,
}

impl Site {
    /// A local orchestrator that has just joined: it has no state and serves no
    /// manifests yet.
    pub fn new(name: SiteName, incarnation: Incarnation, timing: Timing) -> Site {
        Site {
            log: Log::new(name, incarnation),
            clock: Monotonic(0),
            phase: Phase::Unseeded,
            timing,
            settings: SiteSettings::default(),
            git: GitState::default(),
            holds: BTreeMap::new(),
            commands_done: 0,
            deployments: BTreeMap::new(),
            placements: BTreeMap::new(),
            site_nodes: BTreeMap::new(),
            index: Index::default(),
        }
    }

    pub fn name(&self) -> &SiteName {
        &self.log.site
    }

    /// The end of the event log, where the next event is appended.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The monotonic time of the last step, from which a restart continues.
    pub fn clock(&self) -> Monotonic {
        self.clock
    }

    /// The commit whose content is in force.
    pub fn git(&self) -> Option<&GitRevision> {
        self.git.revision.as_ref()
    }

    /// The highest number of the handled commands from central.
    pub fn commands_done(&self) -> u64 {
        self.commands_done
    }

    pub fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    pub fn deployments(&self) -> impl Iterator<Item = &Deployment> {
        self.deployments.values()
    }

    pub fn deployment(&self, id: &DeploymentId) -> Option<&Deployment> {
        self.deployments.get(id)
    }

    pub fn deployment_named(&self, name: &DeploymentName) -> Option<&Deployment> {
        self.deployments.get(self.index.names.get(name)?)
    }

    pub fn placements(&self) -> impl Iterator<Item = &Placement> {
        self.placements.values()
    }

    pub fn placement(&self, id: &PlacementId) -> Option<&Placement> {
        self.placements.get(id)
    }

    pub fn site_nodes(&self) -> impl Iterator<Item = &SiteNode> {
        self.site_nodes.values()
    }

    pub fn site_node(&self, node: &NodeName) -> Option<&SiteNode> {
        self.site_nodes.get(node)
    }

    /// Files in Git that cannot be used, with their findings.
    pub fn refused_files(&self) -> &BTreeMap<String, RefusedFile> {
        &self.git.refused
    }

    /// The removal that waits for an operator's release.
    pub fn held_removal(&self) -> Option<&HeldRemoval> {
        self.git.removal.as_ref()
    }

    /// The rewritten history that waits to be accepted.
    pub fn held_history(&self) -> Option<&HeldHistory> {
        self.git.rewritten.as_ref()
    }

    pub fn settings(&self) -> &SiteSettings {
        &self.settings
    }

    pub fn holds(&self) -> &BTreeMap<HoldScope, Hold> {
        &self.holds
    }

    /// How many nodes of a deployment may be down at once; `None` if all may.
    pub fn rollout_limit(&self, deployment: &DeploymentId) -> Option<u32> {
        rollout::slot::limit(self.deployments.get(deployment)?)
    }

    /// How many nodes may have the revision in the open step of a rollout;
    /// `None` if any number.
    pub fn rollout_room(&self, deployment: &DeploymentId) -> Option<u32> {
        self.deployments.get(deployment)?.step_size()
    }

    /// The incarnation that fenced this one off.
    pub fn fenced_by(&self) -> Option<Incarnation> {
        match self.phase {
            Phase::Fenced { by } => Some(by),
            Phase::Unseeded | Phase::Seeded | Phase::Ready => None,
        }
    }
}
