//! One deployment on one node, as the site knows it.

pub(in crate::site) mod facts;
pub(in crate::site) mod failure;
pub(in crate::site) mod refused;
pub(in crate::site) mod registry;
pub(in crate::site) mod transition;

use serde::{Deserialize, Serialize};

use colony_margo::Digest;

use crate::attempt::{Attempt, Failure, Retry, Revision, Revisions};
use crate::document::Side;
use crate::id::PlacementId;
use crate::state::State;
use crate::time::{Monotonic, Timestamp};

/// The state of a placement and everything its next change depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    pub id: PlacementId,
    pub(in crate::site) state: State,
    pub since: Timestamp,
    pub revisions: Revisions,
    /// The current attempt, or the last one.
    pub attempt: Option<Attempt>,
    /// The last failure; cleared by a healthy report.
    pub failure: Option<Failure>,
    pub(in crate::site) offer: Offer,
    /// The placement was offered to the node, which may run it, until its removal
    /// is confirmed. The transition table calls that `delivered`.
    #[serde(rename = "delivered")]
    pub(in crate::site) may_be_on_node: bool,
    /// The number of revision errors of the target so far.
    #[serde(rename = "tries")]
    pub(in crate::site) revision_errors: u32,
    /// The number of all failures of the target so far: the backoff exponent.
    pub(in crate::site) failures: u32,
    pub(in crate::site) retry_at: Option<Monotonic>,
    /// The retry schedule, as sent in the event of the last failure.
    #[serde(rename = "retry", default, skip_serializing_if = "Option::is_none")]
    pub(in crate::site) retry_in_last_event: Option<Retry>,
    /// The failure as sent in the last event; `failure` may be a later one.
    #[serde(rename = "failure_reported", default, skip_serializing_if = "Option::is_none")]
    pub(in crate::site) failure_in_last_event: Option<Failure>,
    /// While UNKNOWN: when a node that polls again but does not report the
    /// placement gets another attempt (`Trigger::Silent`).
    #[serde(rename = "silent_at")]
    pub(in crate::site) report_due_at: Option<Monotonic>,
    pub(in crate::site) installed_at: Option<Monotonic>,
    /// Health was lost after the proving period, so it does not count against
    /// the revision.
    #[serde(rename = "health_lost_after_soak")]
    pub(in crate::site) health_lost_after_proving: bool,
    #[serde(default)]
    pub(in crate::site) staging: Staging,
    /// Why the active version beside the staged target is unhealthy.
    #[serde(rename = "running_lost", default, skip_serializing_if = "Option::is_none")]
    pub(in crate::site) active_failure: Option<ActiveFailure>,
    /// The number of the newest accepted report.
    pub(in crate::site) report: u64,
    /// The last recorded stale report, so that it is not recorded twice.
    pub(in crate::site) stale: Option<(u64, String)>,
}

/// Whether a placement has two versions on its node: the target of the attempt
/// and, beside it, the active version from before, which keeps running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Staging {
    /// One version: the attempt replaces what ran before.
    #[default]
    #[serde(rename = "no")]
    NotStaged,
    /// The target is started beside the active version, or failed there.
    #[serde(rename = "beside")]
    Staged,
    /// The target is healthy beside the active version and waits to take over.
    Ready,
    /// The target is discarded: the rollback leads to the active version, which
    /// was never stopped.
    Discarding,
}

impl Staging {
    /// The version from before the attempt still runs.
    pub fn active_runs(self) -> bool {
        self != Staging::NotStaged
    }

    /// The node is to run the target beside the active version.
    pub fn target_is_staged(self) -> bool {
        matches!(self, Staging::Staged | Staging::Ready)
    }

    /// What the node has to do with the target.
    pub(in crate::site) fn target_side(self) -> Side {
        if self.target_is_staged() { Side::Stage } else { Side::Active }
    }

    /// The value after the attempt failed or was lost: a target that was ready
    /// has to become healthy again.
    pub(in crate::site) fn interrupted(self) -> Staging {
        if self == Staging::Ready { Staging::Staged } else { self }
    }
}

/// Why the active revision beside a staged one is unhealthy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveFailure {
    pub revision: Revision,
    pub failure: Failure,
    pub since: Timestamp,
}

/// Whether the node's manifest lists a placement, and since which version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offer {
    #[default]
    Never,
    /// Listed with this digest since this manifest version.
    Listed { wire: Digest, since: u64 },
    /// Listed earlier, and no longer since this manifest version.
    Withdrawn { since: u64 },
}

impl Offer {
    /// The first manifest version with this offer. A report by a node with an
    /// earlier version does not refer to it.
    pub fn since(self) -> Option<u64> {
        match self {
            Offer::Never => None,
            Offer::Listed { since, .. } | Offer::Withdrawn { since } => Some(since),
        }
    }
}

impl Placement {
    pub(in crate::site) fn new(id: PlacementId, now: Timestamp) -> Placement {
        Placement {
            id,
            state: State::Pending,
            since: now,
            revisions: Revisions::default(),
            attempt: None,
            failure: None,
            offer: Offer::Never,
            may_be_on_node: false,
            revision_errors: 0,
            failures: 0,
            retry_at: None,
            retry_in_last_event: None,
            failure_in_last_event: None,
            report_due_at: None,
            installed_at: None,
            health_lost_after_proving: false,
            staging: Staging::NotStaged,
            active_failure: None,
            report: 0,
            stale: None,
        }
    }

    pub fn state(&self) -> State {
        self.state
    }

    pub fn offer(&self) -> Offer {
        self.offer
    }

    /// The retry schedule, as sent in the event of the last failure.
    pub(crate) fn retry_in_last_event(&self) -> Option<Retry> {
        self.retry_in_last_event
    }

    /// The last failure, as sent in an event.
    pub(crate) fn failure_in_last_event(&self) -> Option<&Failure> {
        self.failure_in_last_event.as_ref().or(self.failure.as_ref())
    }

    pub fn staging(&self) -> Staging {
        self.staging
    }

    /// The target is healthy beside the active version and waits to take over.
    pub fn is_ready_to_take_over(&self) -> bool {
        self.staging == Staging::Ready
    }

    /// An active version runs, so that another one can be staged beside it.
    pub(in crate::site) fn can_stage(&self) -> bool {
        self.state == State::Installed || self.staging.active_runs()
    }

    /// The number of revision errors of the target so far.
    pub fn revision_errors(&self) -> u32 {
        self.revision_errors
    }

    /// When the next automatic try is due.
    pub fn retry_at(&self) -> Option<Monotonic> {
        self.retry_at
    }

    /// Why the active version is unhealthy while another one is staged beside
    /// it.
    pub fn active_failure(&self) -> Option<&ActiveFailure> {
        self.active_failure.as_ref()
    }

    pub fn attempt_number(&self) -> u32 {
        self.attempt.as_ref().map_or(0, |it| it.number)
    }

    pub(in crate::site) fn target_workload(&self) -> Option<Digest> {
        self.revisions.target.as_ref().map(|it| it.workload)
    }

    pub(in crate::site) fn deadline(&self) -> Option<Monotonic> {
        self.attempt.as_ref().map(|it| it.deadline)
    }

    /// The placement has been INSTALLED for its proving period (the setting
    /// `soak`): from then on its workload counts as proven, and a failure no
    /// longer as a fault of the revision.
    pub(in crate::site) fn has_passed_proving_period(
        &self,
        now: Monotonic,
        period: std::time::Duration,
    ) -> bool {
        self.installed_at.is_some_and(|it| now.since(it) >= period)
    }
}
