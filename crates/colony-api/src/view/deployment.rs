//! A deployment over its sites.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use colony_core::event::StepStanding;
use colony_core::fleet::{Outcome, RollupStatus};
use colony_core::id::{DeploymentId, DeploymentName, GitRevision, NodeName, SiteName};
use colony_core::margo::Finding;
use colony_core::time::Timestamp;

use super::{FailureView, HoldView, PlacementView, ReasonView};

/// `GET /api/v1/deployments` and `GET /api/v1/deployments/{name}`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentView {
    #[schema(value_type = String)]
    pub name: DeploymentName,
    pub application: String,
    /// What Git wants, or wanted of what is being deleted; absent where sites differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub outcome: Outcome,
    /// The outcome in a sentence: what, where, and what happens next.
    pub sentence: String,
    pub sites: Vec<DeploymentSite>,
}

/// A deployment at one site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentSite {
    #[schema(value_type = String)]
    pub site: SiteName,
    /// Absent while only Git knows it.
    #[schema(value_type = Option<String>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<DeploymentId>,
    /// PENDING, WAITING, ROLLED_BACK, CONFLICT, REFUSED, GONE, or its worst placement's state.
    #[schema(value_type = crate::schema::DeploymentStatus)]
    pub status: RollupStatus,
    #[schema(value_type = u64)]
    pub since: Timestamp,
    /// What Git wants here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The commit that wants it.
    #[schema(value_type = Option<String>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<GitRevision>,
    /// There is no contact with the site; its last report is shown.
    #[schema(value_type = Option<u64>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent_since: Option<Timestamp>,
    #[serde(default)]
    pub placements: Vec<PlacementView>,
    /// Revisions this site refuses until they are released.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quarantine: Vec<QuarantineView>,
    /// Revisions that single nodes refuse until they are released (`onFailure: rollback-node`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<QuarantineView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolled_back: Option<RolledBackView>,
    /// The rollout stopped and waits for an operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StoppedView>,
    /// Where a rollout in steps stands, or one that is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout: Option<RolloutView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldView>,
    /// Git held something else than was expected; nothing was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict: Option<ConflictView>,
    /// What is wrong with the file in Git.
    #[schema(value_type = Vec<crate::schema::Finding>)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// How many nodes run what Git wants here.
    #[serde(default)]
    pub installed: u64,
    /// Of a deployment that has left the site: from how many nodes it was
    /// removed. The central orchestrator keeps this; a site forgets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<u64>,
    /// Of these, the removals that no node confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unconfirmed: Option<u64>,
    /// What it waits for, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<ReasonView>,
}

impl DeploymentSite {
    /// Nothing is left of it here.
    pub fn is_gone(&self) -> bool {
        self.status == RollupStatus::Gone
    }
}

/// A `status` as sentences and tables spell it: `ROLLED BACK`.
pub fn status_text(status: &impl fmt::Display) -> String {
    status.to_string().replace('_', " ")
}

/// A revision that is refused at a site, or on one of its nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuarantineView {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The workload digest that is refused.
    pub workload: String,
    /// As a clause: `laptop unhealthy (GET / 500, 3×)`.
    pub reason: String,
    #[schema(value_type = Option<String>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    #[schema(value_type = u64)]
    pub since: Timestamp,
}

/// A site left a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolledBackView {
    /// The bad version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What runs; absent: a first install was undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[schema(value_type = u64)]
    pub since: Timestamp,
    /// The commit that took the bad version out of Git.
    #[schema(value_type = Option<String>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revert: Option<GitRevision>,
    /// Why there is no such commit: another author changed the file in the meantime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_reverted: Option<String>,
}

/// A rollout in steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutView {
    /// The step that is open, from 1.
    pub step: u32,
    pub of: u32,
    /// How many nodes may have the revision; absent if all may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// It runs beside the old revision until the next step.
    #[serde(default)]
    pub staged: bool,
    pub standing: RolloutStanding,
    /// When the soak ends.
    #[schema(value_type = Option<u64>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<PausedView>,
}

/// What the open step of a rollout does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RolloutStanding {
    /// Nodes get the revision.
    Open,
    Soaking,
    AwaitsPromotion,
    Paused,
}

/// Who paused a rollout, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PausedView {
    pub by: String,
    #[serde(default)]
    pub note: String,
    #[schema(value_type = u64)]
    pub since: Timestamp,
}

impl From<&colony_core::fleet::RolloutView> for RolloutView {
    fn from(it: &colony_core::fleet::RolloutView) -> RolloutView {
        let (standing, until) = match it.standing {
            StepStanding::Open => (RolloutStanding::Open, None),
            StepStanding::Soaking { until } => (RolloutStanding::Soaking, Some(until)),
            StepStanding::AwaitsPromotion => (RolloutStanding::AwaitsPromotion, None),
        };
        let standing = if it.paused.is_some() { RolloutStanding::Paused } else { standing };
        let paused = it.paused.as_ref().map(|it| PausedView {
            by: it.by.clone(),
            note: it.note.clone(),
            since: it.since,
        });
        let (step, of, nodes, staged) = (it.step, it.of, it.nodes, it.staged);
        RolloutView { step, of, nodes, staged, standing, until, paused }
    }
}

/// A rollout that stopped at its first failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoppedView {
    #[schema(value_type = String)]
    pub node: NodeName,
    pub failure: FailureView,
    #[schema(value_type = u64)]
    pub since: Timestamp,
}

/// Another author wrote the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConflictView {
    /// From what was expected to what is there.
    pub diff: String,
    #[schema(value_type = u64)]
    pub since: Timestamp,
}

/// `GET /api/v1/deployments/{name}/history`: its commits, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryView {
    #[schema(value_type = String)]
    pub name: DeploymentName,
    pub entries: Vec<HistoryEntry>,
}

/// A commit that changed the deployment at a site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    #[schema(value_type = String)]
    pub commit: GitRevision,
    #[schema(value_type = u64)]
    pub at: Timestamp,
    #[schema(value_type = String)]
    pub site: SiteName,
    pub author: String,
    pub subject: String,
    /// Absent: the file was removed, or cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The commit removed the file.
    #[serde(default)]
    pub removed: bool,
    /// What differs from the commit before: `version 1.0 → 1.1`, `replicas 3 → 1`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
}
