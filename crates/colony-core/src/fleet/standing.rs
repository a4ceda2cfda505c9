//! One state for a deployment at a site, and who knows it.

use std::fmt;

use crate::fleet::tally::Share;
use crate::fleet::{SiteView, Target};
use crate::id::DeploymentName;
use crate::rollup;
use crate::state::State;
use crate::time::Wall;
use crate::why::{Cause, SiteCause, Subject, Why};

/// Where a deployment stands at a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// CO has planned or committed it; the site has not said that it saw it.
    Pending,
    /// Git held something else than CO expected.
    Conflict,
    /// Git refused what CO wanted to write, or the site the file it never had
    /// a usable revision of.
    Refused,
    /// The site took the revision or its removal, and nothing moves: a gate is
    /// closed, or no node has it yet. What moves is `Placed`.
    Waiting,
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
        let Some(deployment) = self.deployment_named(name) else {
            let refused = self.file_names().any(|it| it == name);
            return if refused { Standing::Refused } else { Standing::Gone };
        };
        let all = || self.deployments_named(name).flat_map(|it| self.placements_of(&it.id));
        match rollup::worst(all().map(|it| it.state)) {
            Some(State::Installed) if self.awaits_removal(name) => Standing::Waiting,
            None | Some(State::Installed) if deployment.rolled_back.is_some() => {
                Standing::RolledBack
            }
            None => Standing::Waiting,
            Some(State::Installed) => {
                let shares = || all().map(|it| self.share(it));
                if shares().any(|it| matches!(it, Share::Updating | Share::Deferred)) {
                    Standing::Waiting
                } else if shares().any(|it| it == Share::RolledBack) {
                    Standing::RolledBack
                } else {
                    Standing::Placed(State::Installed)
                }
            }
            Some(state) => Standing::Placed(state),
        }
    }

    /// Since when the site has said that a deployment stands as it does; `None` if
    /// it knows no such deployment.
    pub fn standing_since(&self, name: &DeploymentName) -> Option<Wall> {
        let deployment = self.deployment_named(name)?;
        let all = || self.deployments_named(name).flat_map(|it| self.placements_of(&it.id));
        let since = match self.standing_told(name) {
            // As long as the last of them.
            Standing::Placed(State::Installed) => all().map(|it| it.since).max(),
            // As long as the first of those that are worst.
            Standing::Placed(state) => {
                all().filter(|it| it.state == state).map(|it| it.since).min()
            }
            Standing::RolledBack => {
                let site = deployment.rolled_back.as_ref().map(|it| it.since);
                let back = all().filter(|it| self.share(it) == Share::RolledBack);
                site.or_else(|| back.map(|it| it.since).max())
            }
            Standing::Pending
            | Standing::Conflict
            | Standing::Refused
            | Standing::Waiting
            | Standing::Gone => None,
        };
        Some(since.unwrap_or(deployment.since))
    }

    /// A hold delays a removal: that of the whole deployment, or that from a node
    /// which the deployment no longer selects.
    pub(super) fn awaits_removal(&self, name: &DeploymentName) -> bool {
        let withdrawn = self.deployment_named(name).is_some_and(|it| it.withdrawn);
        withdrawn || self.answers_of(name).any(Why::is_held_placement)
    }
}

impl Why {
    /// A hold keeps a placement from what is wanted.
    fn is_held_placement(&self) -> bool {
        let held = |it: &Cause| {
            matches!(it, Cause::Site(SiteCause::HoldSite { .. } | SiteCause::HoldDeployment { .. }))
        };
        matches!(self.subject, Subject::Placement { .. }) && self.causes().any(held)
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
            | Standing::Waiting
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
            Standing::Waiting => f.pad("WAITING"),
            Standing::RolledBack => f.pad("ROLLED_BACK"),
            Standing::Placed(state) => f.pad(&state.to_string()),
            Standing::Gone => f.pad("GONE"),
        }
    }
}
