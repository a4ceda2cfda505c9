//! Why is this not running yet?
//!
//! For every placement, deployment, node and site that is not as it should be:
//! the cause, who has to act, since when, and what happens next. The causes of
//! a placement are the reasons the guards of the transition table give for the
//! trigger that would bring it nearer; no rule is written twice.
//!
//! The site answers for itself (`deployment`, `node`, `site`) and sends the
//! answers that changed (`outbox.rs`) to the central orchestrator, which stores
//! them and adds only the causes that lie before the site (`fleet/why.rs`).

mod cause;
mod deployment;
mod fit;
mod node;
mod outbox;
mod placement;
mod reason;
mod refused_revision;
mod site;
mod story;
mod surroundings;
mod text;

use serde::{Deserialize, Serialize};

pub use cause::{
    AttemptCause, Cause, CentralCause, FitCause, Misfit, NodeCause, RemovalCause, RolloutCause,
    SiteCause, Slot, Unfitting, VerdictCause,
};
pub use deployment::{deployment, deployment_by_id};
pub use node::node;
pub use outbox::{AnswerKey, AnswerOutbox, AnswerUpdate, answers};
pub use placement::placement;
pub use site::site;
pub use surroundings::{Outage, Surroundings};

use cause::Explanation;

use crate::id::{DeploymentName, NodeName, SiteName};
use crate::state::State;
use crate::time::Timestamp;

/// An answer. It holds facts and points in time only, so that it can be stored
/// and sent; `text` turns it into sentences for a reader at a given moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    pub subject: Subject,
    pub cause: Cause,
    /// Further causes: what else blocks it, or what led to the first cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Cause>,
    pub owner: Owner,
    /// What the owner can do, as a clause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub act: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    pub next: Next,
}

/// The subject of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Subject {
    Site {
        site: SiteName,
    },
    Node {
        node: NodeName,
    },
    Deployment {
        deployment: DeploymentName,
    },
    /// One deployment on one node, or on several with the same answer.
    Placement {
        deployment: DeploymentName,
        nodes: Vec<NodeName>,
        state: State,
        since: Timestamp,
        /// What it is doing, as a clause: `runs 1.0.0`.
        doing: String,
        /// What it has been waiting to do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waits: Option<Waiting>,
    },
}

/// Something that is wanted and has not begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub since: Timestamp,
    /// As an infinitive: `update to 2.0.0`.
    pub to: String,
}

/// The role that has to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// It continues without help.
    Colony,
    Operator,
    SiteEngineer,
    DeviceOwner,
    /// The vendor of the application.
    Vendor,
    /// The author of the deployment's file.
    GitAuthor,
}

/// What happens next; without a time it waits for an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Next {
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

impl Why {
    /// The answer for `subject`, from the first cause; `then` is what happens
    /// when the cause is gone.
    pub(crate) fn new(subject: Subject, causes: Vec<Cause>, then: &str) -> Option<Why> {
        let mut causes = causes.into_iter();
        let cause = causes.next()?;
        let also: Vec<Cause> = causes.collect();
        // The clause, which alone depends on the reader's time, is not kept.
        let explain = |it: &Cause| it.explain(Timestamp::default(), then);
        let Explanation { owner, act, since, next, at, is_gate, .. } = explain(&cause);
        let gated = also.iter().any(|it| explain(it).is_gate);
        let what = match gated {
            true if is_gate => format!("{next} and nothing else is in the way"),
            true if cause.failure().is_some() && at.is_some() => {
                format!("{next}, if nothing else is in the way")
            }
            _ => next,
        };
        let next = Next { what, at };
        Some(Why { subject, cause, also, owner, act, since, next })
    }

    /// The causes, the most important first.
    pub fn causes(&self) -> impl Iterator<Item = &Cause> {
        std::iter::once(&self.cause).chain(&self.also)
    }

    /// A person has to act.
    pub fn needs_person(&self) -> bool {
        self.owner != Owner::Colony
    }
}

impl Owner {
    /// The name for display.
    pub fn name(self) -> &'static str {
        match self {
            Owner::Colony => "colony",
            Owner::Operator => "operator",
            Owner::SiteEngineer => "site engineer",
            Owner::DeviceOwner => "device owner",
            Owner::Vendor => "application vendor",
            Owner::GitAuthor => "author of the file in Git",
        }
    }
}
