//! A node of the site: whether it lives, what it can do, what it was offered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use colony_margo::{Capabilities, Digest};

use crate::choice;
use crate::event::{Incarnation, Presence, VERSION_BITS};
use crate::id::{DeploymentId, NodeName};
use crate::time::{Mono, Wall};

/// The label that colony's own nodes have.
const OURS: &str = "colony";

/// What a site knows of a node.
#[derive(Debug, Clone)]
pub struct Member {
    pub name: NodeName,
    pub joined: Wall,
    pub(super) presence: Presence,
    /// Of the presence.
    pub(super) since: Wall,
    pub(super) last_heard: Mono,
    pub(super) last_heard_wall: Wall,
    pub(super) capabilities: Option<Arc<Capabilities>>,
    /// It said so itself to this process: not a backup, not hearsay.
    pub(super) vouched: bool,
    pub(super) cordoned: bool,
    /// The version of the manifest in force.
    pub(super) version: u64,
    /// The version of the manifest it last said it holds. Not stored.
    pub(super) holds: u64,
    /// What its manifest lists: rebuilt from the placements.
    pub(super) listed: BTreeMap<DeploymentId, Digest>,
    /// Everything placed on it, also what is leaving: rebuilt.
    pub(super) placed: BTreeSet<DeploymentId>,
    /// The ETag of the manifest in force, once computed.
    pub(super) etag: Option<Digest>,
}

/// The manifest a node says it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Have {
    pub version: u64,
    pub etag: Option<Digest>,
}

/// The first manifest version of an incarnation.
pub(super) fn first_version(incarnation: Incarnation) -> u64 {
    (u64::from(incarnation) << VERSION_BITS) + 1
}

/// These are the capabilities of a node of colony's own.
pub fn is_ours(capabilities: &Capabilities) -> bool {
    capabilities.labels().contains_key(OURS)
}

impl Member {
    pub(super) fn new(name: NodeName, incarnation: Incarnation, now: (Mono, Wall)) -> Member {
        Member {
            name,
            joined: now.1,
            presence: Presence::Joined,
            since: now.1,
            last_heard: now.0,
            last_heard_wall: now.1,
            capabilities: None,
            vouched: false,
            cordoned: false,
            version: first_version(incarnation),
            holds: 0,
            listed: BTreeMap::new(),
            placed: BTreeSet::new(),
            etag: None,
        }
    }

    pub fn presence(&self) -> Presence {
        self.presence
    }

    /// Since when it has this presence.
    pub fn since(&self) -> Wall {
        self.since
    }

    /// Its lease runs.
    pub fn is_online(&self) -> bool {
        matches!(self.presence, Presence::Online | Presence::Suspect)
    }

    pub fn last_heard(&self) -> Wall {
        self.last_heard_wall
    }

    pub fn is_cordoned(&self) -> bool {
        self.cordoned
    }

    /// Devices of another make do not know the question.
    pub(super) fn is_asked_for_capabilities(&self) -> bool {
        self.capabilities.is_none() || !self.vouched && self.is_ours()
    }

    /// It is a node of colony's own, for all that is known.
    pub(super) fn is_ours(&self) -> bool {
        // A node that has not said what it is cannot be a stranger yet.
        self.capabilities().is_none_or(is_ours)
    }

    pub fn capabilities(&self) -> Option<&Capabilities> {
        self.capabilities.as_deref()
    }

    /// It has said that it has all of these labels.
    pub(super) fn has_labels(&self, labels: &BTreeMap<String, String>) -> bool {
        choice::has_labels(self.capabilities(), labels)
    }

    /// The version of its manifest.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// What its manifest lists, with the digest of each document.
    pub fn listed(&self) -> &BTreeMap<DeploymentId, Digest> {
        &self.listed
    }
}
