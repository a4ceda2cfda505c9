//! A node of a site.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use colony_core::event::Presence;
use colony_core::id::{DeploymentName, NodeName, SiteName};
use colony_core::state::State;
use colony_core::time::Timestamp;

/// `GET /api/v1/nodes` and `GET /api/v1/nodes/{site}/{node}`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeView {
    #[schema(value_type = String)]
    pub site: SiteName,
    #[schema(value_type = String)]
    pub name: NodeName,
    /// `joined`, `online`, `suspect` or `offline`.
    #[schema(value_type = String, example = "online")]
    pub presence: Presence,
    /// Of the presence.
    #[schema(value_type = u64)]
    pub since: Timestamp,
    /// There is no contact with its site: the presence is from the last report.
    #[schema(value_type = Option<u64>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent_since: Option<Timestamp>,
    #[schema(value_type = Option<u64>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_heard: Option<Timestamp>,
    #[serde(default)]
    pub cordoned: bool,
    /// Whether it says that it can do its job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Why it is not as it should be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Such as `podman 4.3.1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The Margo document the node sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Value>,
    #[serde(default)]
    pub placements: Vec<NodePlacement>,
}

/// A deployment on the node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePlacement {
    #[schema(value_type = String)]
    pub deployment: DeploymentName,
    #[schema(value_type = crate::schema::PlacementState, example = "INSTALLED")]
    pub state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[schema(value_type = u64)]
    pub since: Timestamp,
}
