//! A site as its reports describe it, for the rules of orders.

use crate::attempt::Revision;
use crate::event::{HoldScope, StepStanding};
use crate::fleet::{DeploymentView, SiteView};
use crate::id::{DeploymentId, DeploymentName, GitRevision, NodeName, SiteName};
use crate::order_rules::{DeploymentState, OrderState, StepState, rollback_target};
use crate::site::{Action, Command, deployment_path};

/// A site with its name. Orders that the site has not acknowledged count as
/// executed, because orders are executed in sequence.
#[derive(Debug, Clone, Copy)]
pub struct ReportedSite<'a> {
    pub name: &'a SiteName,
    pub view: &'a SiteView,
}

impl OrderState for ReportedSite<'_> {
    fn site(&self) -> &SiteName {
        self.name
    }

    fn deployment(&self, id: &DeploymentId) -> Option<DeploymentState> {
        let deployment = self.view.deployments.get(id)?;
        let converged = deployment.last_converged.as_ref().map(|it| it.workload);
        let placements = || self.view.placements_of(id);
        Some(DeploymentState {
            name: deployment.name.clone(),
            withdrawn: deployment.withdrawn,
            quarantined: deployment.is_quarantined(),
            converged: converged == Some(deployment.accepted.workload),
            releasable: !deployment.quarantine.is_empty()
                || !deployment.rejected.is_empty()
                || deployment.stopped.is_some(),
            has_rollback_target: self.view.rollback_target(deployment).is_some(),
            paused_by: self.paused_by(deployment),
            step: step(deployment),
            placements: placements().map(|it| (it.id.node.clone(), it.state)).collect(),
        })
    }

    fn has_node(&self, node: &NodeName) -> bool {
        self.view.nodes.contains_key(node)
    }

    fn refuses_file(&self, name: &DeploymentName) -> bool {
        self.view.files.contains_key(&deployment_path(self.name, name))
    }

    fn is_held(&self, scope: &HoldScope) -> bool {
        let ordered = self.last_order(|it| {
            if let Action::Hold { scope: held, .. } = &it.action {
                return (held == scope).then_some(true);
            }
            let Action::ReleaseHold { scope: released } = &it.action else { return None };
            (released == scope).then_some(false)
        });
        ordered.unwrap_or_else(|| self.view.holds.holds.contains_key(scope))
    }

    fn holds_removal(&self) -> bool {
        self.view.holds.removal.is_some()
    }

    fn held_history(&self) -> Option<&GitRevision> {
        self.view.holds.history.as_ref().map(|it| &it.commit)
    }
}

impl SiteView {
    /// The revision that a rollback would restore.
    pub fn rollback_target<'a>(&'a self, deployment: &'a DeploymentView) -> Option<&'a Revision> {
        let (accepted, last_converged) =
            (deployment.accepted.workload, deployment.last_converged.as_ref());
        let nodes = self.placements_of(&deployment.id).map(|it| &it.revisions);
        rollback_target(accepted, last_converged, &deployment.quarantine, nodes)
    }
}

impl ReportedSite<'_> {
    fn paused_by(&self, deployment: &DeploymentView) -> Option<String> {
        let own = |it: &DeploymentId| *it == deployment.id;
        let ordered = self.last_order(|it| {
            if let Action::Pause { deployment, .. } = &it.action {
                return own(deployment).then(|| Some(it.by.clone()));
            }
            let (Action::Resume { deployment } | Action::Abort { deployment, .. }) = &it.action
            else {
                return None;
            };
            own(deployment).then_some(None)
        });
        let reported = || deployment.rollout.as_ref()?.paused.as_ref().map(|it| it.by.clone());
        ordered.unwrap_or_else(reported)
    }

    /// The result of `effect` for the last order that has one.
    fn last_order<T>(&self, effect: impl Fn(&Command) -> Option<T>) -> Option<T> {
        self.view.commands.values().rev().find_map(effect)
    }
}

/// A deployment without a reported rollout has one step: a site reports the
/// steps of every rollout that has several.
fn step(deployment: &DeploymentView) -> StepState {
    let Some(rollout) = &deployment.rollout else {
        return StepState { is_last: true, is_done: false, progress: None };
    };
    StepState {
        is_last: rollout.step >= rollout.of,
        is_done: rollout.standing != StepStanding::Open,
        progress: None,
    }
}
