//! How a deployment ended at a site, or that it has not.
//!
//! An operator gives an *order*; central queues it for the site as a *command*
//! with a number; its content is an [`Action`].
//!
//! An *outcome* says whether anything still happens; [`RollupStatus`] says where
//! the deployment stands at the site now, and a [`PlacementBucket`] the same of
//! one placement, as operators count them. The outcome is computed from both.
//!
//! A deployment is identified by its id (in the file); while an old one is being
//! removed, a new one can have its name.

use serde::{Deserialize, Serialize};

use crate::event::HoldScope;
use crate::fleet::{
    CentralChange, DeploymentView, PlacementBucket, PlacementView, RollupStatus, SitePresence,
    SiteView,
};
use crate::id::{DeploymentId, DeploymentName, SiteName};
use crate::site::{Action, deployment_path};
use crate::state::State;
use crate::time::Timestamp;

/// How a deployment ended, or `InProgress`.
///
/// `InProgress` also covers a change that is not yet in Git or not yet accepted
/// by the site, and a command that is not acknowledged. `--watch` of the command
/// line ends at any other outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every placement runs the accepted revision.
    Installed,
    InProgress,
    /// A placement or a change failed, and no automatic retry is pending.
    Failed,
    /// A site or a node rolled back. Not a success.
    RolledBack,
    /// Finished, except on nodes or sites that are offline, and on devices that
    /// cannot stage the revision.
    Deferred,
    /// Nothing of it is at the site: it was removed from every node, or was never
    /// there.
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
            // Expected: no orchestrator has joined the site yet.
            SitePresence::Expected | SitePresence::Offline => Outcome::Deferred,
        };
        match self.central_changes.get(name) {
            Some(CentralChange::Conflict { .. } | CentralChange::Refused { .. }) => {
                return Outcome::Failed;
            }
            // Central has yet to write it to Git; the site may be offline.
            Some(CentralChange::Planned { .. }) => return Outcome::InProgress,
            Some(CentralChange::Committed { git, .. }) => {
                // That the file is unusable counts only if the site has read this
                // commit: before, it is about an earlier version of the file.
                let has_read_commit = self.head.git.as_ref() == Some(git);
                return if has_read_commit && self.file_is_unusable(site, name) {
                    Outcome::Failed
                } else {
                    unfinished
                };
            }
            Some(CentralChange::Accepted { .. }) | None => {}
        }
        // The one that is not being removed, if there is one.
        let Some(deployment) = self.deployment_named(name) else {
            return if self.file_is_unusable(site, name) {
                Outcome::Failed
            } else {
                Outcome::Deleted
            };
        };
        if self.has_pending_command(name) {
            return unfinished;
        }
        self.outcome_of_placements(name, deployment, unfinished)
    }

    /// The site has reported that it cannot use the file in Git.
    fn file_is_unusable(&self, site: &SiteName, name: &DeploymentName) -> bool {
        self.files.contains_key(&deployment_path(site, name))
    }

    /// A command is not acknowledged yet, for the deployment or for an earlier one
    /// of its name that is being removed.
    fn has_pending_command(&self, name: &DeploymentName) -> bool {
        let commands = self.commands.values().filter_map(|it| it.action.deployment());
        let own = |id: &DeploymentId| self.deployments_named(name).any(|it| it.id == *id);
        commands.into_iter().any(own)
    }

    fn outcome_of_placements(
        &self,
        name: &DeploymentName,
        deployment: &DeploymentView,
        unfinished: Outcome,
    ) -> Outcome {
        let placements = || self.deployments_named(name).flat_map(|it| self.placements_of(&it.id));
        let buckets: Vec<PlacementBucket> = placements().map(|it| self.bucket_of(it)).collect();
        let any_in = |wanted: &[PlacementBucket]| buckets.iter().any(|it| wanted.contains(it));
        let in_progress = [
            PlacementBucket::Installing,
            PlacementBucket::Updating,
            PlacementBucket::Unknown,
            PlacementBucket::Deleting,
        ];
        // A failure stopped the rollout (`onFailure: stop`).
        if deployment.stopped.is_some() {
            return Outcome::Failed;
        }
        if placements().any(|it| self.is_rolling_back_or_retried(it)) || any_in(&in_progress) {
            return unfinished;
        }
        if any_in(&[PlacementBucket::Failed]) {
            return Outcome::Failed;
        }
        if self.rollup_status(name) == RollupStatus::RolledBack
            || any_in(&[PlacementBucket::RolledBack])
        {
            // Central has yet to restore the good revision in Git.
            let reverting = deployment.awaits_revert().is_some();
            return if reverting { unfinished } else { Outcome::RolledBack };
        }
        // Quarantined and no placement moves: the event that ends the rollback
        // has not arrived yet.
        if deployment.is_quarantined() {
            return unfinished;
        }
        // The current step (`step` of `of`, from 1) is not the last one: it soaks
        // or waits for a promotion; then the rollout continues or is rolled back.
        if deployment.rollout.as_ref().is_some_and(|it| it.step < it.of) {
            return unfinished;
        }
        // Waits for an offline node, or the device cannot stage the revision.
        if any_in(&[PlacementBucket::Deferred]) {
            return Outcome::Deferred;
        }
        if buckets.is_empty() {
            return self.outcome_without_placements(unfinished);
        }
        // Withdrawn: it is still to be removed. Held: a placement has yet to change.
        if self.is_withdrawn_or_held(name) { unfinished } else { Outcome::Installed }
    }

    /// The placement rolls back on an online node, or is retried after a failure:
    /// both are not visible in its bucket.
    fn is_rolling_back_or_retried(&self, placement: &PlacementView) -> bool {
        match placement.state {
            State::RollingBack => self.is_online(&placement.id.node),
            // Sites of earlier releases do not report retries: one is assumed.
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
    fn outcome_without_placements(&self, unfinished: Outcome) -> Outcome {
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
