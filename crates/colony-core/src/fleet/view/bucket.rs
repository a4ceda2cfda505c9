//! The bucket a placement counts in for the outcome of its deployment.

use crate::fleet::{CentralChange, DeploymentView, PlacementView, SiteView};
use crate::id::DeploymentName;
use crate::site::is_colony_node;
use crate::state::State;

/// The bucket of one placement, by what an operator waits for. Every placement
/// counts once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlacementBucket {
    /// PENDING, or being installed for the first time.
    Installing,
    /// Runs the accepted revision.
    Installed,
    /// Being updated to another revision, or queued for it.
    Updating,
    /// Rolling back or rolled back. Not a success.
    RolledBack,
    Failed,
    /// The attempt was lost, and the node is online.
    Unknown,
    /// Waits for an offline node.
    Deferred,
    Deleting,
}

impl SiteView {
    /// How many nodes run the revision in Git of a deployment here: none before
    /// the site has accepted it.
    pub fn installed(&self, name: &DeploymentName) -> u64 {
        if let Some(CentralChange::Planned { .. } | CentralChange::Committed { .. }) =
            self.central_changes.get(name)
        {
            return 0;
        }
        let wanted = self.deployments_named(name).filter(|it| !it.withdrawn);
        let has = |deployment: &DeploymentView, placement: &PlacementView| {
            let runs = placement.revisions.target.as_ref().map(|it| it.workload);
            placement.state == State::Installed && runs == Some(deployment.accepted.workload)
        };
        let count =
            |it: &DeploymentView| self.placements_of(&it.id).filter(|at| has(it, at)).count();
        wanted.map(|it| count(it) as u64).sum()
    }

    /// The bucket of a placement.
    pub fn bucket_of(&self, placement: &PlacementView) -> PlacementBucket {
        let away = !self.is_online(&placement.id.node);
        match placement.state {
            State::Failed(_) => PlacementBucket::Failed,
            State::Installed => self.bucket_of_installed(placement, away),
            _ if away => PlacementBucket::Deferred,
            State::Pending | State::Installing => PlacementBucket::Installing,
            State::Updating => PlacementBucket::Updating,
            State::RollingBack => PlacementBucket::RolledBack,
            State::Unknown(_) => PlacementBucket::Unknown,
            State::Deleting | State::Deleted => PlacementBucket::Deleting,
        }
    }

    /// INSTALLED means that some revision runs, not that it is the accepted one.
    fn bucket_of_installed(&self, placement: &PlacementView, away: bool) -> PlacementBucket {
        let Some(deployment) = self.deployments.get(&placement.id.deployment) else {
            return PlacementBucket::Installed;
        };
        let runs = placement.revisions.target.as_ref().map(|it| it.workload);
        let rejected = deployment.rejected.get(&placement.id.node);
        let refused = deployment.is_quarantined().then_some(deployment.accepted.workload);
        let left = deployment.rolled_back.as_ref().map(|it| it.bad.workload).or(refused);
        if left.is_some() && left == runs {
            return if away { PlacementBucket::Deferred } else { PlacementBucket::Updating };
        }
        if left.is_some() || rejected.is_some_and(|it| Some(it.workload) != runs) {
            return PlacementBucket::RolledBack;
        }
        match runs == Some(deployment.accepted.workload) {
            true => PlacementBucket::Installed,
            false if away || self.is_left_out(placement) => PlacementBucket::Deferred,
            false => PlacementBucket::Updating,
        }
    }

    /// The rollout has converged, but the device of this placement is not a
    /// colony node and cannot stage the revision.
    fn is_left_out(&self, placement: &PlacementView) -> bool {
        let deployment = self.deployments.get(&placement.id.deployment);
        let done = deployment.is_some_and(|it| it.last_converged.as_ref() == Some(&it.accepted));
        let device = self.nodes.get(&placement.id.node).and_then(|it| it.capabilities.as_ref());
        done && device.is_some_and(|it| !is_colony_node(it))
    }
}
