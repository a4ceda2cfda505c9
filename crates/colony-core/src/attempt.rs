//! One try to bring one placement to one revision.
//!
//! Starting an attempt moves the state and its end moves it again; an attempt
//! whose owner or node was lost is abandoned, not forgotten.

use serde::{Deserialize, Serialize};

use colony_margo::Digest;

use crate::code::Code;
use crate::id::BlobId;
use crate::state::Op;
use crate::time::{Mono, Wall};

/// Which content of a deployment's file is meant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Revision {
    /// The exact file in Git.
    pub blob: BlobId,
    /// What a node would run; files that differ in policy alone share it.
    pub workload: Digest,
}

/// A try, under way or ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Rising per placement, never used twice: part of what the node is sent.
    pub number: u32,
    pub op: Op,
    pub revision: Revision,
    pub started: Wall,
    /// When it counts as failed if nothing is heard of it.
    pub deadline: Mono,
    pub end: Option<End>,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub at: Wall,
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

/// How often something was tried, and when it is tried again by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    pub tried: u32,
    /// The tries there are; without it they go on until one succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
    /// Without it nothing is tried until somebody acts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Wall>,
}

/// What a node was told to run, and what it can go back to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Revisions {
    /// Of the current or last attempt: what the node's manifest lists and,
    /// when INSTALLED, what runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Revision>,
    /// What was healthy when another revision took over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_good: Option<Revision>,
}

impl Revisions {
    /// The revision to go back to, if that would change anything.
    pub fn way_back(&self) -> Option<&Revision> {
        let target = self.target.as_ref().map(|it| it.workload);
        self.last_good.as_ref().filter(|it| Some(it.workload) != target)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Revision> {
        [&self.target, &self.last_good].into_iter().flatten()
    }
}
