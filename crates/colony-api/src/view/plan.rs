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
    pub parameters: Vec<ValueChange>,
    /// colony's own settings that change, and `node`: the nodes the file names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<ValueChange>,
    /// How a canary or a blue-green rollout spreads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<PlanStep>,
    /// Packages that nodes have to pull.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pulls: Vec<PlanPull>,
    /// One per file that would be written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileDiff>,
    #[schema(value_type = Vec<crate::schema::Finding>)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Why it is not applied: no node anywhere can run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
}

impl PlanView {
    /// Whether applying it would write anything.
    pub fn has_changes(&self) -> bool {
        !self.files.is_empty()
    }

    pub fn count(&self, action: PlanAction) -> usize {
        self.targets.iter().filter(|it| it.action == action).count()
    }

    /// Whether it touches something that runs, now or later.
    pub fn touches_running(&self) -> bool {
        let touches = [PlanAction::Update, PlanAction::Restart, PlanAction::Remove];
        self.targets.iter().any(|it| touches.contains(&it.later.unwrap_or(it.action)))
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
    /// Of `deferred`: what happens when the node or the site is back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later: Option<PlanAction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_version: Option<String>,
    /// Why it is refused or deferred, or what it will wait for: as a clause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlanAction {
    Create,
    /// Another version takes the place of the one that runs.
    Update,
    /// The same version starts again with other parameters.
    Restart,
    Remove,
    /// Nothing restarts; the policy in the file may change.
    Unchanged,
    /// It would change, but its node or site is offline: it catches up.
    Deferred,
    /// It cannot be there; the reason says why.
    Refused,
}

impl PlanAction {
    pub const ALL: [PlanAction; 7] = [
        PlanAction::Create,
        PlanAction::Update,
        PlanAction::Restart,
        PlanAction::Remove,
        PlanAction::Unchanged,
        PlanAction::Deferred,
        PlanAction::Refused,
    ];

    pub fn name(self) -> &'static str {
        match self {
            PlanAction::Create => "create",
            PlanAction::Update => "update",
            PlanAction::Restart => "restart",
            PlanAction::Remove => "remove",
            PlanAction::Unchanged => "unchanged",
            PlanAction::Deferred => "deferred",
            PlanAction::Refused => "refused",
        }
    }
}

/// A parameter or a setting that gets another value at a site.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValueChange {
    #[schema(value_type = String)]
    pub site: SiteName,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
}

/// One step of a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanStep {
    #[schema(value_type = String)]
    pub site: SiteName,
    /// From 1.
    pub step: u32,
    /// The nodes that get the revision in this step.
    #[schema(value_type = Vec<String>)]
    pub nodes: Vec<NodeName>,
    /// What the step does and what opens the next one.
    pub text: String,
}

/// A package and the nodes that have to pull it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanPull {
    /// `<repository>:<revision>`
    pub package: String,
    /// As `<site>/<node>`.
    pub targets: Vec<String>,
}

/// The change of one file in Git, as a unified diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    pub path: String,
    pub diff: String,
}
