//! What a placement counts as in the outcome of its deployment.

use crate::fleet::{DeploymentView, PlacementView, SiteView, Target};
use crate::id::DeploymentName;
use crate::site::is_ours;
use crate::state::State;

/// What one placement counts as. Every placement counts once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Share {
    /// Placed or being installed for the first time.
    Created,
    /// Runs the revision the site wants.
    Installed,
    /// On its way to another revision, or in the queue for it.
    Updating,
    /// On its way back, or back. Not a success.
    RolledBack,
    Failed,
    /// Lost while something was under way, on a node that is there.
    Unknown,
    /// Waits for a node that is not there.
    Deferred,
    Deleting,
}

impl SiteView {
    /// How many nodes run what Git wants of a deployment here: none before the
    /// site has taken it.
    pub fn installed(&self, name: &DeploymentName) -> u64 {
        if let Some(Target::Planned { .. } | Target::Committed { .. }) = self.targets.get(name) {
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

    /// What a placement counts as.
    pub fn share(&self, placement: &PlacementView) -> Share {
        let away = !self.is_online(&placement.id.node);
        match placement.state {
            State::Failed(_) => Share::Failed,
            State::Installed => self.share_installed(placement, away),
            _ if away => Share::Deferred,
            State::Pending | State::Installing => Share::Created,
            State::Updating => Share::Updating,
            State::RollingBack => Share::RolledBack,
            State::Unknown(_) => Share::Unknown,
            State::Deleting | State::Deleted => Share::Deleting,
        }
    }

    /// INSTALLED says that something runs, not that it is what is wanted.
    fn share_installed(&self, placement: &PlacementView, away: bool) -> Share {
        let Some(deployment) = self.deployments.get(&placement.id.deployment) else {
            return Share::Installed;
        };
        let runs = placement.revisions.target.as_ref().map(|it| it.workload);
        let rejected = deployment.rejected.get(&placement.id.node);
        let refused = deployment.is_quarantined().then_some(deployment.accepted.workload);
        let left = deployment.rolled_back.as_ref().map(|it| it.bad.workload).or(refused);
        if left.is_some() && left == runs {
            return if away { Share::Deferred } else { Share::Updating };
        }
        if left.is_some() || rejected.is_some_and(|it| Some(it.workload) != runs) {
            return Share::RolledBack;
        }
        match runs == Some(deployment.accepted.workload) {
            true => Share::Installed,
            false if away || self.is_left_out(placement) => Share::Deferred,
            false => Share::Updating,
        }
    }

    /// The site is done, but for a device of another make: it cannot stage.
    fn is_left_out(&self, placement: &PlacementView) -> bool {
        let deployment = self.deployments.get(&placement.id.deployment);
        let done = deployment.is_some_and(|it| it.good.as_ref() == Some(&it.accepted));
        let device = self.nodes.get(&placement.id.node).and_then(|it| it.capabilities.as_ref());
        done && device.is_some_and(|it| !is_ours(it))
    }
}
