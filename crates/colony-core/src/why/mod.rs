//! Why is this not running yet?
//!
//! For every placement, deployment, node and site that is not as it should be:
//! the cause, who has to act, since when, and what happens next. The causes of
//! a placement are those the guards of the transition table give, asked with
//! the trigger that would bring it nearer; nothing is guessed twice.

mod bad;
mod cause;
mod clause;
mod deployment;
mod fit;
mod follow;
mod node;
mod placement;
mod reason;
mod remedy;
mod site;
mod story;
mod text;
mod words;

use serde::{Deserialize, Serialize};

pub use cause::{Cause, Misfit, Slot, Unfitting};
pub use deployment::{deployment, deployment_by_id};
pub use node::node;
pub use placement::placement;
pub use site::site;
pub(crate) use words::until;

use crate::id::{DeploymentName, NodeName, SiteName};
use crate::state::State;
use crate::time::Wall;

/// An answer. Its `Display` is the sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    pub subject: Subject,
    pub cause: Cause,
    /// What else is in the way, or was the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Cause>,
    pub owner: Owner,
    /// What the owner can do, as a clause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub act: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Wall>,
    pub next: Next,
    /// When the question was asked: durations are told from here.
    pub asked: Wall,
}

/// What the question was about.
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
        since: Wall,
        /// What it is about to do, as a clause.
        doing: String,
    },
}

/// Who has to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// Nobody: it goes on by itself.
    Colony,
    Operator,
    SiteEngineer,
    DeviceOwner,
    /// Of the application.
    Vendor,
    /// Whoever writes the deployment's file.
    GitAuthor,
}

/// What happens next; without a time it waits for an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Next {
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Wall>,
}

impl Why {
    /// The answer for `subject`, from the first cause; `clause` is what happens
    /// when the cause is gone.
    fn new(subject: Subject, causes: Vec<Cause>, clause: &str, asked: Wall) -> Option<Why> {
        let mut causes = causes.into_iter();
        let cause = causes.next()?;
        let also: Vec<Cause> = causes.collect();
        let (owner, act) = remedy::of(&cause);
        let (since, next) = (cause.since(), follow::next(&cause, &also, clause));
        Some(Why { subject, cause, also, owner, act, since, next, asked })
    }
}

impl Owner {
    /// As people are called.
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
