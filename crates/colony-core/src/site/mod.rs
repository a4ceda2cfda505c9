//! The brain of a local orchestrator: one site, its deployments and nodes.
//!
//! `Site::step` takes one input and the time, and returns the events that
//! happened and the rows that changed; the shell persists both in one
//! transaction and only then answers or acts. What a node should run is not an
//! output but a function of the state (`Site::manifest`), so that after a crash
//! it is computed again. Only `moving.rs` writes a placement's state.

mod command;
mod deployment;
mod desired;
mod facts;
mod failure;
mod file;
mod held;
mod input;
mod intervene;
mod lanes;
mod liveness;
mod manifest;
mod member;
mod moving;
mod order_state;
mod place;
mod placement;
mod refused;
mod registry;
mod report;
mod rollout;
mod row;
mod seed;
mod settings;
mod stage;
mod steer;
mod timer;
mod turn;
pub(crate) mod view;
mod want;
mod wave;

use std::collections::{BTreeMap, BTreeSet};

pub use command::{Action, Command};
pub use deployment::{Deployment, Quarantine, Rejected, RolledBack, Stopped};
pub(crate) use file::deployment_name;
pub use file::{Commit, Content, File, deployment_file, deployment_path};
pub use held::{HeldHistory, HeldRemoval, RefusedFile};
pub use input::{Changed, Input, Refused, RowKey, Step};
pub use manifest::{Asks, NodeManifest};
pub use member::{Have, Member, is_ours};
pub use placement::{Offer, Placement, RunningLost};
pub use rollout::Rollout;
pub use row::Row;
pub use seed::{Seed, SeedDeployment, SeedNode, SeedPlacement};
pub use settings::{Hold, SiteSettings, Timing, TooEarly, Window};

use crate::event::{HoldScope, Incarnation, Log};
use crate::id::{DeploymentId, DeploymentName, GitRevision, NodeName, PlacementId, SiteName};
use crate::time::Mono;
use timer::Timers;

/// Everything a local orchestrator knows.
#[derive(Debug, Clone)]
pub struct Site {
    log: Log,
    clock: Mono,
    phase: Phase,
    timing: Timing,
    settings: SiteSettings,
    git: GitState,
    holds: BTreeMap<HoldScope, Hold>,
    /// The highest number of CO's commands that was executed.
    commands_done: u64,
    deployments: BTreeMap<DeploymentId, Deployment>,
    placements: BTreeMap<PlacementId, Placement>,
    members: BTreeMap<NodeName, Member>,
    /// Rebuilt from the rest: never persisted.
    index: Index,
}

/// What was read from Git, and what of it waits for a person.
#[derive(Debug, Clone, Default)]
struct GitState {
    revision: Option<GitRevision>,
    /// Files that cannot be used, by path.
    refused: BTreeMap<String, RefusedFile>,
    removal: Option<HeldRemoval>,
    /// A rewritten history that waits, and the one an operator accepted.
    rewritten: Option<HeldHistory>,
    accepted: Option<GitRevision>,
}

/// Whether the LO may act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Phase {
    /// Placements are not known yet.
    Unseeded,
    /// Placements are known, Git is not read yet.
    Seeded,
    Ready,
    /// CO knows a later incarnation: this one must not change anything.
    Fenced {
        by: Incarnation,
    },
}

#[derive(Debug, Clone, Default)]
struct Index {
    names: BTreeMap<DeploymentName, DeploymentId>,
    timers: Timers,
    /// Deployments with something to do as soon as a guard agrees.
    hungry: BTreeSet<DeploymentId>,
}

impl Site {
    /// An LO that has just joined: it knows nothing and serves nothing yet.
    pub fn new(name: SiteName, incarnation: Incarnation, timing: Timing) -> Site {
        Site {
            log: Log::new(name, incarnation),
            clock: Mono(0),
            phase: Phase::Unseeded,
            timing,
            settings: SiteSettings::default(),
            git: GitState::default(),
            holds: BTreeMap::new(),
            commands_done: 0,
            deployments: BTreeMap::new(),
            placements: BTreeMap::new(),
            members: BTreeMap::new(),
            index: Index::default(),
        }
    }

    pub fn name(&self) -> &SiteName {
        &self.log.site
    }

    /// Where the next event of this LO goes.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The monotonic time of the last step: where a restart goes on.
    pub fn clock(&self) -> Mono {
        self.clock
    }

    /// The commit whose content is in force.
    pub fn git(&self) -> Option<&GitRevision> {
        self.git.revision.as_ref()
    }

    /// The highest number of CO's commands that was executed.
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

    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    pub fn member(&self, node: &NodeName) -> Option<&Member> {
        self.members.get(node)
    }

    /// Files in Git that cannot be used, with what is wrong with them.
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

    /// How many nodes of a deployment may be down at once; `None` if any number.
    pub fn rollout_limit(&self, deployment: &DeploymentId) -> Option<u32> {
        facts::limit(self.deployments.get(deployment)?)
    }

    /// How many nodes the open step of a rollout lets have the revision; `None`
    /// if any number.
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
