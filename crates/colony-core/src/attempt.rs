//! An attempt: one try to bring one placement to one revision.
//!
//! The start and the end of an attempt each change the state of the placement.
//! If the orchestrator that owns an attempt or the node is lost, the attempt is
//! kept and marked as abandoned.

use serde::{Deserialize, Serialize};

use colony_margo::Digest;

use crate::code::Code;
use crate::id::BlobId;
use crate::state::Op;
use crate::time::{Monotonic, Timestamp};

/// One version of a deployment's file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Revision {
    /// The exact file in Git.
    pub blob: BlobId,
    /// The digest of what a node would run; files that differ only in policy
    /// share it.
    pub workload: Digest,
}

/// An attempt, in progress or ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Increases per placement and is never reused. It is part of the document
    /// sent to the node.
    pub number: u32,
    pub op: Op,
    pub revision: Revision,
    pub started: Timestamp,
    /// When the attempt counts as failed if it has not ended.
    pub deadline: Monotonic,
    /// Everything runs on the node, and only has to go on running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settling: Option<Settling>,
    pub end: Option<End>,
}

/// The settle time of containers that run: they count as healthy when they have
/// run for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settling {
    /// When the node reported that everything runs.
    pub since: Timestamp,
    pub until: Timestamp,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub at: Timestamp,
    pub outcome: Outcome,
    pub failure: Option<Failure>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Ok,
    Failed,
    Abandoned,
    Superseded,
}

/// What went wrong, as reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub code: Code,
    /// The component or deployment it happened in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The last lines the workload printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
}

impl Failure {
    pub fn new(code: Code, message: impl Into<String>) -> Failure {
        Failure { code, source: String::new(), message: message.into(), log: Vec::new() }
    }
}

/// The number of tries so far, and the time of the next automatic one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    pub tried: u32,
    /// The maximum number of tries; `None` if they continue until one succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
    /// When the next automatic try is due; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// The revision offered to a node, and the one it can roll back to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Revisions {
    /// The revision of the current or last attempt: the one that the node's
    /// manifest lists and, when INSTALLED, the one that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Revision>,
    /// The revision that was healthy before another one replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_good: Option<Revision>,
}

impl Revisions {
    /// The revision to roll back to, unless it is already the target.
    pub fn rollback_target(&self) -> Option<&Revision> {
        let target = self.target.as_ref().map(|it| it.workload);
        self.last_good.as_ref().filter(|it| Some(it.workload) != target)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Revision> {
        [&self.target, &self.last_good].into_iter().flatten()
    }
}
