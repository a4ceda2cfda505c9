//! Compares every plan with the choice of the site that follows.
//!
//! The plan is made from the projection of the central orchestrator at the
//! moment the site accepts the commit, provided that the projection covers the
//! site's whole log. Only commits that change or delete one deployment are
//! compared: with several, each choice depends on the one before. Left out:
//! deployments with chosen nodes that have no placement (a quarantined first
//! install), because a site does not report these nodes.

use std::collections::{BTreeMap, BTreeSet};

use colony_core::event::Body;
use colony_core::fleet::SiteView;
use colony_core::id::{DeploymentId, DeploymentName, NodeName, SiteName};
use colony_core::plan::{
    NextFile, Plan, PlanAction, PlanTarget, Request, SiteSnapshot, Snapshot, plan,
};
use colony_core::site::{Commit, Content, Deployment, File, Site, Step, deployment_path};
use colony_core::state::{Op, State};
use colony_core::time::Timestamp;

use crate::coverage::Trial;
use crate::world::World;

/// A plan, and the placements before the commit.
#[derive(Debug)]
pub(crate) struct ExpectedPlan {
    deployment: DeploymentId,
    plan: Plan,
    placements: BTreeMap<NodeName, (State, u32)>,
}

impl World {
    /// The plan of a commit, if it can be compared.
    pub(crate) fn expect_plan(&self, site: usize, commit: &Commit) -> Option<ExpectedPlan> {
        let local = &self.roles.sites[site];
        let view = self.roles.central.core.site(&local.name)?;
        if !local.core.is_ready() || view.head.log.as_ref() != Some(local.core.log()) {
            return None;
        }
        let (deployment, name, text) = changed_deployment(&local.core, commit)?;
        let placements = placements(&local.core, &deployment);
        let known = local.core.deployment(&deployment);
        let returns = known.is_some_and(Deployment::is_withdrawn);
        let stays = placements.iter().filter(|it| returns || !it.1.0.is_leaving());
        let placed: BTreeSet<&NodeName> = stays.map(|it| it.0).collect();
        if known.is_some_and(|it| it.nodes().iter().collect::<BTreeSet<_>>() != placed) {
            return None;
        }
        let file = NextFile { site: local.name.clone(), text, carried: BTreeSet::new() };
        let request = Request { name, files: vec![file], force: false };
        let plan = plan(&request, &snapshot(&local.name, view));
        Some(ExpectedPlan { deployment, plan, placements })
    }

    /// No node was chosen, removed or restarted that the plan did not list.
    pub(crate) fn check_plan(&mut self, site: usize, expected: &ExpectedPlan, step: &Step) {
        // A timer that was due changed the site before it accepted the commit.
        let Some(first) = step.events.first() else { return };
        let trial = if matches!(first.body, Body::DeploymentAccepted { .. }) {
            Trial::PlanCompared
        } else if matches!(first.body, Body::DeploymentWithdrawn { .. }) {
            Trial::DeletionCompared
        } else {
            return;
        };
        let core = &self.roles.sites[site].core;
        let Some(deployment) = core.deployment(&expected.deployment) else { return };
        self.coverage.trial(trial);
        // A withdrawn deployment is on its nodes until a hold is released.
        let none = BTreeSet::new();
        let chosen = if deployment.is_withdrawn() { &none } else { deployment.nodes() };
        let problem = differences(core, chosen, expected);
        if let Some(problem) = problem {
            let (name, plan) = (deployment.name.clone(), &expected.plan);
            self.violate(format!("{name}: {problem}, which is not in the plan {plan:?}"));
        }
    }
}

