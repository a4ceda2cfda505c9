//! The whole fleet at a glance.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use colony_core::fleet::Outcome;
use colony_core::id::{DeploymentName, GitRevision};
use colony_core::time::Timestamp;

use super::SiteView;

/// `GET /api/v1/status`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusView {
    pub role: Role,
    /// Of the program that answers.
    pub version: String,
    /// Where it answers, for people.
    pub url: String,
    pub ready: bool,
    /// Why it is not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// The newest commit of the deployments repository.
    #[schema(value_type = Option<String>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<GitRevision>,
    /// When this was true.
    #[schema(value_type = u64)]
    pub at: Timestamp,
    pub sites: Vec<SiteView>,
    pub deployments: Vec<DeploymentSummary>,
    /// What a person should look at, the gravest first.
    #[serde(default)]
    pub attention: Vec<Attention>,
}

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Central,
    Local,
}

/// A deployment in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentSummary {
    #[schema(value_type = String)]
    pub name: DeploymentName,
    pub application: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub outcome: Outcome,
    pub sentence: String,
    pub sites: u64,
    /// Placements that are there, and all.
    pub installed: u64,
    pub placements: u64,
}

/// Something that does not go on by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attention {
    /// Such as `hello@home` or `plant-b/b2`.
    pub subject: String,
    /// The published name of the cause.
    #[serde(default)]
    pub cause: String,
    pub sentence: String,
    /// The command that helps, or what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub act: Option<String>,
}
