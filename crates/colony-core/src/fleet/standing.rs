//! One state for a deployment at a site, and who knows it.

use std::fmt;

use crate::fleet::tally::Share;
use crate::fleet::{SiteView, Target};
use crate::id::DeploymentName;
use crate::rollup;
use crate::state::State;

/// Where a deployment stands at a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// CO has planned or committed it; the site has not said that it saw it.
    Pending,
    /// Git held something else than CO expected.
    Conflict,
    /// Git refused what CO wanted to write.
    Refused,
    /// The site took the revision, and not every reachable node has it.
    InProgress,
    /// The site left the revision again. Not a success.
    RolledBack,
    /// The worst placement.
    Placed(State),
    /// Nothing is left of it.
    Gone,
}

impl SiteView {
    pub fn standing(&self, name: &DeploymentName) -> Standing {
        match self.targets.get(name) {
            Some(Target::Conflict { .. }) => Standing::Conflict,
            Some(Target::Refused { .. }) => Standing::Refused,
            Some(Target::Planned { .. } | Target::Committed { .. }) => Standing::Pending,
            Some(Target::Accepted { .. }) | None => self.standing_told(name),
        }
    }

    /// What the site itself said.
    fn standing_told(&self, name: &DeploymentName) -> Standing {
        let Some(deployment) = self.deployment_named(name) else { return Standing::Gone };
        let all = || self.deployments_named(name).flat_map(|it| self.placements_of(&it.id));
        match rollup::worst(all().map(|it| it.state)) {
            None | Some(State::Installed) if deployment.rolled_back.is_some() => {
                Standing::RolledBack
            }
            None => Standing::InProgress,
            Some(State::Installed) => {
                let shares = || all().map(|it| self.share(it));
                if shares().any(|it| it == Share::Updating) {
                    Standing::InProgress
                } else if shares().any(|it| it == Share::RolledBack) {
                    Standing::RolledBack
                } else {
                    Standing::Placed(State::Installed)
                }
            }
            Some(state) => Standing::Placed(state),
        }
    }
}

impl Standing {
    /// Nothing is left to explain.
    pub fn is_at_rest(self) -> bool {
        match self {
            Standing::Gone | Standing::RolledBack | Standing::Placed(State::Installed) => true,
            Standing::Pending
            | Standing::Conflict
            | Standing::Refused
            | Standing::InProgress
            | Standing::Placed(_) => false,
        }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Standing::Pending => f.pad("PENDING"),
            Standing::Conflict => f.pad("CONFLICT"),
            Standing::Refused => f.pad("REFUSED"),
            Standing::InProgress => f.pad("IN_PROGRESS"),
            Standing::RolledBack => f.pad("ROLLED_BACK"),
            Standing::Placed(state) => f.pad(&state.to_string()),
            Standing::Gone => f.pad("GONE"),
        }
    }
}
