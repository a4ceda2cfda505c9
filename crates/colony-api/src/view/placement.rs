//! One deployment on one node.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use colony_core::event::Presence;
use colony_core::id::{GitRevision, NodeName};
use colony_core::state::State;
use colony_core::time::Timestamp;

/// Where a deployment stands on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacementView {
    #[schema(value_type = String)]
    pub node: NodeName,
    #[schema(value_type = crate::schema::PlacementState, example = "INSTALLED")]
    pub state: State,
    #[schema(value_type = u64)]
    pub since: Timestamp,
    /// What the node runs or was instructed to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it ran before and can go back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_good: Option<String>,
    /// The commit that brought the version.
    #[schema(value_type = Option<String>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<GitRevision>,
    #[serde(default)]
    pub attempt: u32,
    #[schema(value_type = String, example = "online")]
    pub presence: Presence,
    /// The last contact of the node, where that says something.
    #[schema(value_type = Option<u64>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_heard: Option<Timestamp>,
    /// Nothing is done here until the node returns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred: Option<Deferred>,
    /// What went wrong last; gone when it is INSTALLED.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    /// What an attempt under way is doing: `pulling 34 of 120 MB`, `running for
    /// 3 s, counts as INSTALLED after 5 s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// An event of it did not fit the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flagged: Option<String>,
}

/// A target that blocks nothing and catches up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deferred {
    /// As a clause: `offline 3 h`.
    pub reason: String,
    #[schema(value_type = Option<u64>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureView {
    /// Of the published table: `unhealthy`, `image-missing`.
    pub code: String,
    /// As reported: `GET / 500, 3×`.
    #[serde(default)]
    pub message: String,
    /// The component it happened in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Tries spent so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tries: Option<u32>,
    /// Tries it may spend; absent: without limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
    /// When it is tried again by itself.
    #[schema(value_type = Option<u64>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// What a person can do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// The last lines the workload printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
}
