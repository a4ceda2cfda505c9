//! A node of the site: its presence, its capabilities, its manifest.

pub(in crate::site) mod liveness;
pub(in crate::site) mod manifest;
pub(in crate::site) mod purge;
pub(in crate::site) mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use colony_margo::{Capabilities, Digest};

use crate::choice;
use crate::event::{Incarnation, Presence, VERSION_BITS};
use crate::id::{DeploymentId, NodeName};
use crate::purge::Cleanup;
use crate::time::{Monotonic, Timestamp};

/// The label that colony's own nodes have.
const OURS: &str = "colony";

/// The state of a node at its site.
#[derive(Debug, Clone)]
pub struct SiteNode {
    pub name: NodeName,
    pub joined: Timestamp,
    pub(in crate::site) presence: Presence,
    /// Since when the node has this presence.
    pub(in crate::site) since: Timestamp,
    pub(in crate::site) last_heard: Monotonic,
    pub(in crate::site) last_heard_wall: Timestamp,
    pub(in crate::site) capabilities: Option<Arc<Capabilities>>,
    /// The node itself sent its capabilities to this process; they do not come
    /// from stored rows or a seed.
    pub(in crate::site) capabilities_confirmed: bool,
    pub(in crate::site) cordoned: bool,
    /// The version of the manifest in force.
    pub(in crate::site) version: u64,
    /// The manifest version that the node last reported to hold. Not stored.
    pub(in crate::site) holds: u64,
    /// The deployments that its manifest lists; rebuilt from the placements.
    pub(in crate::site) listed: BTreeMap<DeploymentId, Digest>,
    /// The deployments placed on it, including those being removed; rebuilt.
    pub(in crate::site) placed: BTreeSet<DeploymentId>,
    /// What it must remove with them; rebuilt.
    pub(in crate::site) cleanup: Cleanup,
    /// The ETag of the manifest in force, once computed.
    pub(in crate::site) etag: Option<Digest>,
}

/// The manifest that a node reports to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Have {
    pub version: u64,
    pub etag: Option<Digest>,
}

/// The first manifest version of an incarnation.
pub(in crate::site) fn first_version(incarnation: Incarnation) -> u64 {
    (u64::from(incarnation) << VERSION_BITS) + 1
}

/// Whether these are the capabilities of one of colony's own nodes.
pub fn is_colony_node(capabilities: &Capabilities) -> bool {
    capabilities.labels().contains_key(OURS)
}

impl SiteNode {
    pub(in crate::site) fn new(
        name: NodeName,
        incarnation: Incarnation,
        now: (Monotonic, Timestamp),
    ) -> SiteNode {
        SiteNode {
            name,
            joined: now.1,
            presence: Presence::Joined,
            since: now.1,
            last_heard: now.0,
            last_heard_wall: now.1,
            capabilities: None,
            capabilities_confirmed: false,
            cordoned: false,
            version: first_version(incarnation),
            holds: 0,
            listed: BTreeMap::new(),
            placed: BTreeSet::new(),
            cleanup: Cleanup::default(),
            etag: None,
        }
    }

    pub fn presence(&self) -> Presence {
        self.presence
    }

    /// Since when the node has this presence.
    pub fn since(&self) -> Timestamp {
        self.since
    }

    /// The lease of the node has not expired.
    pub fn is_online(&self) -> bool {
        matches!(self.presence, Presence::Online | Presence::Suspect)
    }

    pub fn last_heard(&self) -> Timestamp {
        self.last_heard_wall
    }

    pub fn is_cordoned(&self) -> bool {
        self.cordoned
    }

    /// Whether the site requests capabilities: if they are missing or, for
    /// colony's own nodes, unconfirmed. Devices of other vendors do not know
    /// the request.
    pub(in crate::site) fn is_asked_for_capabilities(&self) -> bool {
        self.capabilities.is_none() || !self.capabilities_confirmed && self.is_ours()
    }

    /// It is one of colony's own nodes, as far as is known.
    pub(in crate::site) fn is_ours(&self) -> bool {
        // A node that has not reported its capabilities counts as one.
        self.capabilities().is_none_or(is_colony_node)
    }

    pub fn capabilities(&self) -> Option<&Capabilities> {
        self.capabilities.as_deref()
    }

    /// The node has reported all of these labels.
    pub(in crate::site) fn has_labels(&self, labels: &BTreeMap<String, String>) -> bool {
        choice::has_labels(self.capabilities(), labels)
    }

    /// The version of its manifest.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The deployments that its manifest lists, with the digest of each
    /// document.
    pub fn listed(&self) -> &BTreeMap<DeploymentId, Digest> {
        &self.listed
    }
}
