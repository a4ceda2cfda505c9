//! What a change of a deployment's files means, before anything is written.
//!
//! `plan` is a pure function of a request and one snapshot of the fleet: for
//! every node what happens there, what waits, what is refused, which parameters
//! and settings change where. Nodes are selected with `choice`, the rule that
//! the site itself uses. Left out on purpose: how the files are created
//! (catalog and parameters are resolved before), and the commit. The API shows
//! the parts of a plan as they are here.

mod difference;
mod nodes;
mod profile;
mod rollback;
mod site;
mod steps;
mod wait;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fleet::SiteView;
use crate::id::{BlobId, DeploymentName, NodeName, SiteName};
use crate::site::SiteSettings;
use crate::time::Timestamp;

pub use difference::{difference, no_blob, values, versions_named};
pub use profile::{ProfileChoice, choose_profile};
pub use rollback::{RollbackPlan, plan_rollback};

/// The intended files of one deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub name: DeploymentName,
    pub files: Vec<NextFile>,
    /// Removals do not wait for nodes that cannot confirm them.
    pub force: bool,
}

/// The file of one site.
#[derive(Debug, Clone, PartialEq)]
pub struct NextFile {
    pub site: SiteName,
    /// `None`: the deployment is deleted there.
    pub text: Option<String>,
    /// Parameters of a new site whose values come from the other sites.
    pub carried: BTreeSet<String>,
}

/// Everything a plan depends on, as of one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub sites: BTreeMap<SiteName, SiteSnapshot>,
    /// The application's version in a file, by its blob.
    pub versions: BTreeMap<BlobId, String>,
    pub now: Timestamp,
}

/// One site in a snapshot.
#[derive(Debug, Clone, Default)]
pub struct SiteSnapshot {
    pub view: SiteView,
    /// `sites/<site>.yaml` in Git.
    pub settings: SiteSettings,
    /// The text that the request changes: the deployment's file in Git or, if the
    /// site cannot use it, the last one that it could.
    pub before: Option<String>,
}

/// The effect of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    pub targets: Vec<PlanTarget>,
    pub parameters: Vec<ValueChange>,
    pub settings: Vec<ValueChange>,
    /// How the new revision spreads, where that is in steps.
    pub steps: Vec<PlanStep>,
    /// Packages that nodes have to pull, as far as files name them.
    pub pulls: Vec<PlanPull>,
    pub warnings: Vec<String>,
    /// Why the plan can run nowhere.
    pub refusal: Option<String>,
}

/// The effect on one node, or on a site whose nodes are not known. (Not the
/// target of a file, which is the node it names.)
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlanTarget {
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub site: SiteName,
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
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

impl PlanTarget {
    /// What happens there, now or later.
    pub fn end(&self) -> PlanAction {
        self.later.unwrap_or(self.action)
    }

    /// Defers the action until the node or the site is online.
    fn deferred(self, later: PlanAction, reason: String) -> PlanTarget {
        let (action, later) = (PlanAction::Deferred, Some(later));
        PlanTarget { action, later, reason: Some(reason), ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ValueChange {
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub site: SiteName,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
}

/// One step of a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlanStep {
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub site: SiteName,
    /// From 1.
    pub step: u32,
    /// The nodes that get the revision in this step.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub nodes: Vec<NodeName>,
    /// What the step does and what opens the next one.
    pub text: String,
}

/// A package and the nodes that have to pull it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlanPull {
    /// `<repository>:<revision>`
    pub package: String,
    /// As `<site>/<node>`.
    pub targets: Vec<String>,
}

/// How many reasons of a refusal are listed.
const REASONS_LISTED: usize = 5;

/// Plans `request`.
pub fn plan(request: &Request, snapshot: &Snapshot) -> Plan {
    let mut plan = Plan::default();
    let mut places = 0;
    for file in &request.files {
        let Some(site) = snapshot.sites.get(&file.site) else { continue };
        let planner = site::SitePlanner::new(request, file, site, snapshot);
        places += planner.add_to(&mut plan);
        difference::add_to(&mut plan, file, site);
    }
    let wants_some = request.files.iter().any(|it| it.text.is_some());
    plan.refusal = (wants_some && places == 0).then(|| refusal(&request.name, &plan));
    plan
}

/// Why nothing runs anywhere.
fn refusal(name: &DeploymentName, plan: &Plan) -> String {
    let is_refused = |it: &PlanTarget| it.action == PlanAction::Refused;
    // Without a refusal, running placements are removed: for these reasons.
    let some = plan.targets.iter().any(is_refused);
    let refused =
        || plan.targets.iter().filter(|it| if some { is_refused(it) } else { it.reason.is_some() });
    let line = |it: &PlanTarget| {
        let place = it.node.as_ref().map_or(String::new(), |node| format!("/{node}"));
        format!("{}{place}: {}", it.site, it.reason.as_deref().unwrap_or("refused"))
    };
    let mut lines: Vec<String> = refused().take(REASONS_LISTED).map(line).collect();
    let more = refused().count().saturating_sub(REASONS_LISTED);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    format!("no node can run {name}, so nothing was changed: {}", lines.join("; "))
}
