//! The inputs of a site, and the result of a step.

use std::collections::BTreeSet;

use colony_margo::{Capabilities, DeploymentStatus};

use crate::event::{Event, Incarnation};
use crate::id::{DeploymentId, GitRevision, NodeName, PlacementId};
use crate::site::{Command, Commit, Have, Seed};
use crate::time::Monotonic;

/// An input from outside the site core.
#[derive(Debug, Clone)]
pub enum Input {
    /// The state of the site as central knows it, for a local orchestrator that
    /// has just joined.
    Seed(Box<Seed>),
    /// The content of a commit in Git.
    Commit(Commit),
    /// A node was issued an identity of this site.
    Joined(NodeName),
    Capabilities(NodeName, Box<Capabilities>),
    /// A request of the node arrived, so the node is alive. `have` is the
    /// manifest that the node reports to hold.
    Heard {
        node: NodeName,
        have: Option<Have>,
    },
    Status {
        node: NodeName,
        status: Box<DeploymentStatus>,
    },
    Command(Command),
    /// Central responded that a later incarnation of this site has joined.
    Fenced {
        by: Incarnation,
    },
    /// Time has passed.
    Tick,
}

/// The result of a step. Persist `events` and `changed` first, then act on the
/// rest.
#[derive(Debug, Default)]
#[must_use = "events and changed rows must be persisted"]
pub struct Step {
    pub events: Vec<Event>,
    pub changed: Changed,
    /// Why the input was refused, if it was.
    pub refused: Option<Refused>,
    /// When to step again if nothing else happens.
    pub wake: Option<Monotonic>,
}

/// The rows to write. A row that no longer exists has to be deleted.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Changed {
    pub meta: bool,
    pub deployments: BTreeSet<DeploymentId>,
    pub placements: BTreeSet<PlacementId>,
    pub site_nodes: BTreeSet<NodeName>,
}

impl Changed {
    pub fn is_empty(&self) -> bool {
        *self == Changed::default()
    }

    /// Adds the changes of another step.
    pub fn add(&mut self, other: &Changed) {
        self.meta |= other.meta;
        self.deployments.extend(other.deployments.iter().cloned());
        self.placements.extend(other.placements.iter().cloned());
        self.site_nodes.extend(other.site_nodes.iter().cloned());
    }

    pub fn keys(&self) -> impl Iterator<Item = RowKey> + '_ {
        let meta = self.meta.then_some(RowKey::Meta).into_iter();
        meta.chain(self.deployments.iter().cloned().map(RowKey::Deployment))
            .chain(self.placements.iter().cloned().map(RowKey::Placement))
            .chain(self.site_nodes.iter().cloned().map(RowKey::SiteNode))
    }

    /// The nodes whose manifest may have changed.
    pub fn nodes(&self) -> &BTreeSet<NodeName> {
        &self.site_nodes
    }
}

/// The key of a persisted row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKey {
    Meta,
    Deployment(DeploymentId),
    Placement(PlacementId),
    SiteNode(NodeName),
}

/// Why an input was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the site is not ready: {0}")]
    NotReady(&'static str),
    #[error("this orchestrator was replaced by incarnation {by}")]
    Fenced { by: Incarnation },
    #[error("node `{0}` has not joined this site")]
    UnknownNode(NodeName),
    #[error("the changes do not start at the site's commit, {}", short(.have))]
    OtherBase { have: Option<GitRevision> },
    #[error("the history was rewritten at {} and waits to be accepted", .commit.short())]
    Rewritten { commit: GitRevision },
    #[error("{0}")]
    Command(String),
    #[error("the site is already seeded")]
    AlreadySeeded,
}

fn short(revision: &Option<GitRevision>) -> &str {
    revision.as_ref().map_or("nothing", GitRevision::short)
}
