//! What reaches a site, and what a step answers.

use std::collections::BTreeSet;

use colony_margo::{Capabilities, DeploymentStatus};

use crate::event::{Event, Incarnation};
use crate::id::{DeploymentId, GitRevision, NodeName, PlacementId};
use crate::site::{Command, Commit, Have, Seed};
use crate::time::Mono;

/// Something that happened outside.
#[derive(Debug, Clone)]
pub enum Input {
    /// What CO knows of the site, for an LO that has just joined.
    Seed(Box<Seed>),
    /// Git has moved.
    Commit(Commit),
    /// A node got an identity of this site.
    Joined(NodeName),
    Capabilities(NodeName, Box<Capabilities>),
    /// A request arrived: the sender lives. `have` is what it says it holds.
    Heard {
        node: NodeName,
        have: Option<Have>,
    },
    Status {
        node: NodeName,
        status: Box<DeploymentStatus>,
    },
    Command(Command),
    /// CO answered that a later incarnation of this site has joined.
    Fenced {
        by: Incarnation,
    },
    /// Time has passed.
    Tick,
}

/// What a step did. Persist `events` and `changed` first, then act on the rest.
#[derive(Debug, Default)]
#[must_use = "events and changed rows must be persisted"]
pub struct Step {
    pub events: Vec<Event>,
    pub changed: Changed,
    /// Why the input was not taken, if it was not.
    pub refused: Option<Refused>,
    /// When to step again if nothing else happens.
    pub wake: Option<Mono>,
}

/// The rows to write; a row that is no longer there is to be deleted.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Changed {
    pub meta: bool,
    pub deployments: BTreeSet<DeploymentId>,
    pub placements: BTreeSet<PlacementId>,
    pub members: BTreeSet<NodeName>,
}

impl Changed {
    pub fn is_empty(&self) -> bool {
        *self == Changed::default()
    }

    /// Takes in what another step changed.
    pub fn add(&mut self, other: &Changed) {
        self.meta |= other.meta;
        self.deployments.extend(other.deployments.iter().cloned());
        self.placements.extend(other.placements.iter().cloned());
        self.members.extend(other.members.iter().cloned());
    }

    pub fn keys(&self) -> impl Iterator<Item = RowKey> + '_ {
        let meta = self.meta.then_some(RowKey::Meta).into_iter();
        meta.chain(self.deployments.iter().cloned().map(RowKey::Deployment))
            .chain(self.placements.iter().cloned().map(RowKey::Placement))
            .chain(self.members.iter().cloned().map(RowKey::Member))
    }

    /// The nodes whose manifest may have changed.
    pub fn nodes(&self) -> &BTreeSet<NodeName> {
        &self.members
    }
}

/// The name of a persisted row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKey {
    Meta,
    Deployment(DeploymentId),
    Placement(PlacementId),
    Member(NodeName),
}

/// Why an input was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the site is not ready: {0}")]
    NotReady(&'static str),
    #[error("this orchestrator was replaced by incarnation {by}")]
    Fenced { by: Incarnation },
    #[error("node `{0}` has not joined this site")]
    UnknownNode(NodeName),
    #[error("the difference starts at another commit than {}", short(.have))]
    OtherBase { have: Option<GitRevision> },
    #[error("the history was rewritten at {} and waits to be accepted", .commit.short())]
    Rewritten { commit: GitRevision },
    #[error("{0}")]
    Command(String),
    #[error("the site was seeded before")]
    AlreadySeeded,
}

fn short(revision: &Option<GitRevision>) -> &str {
    revision.as_ref().map_or("nothing", GitRevision::short)
}