/// The one deployment that a commit changes or deletes, with its new file. A
/// mark that purges volumes changes no choice.
fn changed_deployment(
    core: &Site,
    commit: &Commit,
) -> Option<(DeploymentId, DeploymentName, Option<String>)> {
    let is_mark = |it: &&File| matches!(it.content, Content::Purge(_));
    let files: Vec<&File> = commit.files.iter().filter(|it| !is_mark(it)).collect();
    let [file] = files.as_slice() else { return None };
    match &file.content {
        Content::Deployment(document) => {
            Some((document.id().clone(), document.name.clone(), Some(document.text.clone())))
        }
        Content::Gone => {
            let is_file = |it: &&Deployment| deployment_path(core.name(), &it.name) == file.path;
            let deployment = core.deployments().filter(|it| !it.is_withdrawn()).find(is_file)?;
            Some((deployment.id.clone(), deployment.name.clone(), None))
        }
        Content::Site(_) | Content::Refused(_) | Content::Purge(_) => None,
    }
}

fn snapshot(site: &SiteName, view: &SiteView) -> Snapshot {
    let now = view.head.last_heard.unwrap_or(Timestamp(0));
    let known = SiteSnapshot { view: view.clone(), ..SiteSnapshot::default() };
    Snapshot { sites: BTreeMap::from([(site.clone(), known)]), versions: BTreeMap::new(), now }
}

fn placements(core: &Site, deployment: &DeploymentId) -> BTreeMap<NodeName, (State, u32)> {
    let own = core.placements().filter(|it| it.id.deployment == *deployment);
    own.map(|it| (it.id.node.clone(), (it.state(), it.attempt_number()))).collect()
}

/// The first difference.
fn differences(
    core: &Site,
    chosen: &BTreeSet<NodeName>,
    expected: &ExpectedPlan,
) -> Option<String> {
    let nodes = |is: &dyn Fn(&PlanTarget) -> bool| -> BTreeSet<&NodeName> {
        let targets = expected.plan.targets.iter().filter(|it| is(it));
        targets.filter_map(|it| it.node.as_ref()).collect()
    };
    let removed = nodes(&is_removal);
    let stays = nodes(&|it| !is_removal(it));
    // A chosen node keeps no placement if its only revision was given up.
    let after = placements(core, &expected.deployment);
    let leaves = |it: &NodeName| after.get(it).is_none_or(|it| it.0.is_leaving());
    let is_kept = |it: &NodeName| !(removed.contains(it) && leaves(it));
    if let Some(node) = chosen.iter().find(|it| is_kept(it) && !stays.contains(it)) {
        return Some(format!("{node} was chosen"));
    }
    // Without a reason nothing delays a removal.
    let is_certain = |it: &PlanTarget| is_removal(it) && it.reason.is_none();
    if let Some(node) = nodes(&is_certain).into_iter().find(|it| !stays.contains(it) && !leaves(it))
    {
        return Some(format!("{node} was not removed"));
    }
    let described =
        |it: &&&NodeName| core.site_node(it).is_some_and(|it| it.capabilities().is_some());
    let runs = nodes(&|it| !is_removal(it) && it.action != PlanAction::Refused);
    if let Some(node) = runs.iter().filter(described).find(|it| !chosen.contains(**it)) {
        return Some(format!("{node} was not chosen"));
    }
    let refused = nodes(&|it| it.action == PlanAction::Refused);
    let left = |(node, (state, attempt)): (&NodeName, &(State, u32))| {
        let now = after.get(node);
        let leaves = now.is_none_or(|it| it.0 == State::Deleting) && *state != State::Deleting;
        // A placement that waits for a refused revision was never on the node.
        let waited = *state == State::Pending && refused.contains(node);
        if leaves && !waited && !removed.contains(node) && *state != State::Failed(Op::Delete) {
            return Some(format!("{node} was removed"));
        }
        let unchanged = nodes(&|it| it.action == PlanAction::Unchanged).contains(node);
        let again = now.is_some_and(|it| it.1 != *attempt);
        (unchanged && again && *state == State::Installed).then(|| format!("{node} was restarted"))
    };
    expected.placements.iter().find_map(left)
}

fn is_removal(target: &PlanTarget) -> bool {
    target.end() == PlanAction::Remove
}
