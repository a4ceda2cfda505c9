//! What a node keeps on disk: one `Meta` row and one `Record` per deployment.
//!
//! A row holds all that must survive a crash and nothing that a look at the
//! engine would tell. Deadlines are stamps on `Mono`, which is stored too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use colony_margo::{ComponentName, DeploymentId, Digest, ManifestVersion};

use super::plan::Side;
use crate::attempt::Failure;
use crate::event::VERSION_BITS;
use crate::time::Mono;

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

/// What concerns the whole node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// The manifest that was accepted last. What it lists are the records
    /// that are not on their way out.
    pub accepted: Option<Accepted>,
    pub clock: Mono,
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
    /// What was prepared, by fingerprint.
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
    /// The same of what is staged.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub staged_restarts: BTreeMap<ComponentName, Restarts>,
    /// Why what runs on beside a staged document is not well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_lost: Option<Failure>,
    pub report: Report,
}

/// Where a deployment stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase")]
pub enum Phase {
    /// Being brought to its document.
    Applying {
        turns: BTreeMap<ComponentName, Turn>,
        ready: BTreeSet<ComponentName>,
        /// Something of the document before may have been stopped.
        swapping: bool,
    },
    /// Ran and was healthy; kept so. `lost` says why it is not at the moment.
    Installed { since: Mono, lost: Option<Failure> },
    /// Given up until another document comes.
    Failed { failure: Failure, ready: BTreeSet<ComponentName>, swapping: bool },
    /// Not listed any more since `version`.
    Removing { version: ManifestVersion, failure: Option<Failure>, retry: Retry },
    /// Gone; kept until the report of it is acknowledged.
    Removed { version: ManifestVersion },
}

/// A component that was told to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    pub since: Mono,
    /// It was started for this document; otherwise it was found running.
    pub started: bool,
}

/// Something that is tried until it works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    pub tries: usize,
    pub due: Option<Mono>,
}

/// The repairs of one installed component.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restarts {
    /// Of the last minutes.
    pub times: Vec<Mono>,
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
    /// The life of the manager behind the accepted manifest.
    pub fn incarnation(&self) -> Option<u64> {
        self.accepted.as_ref().map(|it| it.version.get() >> VERSION_BITS)
    }
}

impl Phase {
    pub(super) fn start() -> Phase {
        Phase::Applying { turns: BTreeMap::new(), ready: BTreeSet::new(), swapping: false }
    }

    /// The manifest lists the deployment.
    pub(super) fn is_wanted(&self) -> bool {
        !matches!(self, Phase::Removing { .. } | Phase::Removed { .. })
    }

    /// The latest time this phase knows of: the clock cannot be behind it.
    fn stamp(&self) -> Option<Mono> {
        match self {
            Phase::Applying { turns, .. } => turns.values().map(|it| it.since).max(),
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

    pub(super) fn stamp(&self) -> Option<Mono> {
        let restarts = self.restarts.values().chain(self.staged_restarts.values());
        let restarts = restarts.filter_map(|it| it.times.last().copied());
        self.phase.stamp().into_iter().chain(restarts).max()
    }
}
