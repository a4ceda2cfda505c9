//! What a deploy would do, or does.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use colony_core::id::{DeploymentName, NodeName, SiteName};
use colony_margo::Finding;

/// `POST /api/v1/deployments`, `…/rollback`, `DELETE …/{name}`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeployAnswer {
    pub plan: PlanView,
    /// The change is recorded and will be committed; false for a dry run and
    /// where there is nothing to change.
    pub accepted: bool,
    /// Follow the events behind this one to miss nothing of the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
}

/// What would be written, and what it means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanView {
    /// Over blobs, catalog digests and the target set: send it back to apply
    /// just this plan.
    pub hash: String,
    #[schema(value_type = String)]
    pub name: DeploymentName,
    pub application: String,
    /// Absent where it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    pub targets: Vec<PlanTarget>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<ParameterChange>,
    /// One per file that would be written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileDiff>,
    #[schema(value_type = Vec<crate::schema::Finding>)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

impl PlanView {
    /// Whether applying it would write anything.
    pub fn has_changes(&self) -> bool {
        !self.files.is_empty()
    }

    pub fn count(&self, action: PlanAction) -> usize {
        self.targets.iter().filter(|it| it.action == action).count()
    }
}

/// What happens at one node, or at a site whose nodes are not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanTarget {
    #[schema(value_type = String)]
    pub site: SiteName,
    #[schema(value_type = Option<String>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeName>,
    pub action: PlanAction,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_version: Option<String>,
    /// Of `refused` and `deferred`: as a clause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlanAction {
    Create,
    /// Changed in place; the workload restarts.
    Update,
    Remove,
    /// Nothing restarts; the policy in the file may change.
    Unchanged,
    /// It would change, but its node or site is offline: it catches up.
    Deferred,
    /// It cannot be there; the reason says why.
    Refused,
}

impl PlanAction {
    pub const ALL: [PlanAction; 6] = [
        PlanAction::Create,
        PlanAction::Update,
        PlanAction::Remove,
        PlanAction::Unchanged,
        PlanAction::Deferred,
        PlanAction::Refused,
    ];

    pub fn name(self) -> &'static str {
        match self {
            PlanAction::Create => "create",
            PlanAction::Update => "update",
            PlanAction::Remove => "remove",
            PlanAction::Unchanged => "unchanged",
            PlanAction::Deferred => "deferred",
            PlanAction::Refused => "refused",
        }
    }
}

/// A parameter that gets another value at a site.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ParameterChange {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
}

/// The change of one file in Git, as a unified diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    pub path: String,
    pub diff: String,
}
