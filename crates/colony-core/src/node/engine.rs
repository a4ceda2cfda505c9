//! The actions a node requests from its container engine, and the containers it
//! observes there.
//!
//! Actions are idempotent and stand for a goal, not for a change: doing one
//! twice, or doing one whose goal is reached, changes nothing. Containers
//! carry the labels `deployment`, `component`, `fingerprint` and `service`.
//!
//! *Staged* containers stand beside the active ones of the same component:
//! the next revision, waiting to take over. They carry the *staged* fingerprint
//! (`staged`), so they never look like active ones.

use std::collections::BTreeSet;

use serde_json::json;

use crate::code::Code;
use colony_margo::{ComponentName, DeploymentId, Digest, canonical};

/// An action for the shell. At most one per deployment is under way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Make archive and images of the component available, from local copies
    /// where they exist. Running containers are not touched. With `refresh`,
    /// tags are resolved again if the registry responds: the content pushed
    /// under them may have been corrected.
    Prepare {
        deployment: DeploymentId,
        component: ComponentName,
        fingerprint: Digest,
        refresh: bool,
    },
    /// Create and start the services that are missing or have exited.
    Start { deployment: DeploymentId, component: ComponentName, fingerprint: Digest },
    /// Run the component a second time, beside its active containers. The
    /// fingerprint is the prepared one; the containers carry `staged` of it.
    Stage { deployment: DeploymentId, component: ComponentName, fingerprint: Digest },
    /// Stop and remove the staged containers of the component, and only those.
    Unstage { deployment: DeploymentId, component: ComponentName },
    /// Stop and remove the component's active containers whose fingerprint is
    /// not `keep`. Staged containers stay. Unless the component is `gone` from
    /// the deployment, a `Start` follows: an engine that updates in place only
    /// marks what it replaces then, and the containers are no longer observed.
    Clear { deployment: DeploymentId, component: ComponentName, keep: Option<Digest>, gone: bool },
    /// Stop and remove all containers of the deployment, staged ones included.
    /// With `purge`, its volumes as well. With `images`, its images are not kept
    /// once nothing needs them.
    Remove { deployment: DeploymentId, purge: bool, images: bool },
}

impl Action {
    pub fn deployment(&self) -> &DeploymentId {
        match self {
            Action::Prepare { deployment, .. }
            | Action::Start { deployment, .. }
            | Action::Stage { deployment, .. }
            | Action::Unstage { deployment, .. }
            | Action::Clear { deployment, .. }
            | Action::Remove { deployment, .. } => deployment,
        }
    }

    /// The fingerprint that the action prepares or starts.
    pub fn fingerprint(&self) -> Option<Digest> {
        match self {
            Action::Prepare { fingerprint, .. }
            | Action::Start { fingerprint, .. }
            | Action::Stage { fingerprint, .. } => Some(*fingerprint),
            Action::Unstage { .. } | Action::Clear { .. } | Action::Remove { .. } => None,
        }
    }

    pub fn component(&self) -> Option<&ComponentName> {
        match self {
            Action::Prepare { component, .. }
            | Action::Start { component, .. }
            | Action::Stage { component, .. }
            | Action::Unstage { component, .. }
            | Action::Clear { component, .. } => Some(component),
            Action::Remove { .. } => None,
        }
    }
}

/// The fingerprint staged containers carry.
pub fn staged(fingerprint: Digest) -> Digest {
    Digest::of(&canonical::to_vec(&json!({ "staged": fingerprint })))
}

/// The result of an action; only `Prepare` returns anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The services of the component.
    pub services: BTreeSet<String>,
    /// Containers with this fingerprint were made from an archive or image that
    /// its tags no longer refer to. Only detected by a refresh.
    pub outdated: bool,
}

/// One container of this node, as the engine shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    pub deployment: DeploymentId,
    pub component: ComponentName,
    /// The fingerprint it was made from; for a staged container, `staged` of
    /// that.
    pub fingerprint: Digest,
    /// It runs beside the active containers and has not taken over yet.
    pub staged: bool,
    pub service: String,
    /// Differs after every start, such as the id with the time of the start.
    pub run: String,
    pub status: Status,
    pub health: Health,
    /// The last lines of its output; read for containers that are not healthy.
    pub log: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    Running,
    /// Created, or on its way to run.
    Starting,
    /// Ended because something other than this node stopped or removes it.
    Stopped,
    Exited {
        code: i64,
    },
    /// The engine has given it up.
    Dead,
}

/// The result of the health check, after the engine's own retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// There is no check.
    None,
    Starting,
    Healthy,
    Unhealthy {
        /// `Code::Unhealthy`, unless the engine knows a cause.
        code: Code,
        detail: String,
    },
}

impl Container {
    /// It runs, and no health check is pending or failing.
    pub(super) fn is_well(&self) -> bool {
        self.status == Status::Running && matches!(self.health, Health::None | Health::Healthy)
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.status, Status::Exited { .. } | Status::Dead)
    }
}
