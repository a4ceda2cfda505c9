//! The state of a site that the rules of `orders` read.

use crate::event::HoldScope;
use crate::id::{DeploymentId, DeploymentName, GitRevision, NodeName, PlacementId, SiteName};
use crate::order_rules::{DeploymentState, OrderState, StepState, rollback_target};
use crate::site::{Deployment, Placement, Site, deployment_path};

impl OrderState for Site {
    fn site(&self) -> &SiteName {
        self.name()
    }

    fn deployment(&self, id: &DeploymentId) -> Option<DeploymentState> {
        let deployment = self.deployments.get(id)?;
        let converged = deployment.last_converged.as_ref().map(|it| it.workload);
        let placements: Vec<&Placement> = self.placements_of(deployment).collect();
        let back = rollback_target(
            deployment.accepted.workload,
            deployment.last_converged.as_ref(),
            &deployment.quarantine,
            placements.iter().map(|it| &it.revisions),
        );
        Some(DeploymentState {
            name: deployment.name.clone(),
            withdrawn: deployment.withdrawn,
            quarantined: deployment.is_quarantined(),
            converged: converged == Some(deployment.accepted.workload),
            releasable: !deployment.quarantine.is_empty()
                || !deployment.rejected.is_empty()
                || deployment.is_stopped(),
            has_rollback_target: back.is_some(),
            paused_by: deployment.rollout.paused.as_ref().map(|it| it.by.clone()),
            step: StepState {
                is_last: deployment.step_allows_all_nodes(),
                is_done: deployment.rollout.soaking_since.is_some(),
                progress: Some(self.healthy_and_required(deployment)),
            },
            placements: placements.iter().map(|it| (it.id.node.clone(), it.state())).collect(),
        })
    }

    fn has_node(&self, node: &NodeName) -> bool {
        self.site_nodes.contains_key(node)
    }

    fn refuses_file(&self, name: &DeploymentName) -> bool {
        self.git.refused.contains_key(&deployment_path(&self.log.site, name))
    }

    fn is_held(&self, scope: &HoldScope) -> bool {
        self.holds.contains_key(scope)
    }

    fn holds_removal(&self) -> bool {
        self.git.removal.is_some()
    }

    fn held_history(&self) -> Option<&GitRevision> {
        self.git.rewritten.as_ref().map(|it| &it.commit)
    }
}

impl Site {
    pub(in crate::site) fn placements_of(
        &self,
        deployment: &Deployment,
    ) -> impl Iterator<Item = &Placement> {
        self.nodes_of(&deployment.id).filter_map(|node| {
            let id = PlacementId { deployment: deployment.id.clone(), node: node.clone() };
            self.placements.get(&id)
        })
    }
}
