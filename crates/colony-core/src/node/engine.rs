//! What the node asks of its container engine, and what it sees there.
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

use colony_margo::{ComponentName, DeploymentId, Digest, canonical};

/// Something the shell is to do now. At most one per deployment is under way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Have archive and images of the component at hand; answered from local
    /// copies where there are any. What runs is not touched. With `refresh`,
    /// tags are resolved again if the registry answers: what was pushed under
    /// them may have been corrected.
    Prepare {
        deployment: DeploymentId,
        component: ComponentName,
        fingerprint: Digest,
        refresh: bool,
    },
    /// Create and start the services that are missing or have exited.
    Start { deployment: DeploymentId, component: ComponentName, fingerprint: Digest },
    /// Run the component a second time, beside what is active of it. The
    /// fingerprint is what was prepared; the containers carry `staged` of it.
    Stage { deployment: DeploymentId, component: ComponentName, fingerprint: Digest },
    /// Stop and remove everything staged of the component, and only that.
    Unstage { deployment: DeploymentId, component: ComponentName },
    /// Stop and remove the component's active containers that have not this
    /// fingerprint. What is staged stays.
    Clear { deployment: DeploymentId, component: ComponentName, keep: Option<Digest> },
    /// Stop and remove everything of the deployment, also what is staged.
    Remove { deployment: DeploymentId },
}

impl Action {
    pub fn deployment(&self) -> &DeploymentId {
        match self {
            Action::Prepare { deployment, .. }
            | Action::Start { deployment, .. }
            | Action::Stage { deployment, .. }
            | Action::Unstage { deployment, .. }
            | Action::Clear { deployment, .. }
            | Action::Remove { deployment } => deployment,
        }
    }

    /// What the containers it makes are made from.
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

/// What an action found out; only `Prepare` has anything to tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The services of the component.
    pub services: BTreeSet<String>,
    /// Containers with this fingerprint were made from another archive or
    /// image than the one its tags stand for. Only found by a refresh.
    pub outdated: bool,
}

/// One container of this node, as the engine shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    pub deployment: DeploymentId,
    pub component: ComponentName,
    /// What it was made from; of a staged one, `staged` of that.
    pub fingerprint: Digest,
    /// It waits beside the active ones.
    pub staged: bool,
    pub service: String,
    /// Differs after every start, such as the id with the time of the start.
    pub run: String,
    pub status: Status,
    pub health: Health,
    /// The last lines it printed; read for containers that are not well.
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

/// What the health check says, after the engine's own retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// There is no check.
    None,
    Starting,
    Healthy,
    Unhealthy {
        detail: String,
    },
}

impl Container {
    /// It runs and no check says otherwise.
    pub(super) fn is_well(&self) -> bool {
        self.status == Status::Running && matches!(self.health, Health::None | Health::Healthy)
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.status, Status::Exited { .. } | Status::Dead)
    }
}
