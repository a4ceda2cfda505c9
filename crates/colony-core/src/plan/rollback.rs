//! Plans the rollback to the last good revision, as every site would execute
//! it.

use std::collections::{BTreeMap, BTreeSet};

use super::site::SitePlanner;
use super::{Plan, PlanAction, PlanTarget, Request, Snapshot, difference};
use crate::attempt::Revision;
use crate::fleet::{DeploymentView, ReportedSite};
use crate::id::{BlobId, DeploymentId, DeploymentName, SiteName};
use crate::order_rules::{self, Refusal};
use crate::plan::NextFile;
use crate::site::Action;

/// The effect of a rollback order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RollbackPlan {
    pub targets: Vec<PlanTarget>,
    /// By site: the deployment, and the revision Git holds afterwards.
    pub orders: Vec<(SiteName, DeploymentId, Revision)>,
    /// Why the other sites stay as they are.
    pub refusals: Vec<Refusal>,
}

impl RollbackPlan {
    /// The plan with what differs between the files in Git and those that Git
    /// will hold, by the rule of a deploy.
    pub fn with_files(&self, texts: &BTreeMap<BlobId, String>, snapshot: &Snapshot) -> Plan {
        let mut plan = Plan { targets: self.targets.clone(), ..Plan::default() };
        for (site, _, good) in &self.orders {
            let Some(known) = snapshot.sites.get(site) else { continue };
            let text = texts.get(&good.blob).cloned();
            let file = NextFile { site: site.clone(), text, carried: BTreeSet::new() };
            difference::add_to(&mut plan, &file, known);
        }
        plan
    }
}

/// Plans the rollback of a deployment at these sites.
pub fn plan_rollback(
    name: &DeploymentName,
    sites: &[SiteName],
    snapshot: &Snapshot,
) -> RollbackPlan {
    let mut plan = RollbackPlan::default();
    for site in sites {
        let Some(known) = snapshot.sites.get(site) else { continue };
        let found = known.view.deployment_named(name).filter(|it| !it.withdrawn);
        let Some(deployment) = found else { continue };
        let order = Action::Rollback { deployment: deployment.id.clone() };
        let reported = ReportedSite { name: site, view: &known.view };
        if let Err(refusal) = order_rules::check(&order, &reported) {
            plan.refusals.push(refusal);
            continue;
        }
        let Some(good) = known.view.rollback_target(deployment) else { continue };
        let targets = targets(name, site, deployment, good, snapshot);
        plan.targets.extend(targets);
        plan.orders.push((site.clone(), deployment.id.clone(), good.clone()));
    }
    plan
}

fn targets(
    name: &DeploymentName,
    site: &SiteName,
    deployment: &DeploymentView,
    good: &Revision,
    snapshot: &Snapshot,
) -> Vec<PlanTarget> {
    let Some(known) = snapshot.sites.get(site) else { return Vec::new() };
    let file = NextFile { site: site.clone(), text: None, carried: Default::default() };
    let request = Request { name: name.clone(), files: Vec::new(), force: false };
    let planner = SitePlanner::new(&request, &file, known, snapshot);
    let placed = known.view.placements_of(&deployment.id);
    let target = |it: &crate::fleet::PlacementView| {
        let same = it.revisions.target.as_ref().is_some_and(|it| it.workload == good.workload);
        let to_version = snapshot.versions.get(&good.blob).cloned();
        let change = planner.change(it, to_version.as_deref());
        let action = if same { PlanAction::Unchanged } else { change };
        PlanTarget {
            from_version: planner.version(it),
            to_version,
            ..planner.target(Some(&it.id.node), action, None)
        }
    };
    placed.filter(|it| !it.state.is_leaving()).map(target).collect()
}
