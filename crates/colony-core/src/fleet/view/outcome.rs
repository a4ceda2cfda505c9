//! How a deployment ended at a site, or that it has not.

use serde::{Deserialize, Serialize};

use crate::event::HoldScope;
use crate::fleet::{
    DeploymentView, PlacementBucket, PlacementView, RollupStatus, SitePresence, SiteView, Target,
};
use crate::id::{DeploymentId, DeploymentName, SiteName};
use crate::site::{Action, deployment_path};
use crate::state::State;
use crate::time::Timestamp;

/// How a deployment ended, or that it has not.
///
/// `InProgress` also covers a change that is not yet in Git or not yet accepted
/// by the site, and a command that is not acknowledged. A watch ends at any other
/// outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every placement runs the revision of Git.
    Installed,
    InProgress,
    /// A placement or a change failed, and no automatic retry is pending.
    Failed,
    /// A site or a node rolled back. Not a success.
    RolledBack,
    /// Finished, except on nodes or sites that are offline.
    Deferred,
    /// It was removed from every node.
    Deleted,
}

impl Outcome {
    /// Nothing more happens until a node or a site connects again, or an operator
    /// acts.
    pub fn is_end(self) -> bool {
        self != Outcome::InProgress
    }
}

/// The outcome over all sites: a site in progress decides, then the worst one.
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
    pub fn outcome(&self, site: &SiteName, name: &DeploymentName, now: Timestamp) -> Outcome {
        let unfinished = match self.presence(now) {
            SitePresence::Online => Outcome::InProgress,
            SitePresence::Expected | SitePresence::Offline => Outcome::Deferred,
        };
        match self.targets.get(name) {
            Some(Target::Conflict { .. } | Target::Refused { .. }) => return Outcome::Failed,
            Some(Target::Planned { .. }) => return Outcome::InProgress,
            Some(Target::Committed { git, .. }) => {
                // A refusal counts only if the site has read this commit: an
                // earlier one is about an earlier version of the file.
                let has_applied_commit = self.head.git.as_ref() == Some(git);
                return if has_applied_commit && self.file_is_refused(site, name) {
                    Outcome::Failed
                } else {
                    unfinished
                };
            }
            Some(Target::Accepted { .. }) | None => {}
        }
        let Some(deployment) = self.deployment_named(name) else {
            return if self.file_is_refused(site, name) {
                Outcome::Failed
            } else {
                Outcome::Deleted
            };
        };
        if self.has_pending_command(name) {
            return unfinished;
        }
        self.outcome_placed(name, deployment, unfinished)
    }

    /// The site cannot use the file.
    fn file_is_refused(&self, site: &SiteName, name: &DeploymentName) -> bool {
        self.files.contains_key(&deployment_path(site, name))
    }

    /// A command for the deployment is not acknowledged yet.
    fn has_pending_command(&self, name: &DeploymentName) -> bool {
        let commands = self.commands.values().filter_map(|it| it.action.deployment());
        let own = |id: &DeploymentId| self.deployments_named(name).any(|it| it.id == *id);
        commands.into_iter().any(own)
    }

    fn outcome_placed(
        &self,
        name: &DeploymentName,
        deployment: &DeploymentView,
        unfinished: Outcome,
    ) -> Outcome {
        let placements = || self.deployments_named(name).flat_map(|it| self.placements_of(&it.id));
        let buckets: Vec<PlacementBucket> = placements().map(|it| self.bucket_of(it)).collect();
        let any_in = |wanted: &[PlacementBucket]| buckets.iter().any(|it| wanted.contains(it));
        let moving = [
            PlacementBucket::Created,
            PlacementBucket::Updating,
            PlacementBucket::Unknown,
            PlacementBucket::Deleting,
        ];
        if deployment.stopped.is_some() {
            return Outcome::Failed;
        }
        if placements().any(|it| self.is_moving(it)) || any_in(&moving) {
            return unfinished;
        }
        if any_in(&[PlacementBucket::Failed]) {
            return Outcome::Failed;
        }
        if self.rollup_status(name) == RollupStatus::RolledBack
            || any_in(&[PlacementBucket::RolledBack])
        {
            let reverting = deployment.awaits_revert().is_some();
            return if reverting { unfinished } else { Outcome::RolledBack };
        }
        // Quarantined and no placement moves: the event that ends the rollback
        // has not arrived yet.
        if deployment.is_quarantined() {
            return unfinished;
        }
        // The open step soaks or waits for a promotion; then the rollout continues
        // or is rolled back.
        if deployment.rollout.as_ref().is_some_and(|it| it.step < it.of) {
            return unfinished;
        }
        if any_in(&[PlacementBucket::Deferred]) {
            return Outcome::Deferred;
        }
        if buckets.is_empty() {
            return self.outcome_unplaced(unfinished);
        }
        if self.has_held_change(name) { unfinished } else { Outcome::Installed }
    }

    /// The placement rolls back on an online node, or is retried after a
    /// failure.
    fn is_moving(&self, placement: &PlacementView) -> bool {
        match placement.state {
            State::RollingBack => self.is_online(&placement.id.node),
            // Without information about retries, one is assumed.
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

    /// Without placements it fails if nodes have reported capabilities, as none
    /// of them fits. Otherwise it waits for a node.
    fn outcome_unplaced(&self, unfinished: Outcome) -> Outcome {
        let any_capabilities = self.nodes.values().any(|it| it.capabilities.is_some());
        if any_capabilities { Outcome::Failed } else { unfinished }
    }
}

impl Action {
    /// The deployment that the command concerns, if it concerns one.
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
