//! How a deployment ended at a site, or that it has not.

use serde::{Deserialize, Serialize};

use crate::event::HoldScope;
use crate::fleet::{
    DeploymentView, PlacementView, Share, SitePresence, SiteView, Standing, Target,
};
use crate::id::{DeploymentId, DeploymentName, SiteName};
use crate::site::{Action, deployment_path};
use crate::state::State;
use crate::time::Wall;

/// How a deployment ended, or that it has not.
///
/// `in-progress` also while a change waits for Git, for a site to take it, or
/// while a command for it is not acknowledged: a watch waits for any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every placement has what is wanted.
    Installed,
    InProgress,
    /// Something failed and nothing is tried without help that would end it.
    Failed,
    /// A site or a node went back. Not a success.
    RolledBack,
    /// Done everywhere but on nodes or sites that are offline.
    Deferred,
    /// Nothing is left of it.
    Deleted,
}

impl Outcome {
    /// Nothing more happens soon.
    pub fn is_end(self) -> bool {
        self != Outcome::InProgress
    }
}

/// The outcome over all sites: what moves outweighs, then what is worst.
pub fn overall(outcomes: &[Outcome]) -> Outcome {
    let some = |it: Outcome| outcomes.contains(&it);
    let order = [Outcome::InProgress, Outcome::Failed, Outcome::RolledBack, Outcome::Deferred];
    if let Some(worst) = order.into_iter().find(|it| some(*it)) {
        return worst;
    }
    if some(Outcome::Installed) { Outcome::Installed } else { Outcome::Deleted }
}

impl SiteView {
    /// How a deployment ended here.
    pub fn outcome(&self, site: &SiteName, name: &DeploymentName, now: Wall) -> Outcome {
        let open = match self.presence(now) {
            SitePresence::Online => Outcome::InProgress,
            SitePresence::Expected | SitePresence::Offline => Outcome::Deferred,
        };
        match self.targets.get(name) {
            Some(Target::Conflict { .. } | Target::Refused { .. }) => return Outcome::Failed,
            Some(Target::Planned { .. }) => return Outcome::InProgress,
            Some(Target::Committed { git, .. }) => {
                // What was refused before the site came to this commit is over.
                let read = self.head.git.as_ref() == Some(git);
                return if read && self.is_refused(site, name) { Outcome::Failed } else { open };
            }
            Some(Target::Accepted { .. }) | None => {}
        }
        let Some(deployment) = self.deployment_named(name) else {
            return if self.is_refused(site, name) { Outcome::Failed } else { Outcome::Deleted };
        };
        if self.is_ordered(name) {
            return open;
        }
        self.outcome_placed(name, deployment, open)
    }

    /// The site cannot use the file.
    fn is_refused(&self, site: &SiteName, name: &DeploymentName) -> bool {
        self.files.contains_key(&deployment_path(site, name))
    }

    /// An order about the deployment is on its way.
    fn is_ordered(&self, name: &DeploymentName) -> bool {
        let orders = self.commands.values().filter_map(|it| it.action.deployment());
        let own = |id: &DeploymentId| self.deployments_named(name).any(|it| it.id == *id);
        orders.into_iter().any(own)
    }

    fn outcome_placed(
        &self,
        name: &DeploymentName,
        deployment: &DeploymentView,
        open: Outcome,
    ) -> Outcome {
        let placements = || self.deployments_named(name).flat_map(|it| self.placements_of(&it.id));
        let shares: Vec<Share> = placements().map(|it| self.share(it)).collect();
        let some = |wanted: &[Share]| shares.iter().any(|it| wanted.contains(it));
        let moving = [Share::Created, Share::Updating, Share::Unknown, Share::Deleting];
        if deployment.stopped.is_some() {
            return Outcome::Failed;
        }
        if placements().any(|it| self.is_moving(it)) || some(&moving) {
            return open;
        }
        if some(&[Share::Failed]) {
            return Outcome::Failed;
        }
        if self.standing(name) == Standing::RolledBack || some(&[Share::RolledBack]) {
            let reverting = deployment.awaits_revert().is_some();
            return if reverting { open } else { Outcome::RolledBack };
        }
        // Quarantined and nothing moves: only the end of the rollback is missing.
        if deployment.is_quarantined() {
            return open;
        }
        if some(&[Share::Deferred]) {
            return Outcome::Deferred;
        }
        if shares.is_empty() {
            return self.outcome_unplaced(open);
        }
        if self.awaits_removal(name) { open } else { Outcome::Installed }
    }

    /// A node that is there is on its way back, or tries again after a failure.
    fn is_moving(&self, placement: &PlacementView) -> bool {
        match placement.state {
            State::RollingBack => self.is_online(&placement.id.node),
            State::Failed(_) => placement.retry.is_none_or(|it| it.at.is_some()),
            State::Pending
            | State::Installing
            | State::Updating
            | State::Installed
            | State::Unknown(_)
            | State::Deleting
            | State::Deleted => false,
        }
    }

    /// Placed nowhere: it waits for a node, or none of those there fits.
    fn outcome_unplaced(&self, open: Outcome) -> Outcome {
        let described = self.nodes.values().any(|it| it.capabilities.is_some());
        if described { Outcome::Failed } else { open }
    }
}

impl Action {
    /// The deployment it is about, if it is about one.
    pub fn deployment(&self) -> Option<&DeploymentId> {
        match self {
            Action::Retry { deployment, .. }
            | Action::Rollback { deployment }
            | Action::Promote { deployment }
            | Action::Pause { deployment, .. }
            | Action::Resume { deployment }
            | Action::Abort { deployment, .. }
            | Action::Force { deployment, .. }
            | Action::ReleaseQuarantine { deployment }
            | Action::Hold { scope: HoldScope::Deployment(deployment), .. }
            | Action::ReleaseHold { scope: HoldScope::Deployment(deployment) } => Some(deployment),
            Action::Hold { scope: HoldScope::Site, .. }
            | Action::ReleaseHold { scope: HoldScope::Site }
            | Action::ReleaseRemoval
            | Action::AcceptHistory { .. }
            | Action::Cordon { .. }
            | Action::Uncordon { .. }
            | Action::Retire { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moving_site_outweighs_and_a_rollback_is_not_a_success() {
        check(&[Outcome::Installed, Outcome::InProgress], Outcome::InProgress);
        check(&[Outcome::RolledBack, Outcome::Installed], Outcome::RolledBack);
        check(&[Outcome::RolledBack, Outcome::Failed], Outcome::Failed);
        check(&[Outcome::Deferred, Outcome::Installed], Outcome::Deferred);
        check(&[Outcome::Deleted, Outcome::Installed], Outcome::Installed);
        check(&[Outcome::Deleted, Outcome::Deferred], Outcome::Deferred);
        check(&[], Outcome::Deleted);
    }

    #[track_caller]
    fn check(outcomes: &[Outcome], expected: Outcome) {
        assert_eq!(overall(outcomes), expected);
    }
}
