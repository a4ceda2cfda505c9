//! A site and what waits for a person's word there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use colony_core::fleet::SitePresence;
use colony_core::id::{DeploymentName, GitRevision, SiteName};
use colony_core::margo::Finding;
use colony_core::time::Timestamp;

/// `GET /api/v1/sites` and `GET /api/v1/sites/{site}`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SiteView {
    #[schema(value_type = String)]
    pub name: SiteName,
    pub presence: SitePresence,
    #[schema(value_type = Option<u64>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined: Option<Timestamp>,
    #[schema(value_type = Option<u64>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_heard: Option<Timestamp>,
    /// Counts the orchestrators the site has had, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<u32>,
    /// Whether its orchestrator can do its job, as it said last.
    pub ready: bool,
    /// Why it cannot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Of its orchestrator's program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The commit it is at.
    #[schema(value_type = Option<String>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<GitRevision>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Where its nodes join.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
    /// The fingerprint of its CA.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    pub nodes: NodeCounts,
    /// Deployments by where they stand: `INSTALLED` → 12.
    #[serde(default)]
    pub deployments: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<HoldView>,
    /// Files of its folder that cannot be used.
    #[schema(value_type = Vec<crate::schema::Finding>)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Orders it has not acknowledged.
    #[serde(default)]
    pub commands_open: u64,
}

/// Nodes of a site by what is known of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeCounts {
    pub total: u64,
    /// Online or late within the lease.
    pub online: u64,
    /// Nothing is known of them, because there is no contact with their site.
    #[serde(default)]
    pub unknown: u64,
    pub cordoned: u64,
}

/// Something stands still until a person lets it go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HoldView {
    pub what: crate::request::ReleaseWhat,
    /// Absent: the whole site.
    #[schema(value_type = Option<String>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<DeploymentName>,
    /// Who; colony itself for removals and rewritten histories.
    pub by: String,
    #[serde(default)]
    pub note: String,
    #[schema(value_type = u64)]
    pub since: Timestamp,
    /// Of a removal or a rewritten history.
    #[schema(value_type = Option<String>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<GitRevision>,
}
