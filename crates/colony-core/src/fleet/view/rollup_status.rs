//! One status for a deployment at a site, from its target and its placements.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::fleet::view::bucket::PlacementBucket;
use crate::fleet::{CentralChange, SiteView};
use crate::id::DeploymentName;
use crate::rollup;
use crate::state::{State, StateError};
use crate::time::Timestamp;
use crate::why::{Cause, SiteCause, Subject, Why};

/// Where a deployment stands at a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum RollupStatus {
    /// Central has planned or committed the change; the site has not reported
    /// it.
    Pending,
    /// The file in Git was not the one central expected.
    Conflict,
    /// Git rejected the change of central, or the site refused a file of which
    /// it never had a usable revision.
    Refused,
    /// The site accepted the revision or its removal, and nothing is in
    /// progress: a hold, a window or a rollout step blocks it, placements are
    /// queued, or their node is offline.
    Waiting,
    /// The site rolled back from the revision. Not a success.
    RolledBack,
    /// The state of the worst placement.
    Placed(State),
    /// Nothing of the deployment is left.
    Gone,
}

impl SiteView {
    pub fn rollup_status(&self, name: &DeploymentName) -> RollupStatus {
        match self.central_changes.get(name) {
            Some(CentralChange::Conflict { .. }) => RollupStatus::Conflict,
            Some(CentralChange::Refused { .. }) => RollupStatus::Refused,
            Some(CentralChange::Planned { .. } | CentralChange::Committed { .. }) => {
                RollupStatus::Pending
            }
            Some(CentralChange::Accepted { .. }) | None => self.status_from_events(name),
        }
    }

    /// The status according to the events of the site alone.
    fn status_from_events(&self, name: &DeploymentName) -> RollupStatus {
        let Some(deployment) = self.deployment_named(name) else {
            let refused = self.refused_file_names().any(|it| it == name);
            return if refused { RollupStatus::Refused } else { RollupStatus::Gone };
        };
        let all = || self.deployments_named(name).flat_map(|it| self.placements_of(&it.id));
        match rollup::worst(all().map(|it| it.state)) {
            Some(State::Installed) if self.is_withdrawn_or_held(name) => RollupStatus::Waiting,
            None | Some(State::Installed) if deployment.rolled_back.is_some() => {
                RollupStatus::RolledBack
            }
            None => RollupStatus::Waiting,
            Some(State::Installed) => {
                let shares = || all().map(|it| self.bucket_of(it));
                if shares()
                    .any(|it| matches!(it, PlacementBucket::Updating | PlacementBucket::Deferred))
                {
                    RollupStatus::Waiting
                } else if shares().any(|it| it == PlacementBucket::RolledBack) {
                    RollupStatus::RolledBack
                } else {
                    RollupStatus::Placed(State::Installed)
                }
            }
            Some(state) => RollupStatus::Placed(state),
        }
    }

    /// Since when the site has reported the current status of a deployment;
    /// `None` if the site has no such deployment.
    pub fn rollup_status_since(&self, name: &DeploymentName) -> Option<Timestamp> {
        let deployment = self.deployment_named(name)?;
        let all = || self.deployments_named(name).flat_map(|it| self.placements_of(&it.id));
        let since = match self.status_from_events(name) {
            // Since the last placement was installed.
            RollupStatus::Placed(State::Installed) => all().map(|it| it.since).max(),
            // Since the first of the placements in the worst state entered it.
            RollupStatus::Placed(state) => {
                all().filter(|it| it.state == state).map(|it| it.since).min()
            }
            RollupStatus::RolledBack => {
                let site = deployment.rolled_back.as_ref().map(|it| it.since);
                let back = all().filter(|it| self.bucket_of(it) == PlacementBucket::RolledBack);
                site.or_else(|| back.map(|it| it.since).max())
            }
            RollupStatus::Pending
            | RollupStatus::Conflict
            | RollupStatus::Refused
            | RollupStatus::Waiting
            | RollupStatus::Gone => None,
        };
        Some(since.unwrap_or(deployment.since))
    }

    /// The deployment is withdrawn (gone from Git), or a hold blocks a change of
    /// one of its placements.
    pub(in crate::fleet) fn is_withdrawn_or_held(&self, name: &DeploymentName) -> bool {
        let withdrawn = self.deployment_named(name).is_some_and(|it| it.withdrawn);
        withdrawn || self.answers_of(name).any(Why::is_held_placement)
    }
}

impl Why {
    /// A hold blocks a change of the placement.
    fn is_held_placement(&self) -> bool {
        let held = |it: &Cause| {
            matches!(it, Cause::Site(SiteCause::HoldSite { .. } | SiteCause::HoldDeployment { .. }))
        };
        matches!(self.subject, Subject::Placement { .. }) && self.causes().any(held)
    }
}

impl RollupStatus {
    /// Nothing is left to explain.
    pub fn is_at_rest(self) -> bool {
        match self {
            RollupStatus::Gone
            | RollupStatus::RolledBack
            | RollupStatus::Placed(State::Installed) => true,
            RollupStatus::Pending
            | RollupStatus::Conflict
            | RollupStatus::Refused
            | RollupStatus::Waiting
            | RollupStatus::Placed(_) => false,
        }
    }
}

impl fmt::Display for RollupStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RollupStatus::Pending => f.pad("PENDING"),
            RollupStatus::Conflict => f.pad("CONFLICT"),
            RollupStatus::Refused => f.pad("REFUSED"),
            RollupStatus::Waiting => f.pad("WAITING"),
            RollupStatus::RolledBack => f.pad("ROLLED_BACK"),
            RollupStatus::Placed(state) => f.pad(&state.to_string()),
            RollupStatus::Gone => f.pad("GONE"),
        }
    }
}

impl RollupStatus {
    /// The statuses that are not the state of a placement.
    const OWN: [RollupStatus; 6] = [
        RollupStatus::Pending,
        RollupStatus::Conflict,
        RollupStatus::Refused,
        RollupStatus::Waiting,
        RollupStatus::RolledBack,
        RollupStatus::Gone,
    ];

    /// All statuses. Two of them have the same name: PENDING.
    pub fn all() -> impl Iterator<Item = RollupStatus> {
        RollupStatus::OWN.into_iter().chain(State::all().map(RollupStatus::Placed))
    }
}

/// Reads PENDING as the status of the deployment.
impl FromStr for RollupStatus {
    type Err = StateError;

    fn from_str(text: &str) -> Result<RollupStatus, StateError> {
        let own = RollupStatus::OWN.into_iter().find(|it| it.to_string() == text);
        own.map_or_else(|| text.parse().map(RollupStatus::Placed), Ok)
    }
}

impl TryFrom<String> for RollupStatus {
    type Error = StateError;

    fn try_from(text: String) -> Result<RollupStatus, StateError> {
        text.parse()
    }
}

impl From<RollupStatus> for String {
    fn from(status: RollupStatus) -> String {
        status.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_read_back_from_its_name() {
        for status in RollupStatus::all() {
            let text = serde_json::to_string(&status).expect("JSON");
            let read: RollupStatus = serde_json::from_str(&text).expect("a status");
            assert_eq!(read.to_string(), status.to_string());
            assert_eq!(text, format!("\"{status}\""));
        }
        assert!("LOST".parse::<RollupStatus>().is_err());
    }
}
