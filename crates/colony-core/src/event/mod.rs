//! The event log of a site: append-only, written by the local orchestrator.
//!
//! Every event contains the hash of the previous one, so that a log can be
//! checked without trusting its storage. `Log::append` is the only way to
//! create an event and to take a sequence number.

mod body;
mod central;
mod chain;
mod concerns;
mod sentence;
mod uplink;

use std::fmt;

use serde::{Deserialize, Serialize};

use colony_margo::{Digest, canonical};

pub use body::{Body, HoldScope, Presence, Removal, StepStanding, Transition};
pub use central::{CentralContext, CentralEvent};
pub use chain::{ChainError, Log, verify};
pub use sentence::Names;
pub use uplink::{LogPosition, OutgoingBatch, Uplink};

use crate::id::{GitRevision, NodeName, SiteName};
use crate::time::Timestamp;

/// Counts the orchestrators a site has had; the first is 0.
pub type Incarnation = u32;

/// The bits of a manifest's version that count within an incarnation; the rest,
/// up to 53, is the incarnation.
pub const VERSION_BITS: u32 = 26;

/// Counts the events of one incarnation, from 1, without gaps.
pub type Seq = u64;

/// One entry of a site's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    pub site: SiteName,
    pub incarnation: Incarnation,
    pub seq: Seq,
    pub at: Timestamp,
    pub actor: Actor,
    /// The commit the site was at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitRevision>,
    pub body: Body,
    /// The hash of the event before; of `<site>/<incarnation>` for the first.
    pub prev: Digest,
}

impl Event {
    /// What the next event of the log refers to.
    pub fn hash(&self) -> Digest {
        let value = serde_json::to_value(self).unwrap_or_default();
        Digest::of(&canonical::to_vec(&value))
    }
}

/// The actor that caused an event.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Actor {
    /// The site's orchestrator, by its own rules.
    Local,
    Node(NodeName),
    /// A person or a token, by name.
    Operator(String),
}

impl Actor {
    pub fn is_operator(&self) -> bool {
        self.operator().is_some()
    }

    /// The name of the operator.
    pub fn operator(&self) -> Option<&str> {
        match self {
            Actor::Operator(name) => Some(name),
            Actor::Local | Actor::Node(_) => None,
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Actor::Local => f.write_str("local"),
            Actor::Node(node) => write!(f, "node:{node}"),
            Actor::Operator(name) => write!(f, "operator:{name}"),
        }
    }
}

impl From<String> for Actor {
    /// Any name other than the local orchestrator's or a node's is an operator.
    fn from(text: String) -> Actor {
        if text == "local" {
            return Actor::Local;
        }
        if let Some(node) = text.strip_prefix("node:").and_then(|it| it.parse().ok()) {
            return Actor::Node(node);
        }
        Actor::Operator(text.strip_prefix("operator:").unwrap_or(&text).to_owned())
    }
}

impl From<Actor> for String {
    fn from(actor: Actor) -> String {
        actor.to_string()
    }
}
