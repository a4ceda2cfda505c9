//! The kinds of situations in which something is not running yet.
//!
//! One variant per kind, with the facts a reader needs to act, in one file per
//! origin of the cause. Everything about a kind is one arm of that file's
//! `explain`. The names are part of the API and do not change.

mod attempt;
mod central;
mod explanation;
mod fit;
mod node;
mod removal;
mod rollout;
mod site;
mod verdict;

use serde::{Deserialize, Serialize};

pub use attempt::AttemptCause;
pub use central::CentralCause;
pub(super) use explanation::Explanation;
pub use fit::{FitCause, Misfit, Unfitting};
pub use node::NodeCause;
pub use removal::RemovalCause;
pub use rollout::{RolloutCause, Slot};
pub use site::SiteCause;
pub use verdict::VerdictCause;

use crate::attempt::Failure;
use crate::time::Timestamp;

/// An enum of causes, each with its published name.
macro_rules! causes {
    ($(#[$about:meta])* $group:ident: $($(#[$doc:meta])* $variant:ident = $name:literal { $($(#[$of:meta])* $field:ident: $type:ty),* $(,)? })*) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = "name", rename_all_fields = "camelCase")]
        pub enum $group {
            $($(#[$doc])* #[serde(rename = $name)] $variant { $($(#[$of])* $field: $type),* },)*
        }

        impl $group {
            pub(super) const NAMES: &'static [&'static str] = &[$($name,)*];

            pub(super) fn name(&self) -> &'static str {
                match self {
                    $($group::$variant { .. } => $name,)*
                }
            }
        }
    };
}
use causes;

/// Why something is not running yet, or does not run as wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cause {
    Central(CentralCause),
    Site(SiteCause),
    Node(NodeCause),
    Fit(FitCause),
    Rollout(RolloutCause),
    Verdict(VerdictCause),
    Attempt(AttemptCause),
    Removal(RemovalCause),
}

impl Cause {
    /// Every name there is, in the order of the files.
    pub fn all_names() -> impl Iterator<Item = &'static str> {
        let groups = [
            CentralCause::NAMES,
            SiteCause::NAMES,
            NodeCause::NAMES,
            FitCause::NAMES,
            RolloutCause::NAMES,
            VerdictCause::NAMES,
            AttemptCause::NAMES,
            RemovalCause::NAMES,
        ];
        groups.into_iter().flatten().copied()
    }

    /// The stable name of the kind.
    pub fn name(&self) -> &'static str {
        match self {
            Cause::Central(it) => it.name(),
            Cause::Site(it) => it.name(),
            Cause::Node(it) => it.name(),
            Cause::Fit(it) => it.name(),
            Cause::Rollout(it) => it.name(),
            Cause::Verdict(it) => it.name(),
            Cause::Attempt(it) => it.name(),
            Cause::Removal(it) => it.name(),
        }
    }

    /// The explanation, with durations up to `now`; `then` is what happens when
    /// the cause is gone.
    pub(super) fn explain(&self, now: Timestamp, then: &str) -> Explanation {
        match self {
            Cause::Central(it) => it.explain(now),
            Cause::Site(it) => it.explain(now, then),
            Cause::Node(it) => it.explain(now, then),
            Cause::Fit(it) => it.explain(),
            Cause::Rollout(it) => it.explain(now, then),
            Cause::Verdict(it) => it.explain(now),
            Cause::Attempt(it) => it.explain(now, then),
            Cause::Removal(it) => it.explain(now),
        }
    }

    /// The failure it contains.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Cause::Verdict(it) => it.failure(),
            Cause::Attempt(it) => it.failure(),
            Cause::Removal(it) => it.failure(),
            Cause::Central(_)
            | Cause::Site(_)
            | Cause::Node(_)
            | Cause::Fit(_)
            | Cause::Rollout(_) => None,
        }
    }

    /// The cause keeps a site from accepting commits.
    pub(crate) fn is_before_git(&self) -> bool {
        matches!(
            self,
            Cause::Site(
                SiteCause::Fenced { .. }
                    | SiteCause::SiteNotSeeded {}
                    | SiteCause::GitNotRead {}
                    | SiteCause::GitUnreachable { .. }
                    | SiteCause::HistoryHeld { .. }
            )
        )
    }
}
