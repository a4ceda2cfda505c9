//! What a node keeps on disk: one `Meta` row and one `Record` per deployment.
//!
//! A row holds everything that must survive a crash, and nothing that an
//! observation of the engine shows. Deadlines are points in time on
//! `Monotonic`, which is stored, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use colony_margo::{ComponentName, DeploymentId, Digest, ManifestVersion};

use crate::attempt::Failure;
use crate::document::Side;
use crate::event::VERSION_BITS;
use crate::time::Monotonic;

/// The name of a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Meta,
    Deployment(DeploymentId),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Meta => f.write_str("meta"),
            Key::Deployment(id) => write!(f, "{id}"),
        }
    }
}

/// One row, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "row", rename_all = "lowercase")]
pub enum Row {
    Meta(Meta),
    Deployment(Box<Record>),
}

/// The row of the node as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// The manifest that was accepted last. It lists the deployments whose
    /// records are not being removed.
    pub accepted: Option<Accepted>,
    pub clock: Monotonic,
    /// The number of the newest report.
    pub report: u64,
}

/// A manifest that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    pub version: ManifestVersion,
    pub etag: Option<String>,
    pub digest: Digest,
}

/// One deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub id: DeploymentId,
    /// The digest of the document being applied, as the manifest lists it.
    pub wire: Digest,
    pub text: Text,
    /// The document that was installed before, until this one is proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Text>,
    pub phase: Phase,
    /// The services of each prepared fingerprint.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub services: BTreeMap<Digest, BTreeSet<String>>,
    /// The fingerprints that were installed last.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub proven: BTreeSet<Digest>,
    /// Fingerprints that failed by their own fault since they were installed last.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub failed: BTreeSet<Digest>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub restarts: BTreeMap<ComponentName, Restarts>,
    /// The same for staged components.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub staged_restarts: BTreeMap<ComponentName, Restarts>,
    /// Why the active version beside a staged document is not healthy.
    #[serde(rename = "old_lost", default, skip_serializing_if = "Option::is_none")]
    pub active_failure: Option<Failure>,
    pub report: Report,
}

/// Where a deployment stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase")]
pub enum Phase {
    /// Being brought to its document.
    Applying {
        starts: BTreeMap<ComponentName, ComponentStart>,
        ready: BTreeSet<ComponentName>,
        /// Containers of the previous document may have been stopped.
        swapping: bool,
        /// Everything runs, and only has to go on running.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        settling: Option<Settling>,
    },
    /// Was running and healthy (a staged document: beside the active version),
    /// and is kept so. `current_failure` is why it is not at the moment.
    Installed {
        since: Monotonic,
        #[serde(rename = "lost")]
        current_failure: Option<Failure>,
    },
    /// Given up until another document arrives.
    Failed { failure: Failure, ready: BTreeSet<ComponentName>, swapping: bool },
    /// No longer listed since `version`.
    Removing {
        version: ManifestVersion,
        failure: Option<Failure>,
        retry: Retry,
        /// Its volumes are removed as well.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        purge: bool,
        /// Its images are not kept.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        images: bool,
    },
    /// Gone; kept until its report is acknowledged.
    Removed {
        version: ManifestVersion,
        /// Its volumes are gone as well.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        purged: bool,
    },
}

/// A component that was started, or was found running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentStart {
    pub since: Monotonic,
    /// It was started for this document; otherwise it was found running.
    pub started: bool,
}

/// The rest of the settle time, as of the observation that everything runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settling {
    pub until: Monotonic,
    /// In milliseconds.
    pub rest: u64,
}

/// The state of an operation that is tried until it succeeds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    pub tries: usize,
    pub due: Option<Monotonic>,
}

/// The repairs of one installed component.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restarts {
    /// Restarts within the restart window.
    pub times: Vec<Monotonic>,
    pub retry: Retry,
}

/// The newest report of a deployment. Its content follows from the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub number: u64,
    /// The digest of what was reported.
    pub content: Digest,
    pub acked: bool,
}

/// A document, cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Text(Arc<str>);

impl Text {
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text(text.into())
    }
}

impl From<Text> for String {
    fn from(text: Text) -> String {
        text.0.as_ref().to_owned()
    }
}

impl Meta {
    /// The incarnation of the local orchestrator behind the accepted manifest.
    pub fn incarnation(&self) -> Option<u64> {
        self.accepted.as_ref().map(|it| it.version.get() >> VERSION_BITS)
    }
}

impl Phase {
    pub(super) fn start() -> Phase {
        Phase::Applying {
            starts: BTreeMap::new(),
            ready: BTreeSet::new(),
            swapping: false,
            settling: None,
        }
    }

    /// The manifest lists the deployment.
    pub(super) fn is_wanted(&self) -> bool {
        !matches!(self, Phase::Removing { .. } | Phase::Removed { .. })
    }

    /// The latest time in this phase: the clock cannot be behind it.
    fn stamp(&self) -> Option<Monotonic> {
        match self {
            Phase::Applying { starts, .. } => starts.values().map(|it| it.since).max(),
            Phase::Installed { since, .. } => Some(*since),
            Phase::Failed { .. } | Phase::Removing { .. } | Phase::Removed { .. } => None,
        }
    }
}

impl Record {
    pub(super) fn restarts_on(&mut self, side: Side) -> &mut BTreeMap<ComponentName, Restarts> {
        match side {
            Side::Stage => &mut self.staged_restarts,
            Side::Active => &mut self.restarts,
        }
    }

    pub(super) fn stamp(&self) -> Option<Monotonic> {
        let restarts = self.restarts.values().chain(self.staged_restarts.values());
        let restarts = restarts.filter_map(|it| it.times.last().copied());
        self.phase.stamp().into_iter().chain(restarts).max()
    }
}
