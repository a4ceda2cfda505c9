//! What a deploy would do, or does.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use colony_core::id::DeploymentName;
use colony_core::margo::Finding;
use colony_core::plan::{PlanAction, PlanPull, PlanStep, PlanTarget, ValueChange};

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
    /// Nodes that remove the volumes of the deployment, with all data in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub purges: Vec<String>,
    #[schema(value_type = Vec<crate::schema::Finding>)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Why it is not applied: no node anywhere can run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
}

impl PlanView {
    /// Whether applying it would write something, or order something that runs otherwise.
    pub fn has_changes(&self) -> bool {
        !self.files.is_empty() || self.touches_running()
    }

    pub fn count(&self, action: PlanAction) -> usize {
        self.targets.iter().filter(|it| it.action == action).count()
    }

    /// Whether it touches something that runs, now or later.
    pub fn touches_running(&self) -> bool {
        let touches = [PlanAction::Update, PlanAction::Restart, PlanAction::Remove];
        self.targets.iter().any(|it| touches.contains(&it.end()))
    }
}

/// The change of one file in Git, as a unified diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    pub path: String,
    pub diff: String,
}
