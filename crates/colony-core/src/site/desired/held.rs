//! Content of Git that a site does not apply: refused files, held commits.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use colony_margo::Finding;

use crate::id::{DeploymentId, GitRevision};
use crate::time::Timestamp;

/// A file in Git that cannot be used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredFile")]
pub struct RefusedFile {
    pub findings: Vec<Finding>,
    pub since: Timestamp,
}

impl RefusedFile {
    /// Takes the findings of another commit; the same findings keep their
    /// `since`.
    pub(crate) fn replace_with(&mut self, other: RefusedFile) {
        if self.findings != other.findings {
            *self = other;
        }
    }
}

/// Earlier releases stored the findings alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredFile {
    Findings(Vec<Finding>),
    File { findings: Vec<Finding>, since: Timestamp },
}

impl From<StoredFile> for RefusedFile {
    fn from(stored: StoredFile) -> RefusedFile {
        match stored {
            StoredFile::Findings(findings) => RefusedFile { findings, since: Timestamp(0) },
            StoredFile::File { findings, since } => RefusedFile { findings, since },
        }
    }
}

/// A commit that removes too much at once; its removals wait for a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldRemoval {
    pub commit: GitRevision,
    pub deployments: BTreeSet<DeploymentId>,
    pub since: Timestamp,
}

/// A rewritten history that waits to be accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldHistory {
    pub commit: GitRevision,
    pub since: Timestamp,
}
