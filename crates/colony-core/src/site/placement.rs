//! One deployment on one node, as the site knows it.

use serde::{Deserialize, Serialize};

use colony_margo::Digest;

use crate::attempt::{Attempt, Failure, Retry, Revision, Revisions};
use crate::document::WirePhase;
use crate::id::PlacementId;
use crate::state::State;
use crate::time::{Mono, Wall};

/// The state of a placement and all that its next change depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    pub id: PlacementId,
    pub(super) state: State,
    pub since: Wall,
    pub revisions: Revisions,
    /// The current attempt, or the last one.
    pub attempt: Option<Attempt>,
    /// What went wrong last; cleared by a healthy report.
    pub failure: Option<Failure>,
    pub(super) offer: Offer,
    /// The node was told to run it and has not confirmed its removal.
    pub(super) delivered: bool,
    /// Revision errors of the target so far.
    pub(super) tries: u32,
    /// All failures of the target so far: the exponent of the backoff.
    pub(super) failures: u32,
    pub(super) retry_at: Option<Mono>,
    /// How a failure goes on, as it was reported with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retry: Option<Retry>,
    /// The failure of the last FAILED; a later report may know a better cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) failure_reported: Option<Failure>,
    /// When a node that polls but says nothing gets a new attempt.
    pub(super) silent_at: Option<Mono>,
    pub(super) installed_at: Option<Mono>,
    /// Health was lost after the soak: the revision itself is not to blame.
    pub(super) lost_late: bool,
    /// What the node is to do with the target.
    #[serde(default)]
    pub(super) phase: WirePhase,
    /// The target runs well beside what was there.
    #[serde(default)]
    pub(super) staged: bool,
    /// The attempt takes nothing down: what was there runs on.
    #[serde(default)]
    pub(super) aside: bool,
    /// Why what runs on beside the staged target is not well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) running_lost: Option<RunningLost>,
    /// The number of the newest report that was taken.
    pub(super) report: u64,
    /// The last stale report that was recorded: it is not recorded twice.
    pub(super) stale: Option<(u64, String)>,
}

/// Why the revision that runs on beside a staged one is not well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningLost {
    pub revision: Revision,
    pub failure: Failure,
    pub since: Wall,
}

/// What the node's manifest says of a placement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offer {
    #[default]
    Never,
    /// Listed with this digest since this manifest version.
    Listed { wire: Digest, since: u64 },
    /// Listed once, and no more since this version.
    Withdrawn { since: u64 },
}

impl Offer {
    /// The manifest version from which on a report speaks of this offer.
    pub fn since(self) -> Option<u64> {
        match self {
            Offer::Never => None,
            Offer::Listed { since, .. } | Offer::Withdrawn { since } => Some(since),
        }
    }
}

impl Placement {
    pub(super) fn new(id: PlacementId, now: Wall) -> Placement {
        Placement {
            id,
            state: State::Pending,
            since: now,
            revisions: Revisions::default(),
            attempt: None,
            failure: None,
            offer: Offer::Never,
            delivered: false,
            tries: 0,
            failures: 0,
            retry_at: None,
            retry: None,
            failure_reported: None,
            silent_at: None,
            installed_at: None,
            lost_late: false,
            phase: WirePhase::Active,
            staged: false,
            aside: false,
            running_lost: None,
            report: 0,
            stale: None,
        }
    }

    /// Where the placement stands.
    pub fn state(&self) -> State {
        self.state
    }

    pub fn offer(&self) -> Offer {
        self.offer
    }

    /// How a failure goes on, as it was reported with it.
    pub(crate) fn retry_reported(&self) -> Option<Retry> {
        self.retry
    }

    /// What went wrong last, as it was reported.
    pub(crate) fn failure_reported(&self) -> Option<&Failure> {
        self.failure_reported.as_ref().or(self.failure.as_ref())
    }

    /// The attempt runs beside what was there.
    pub(crate) fn runs_beside(&self) -> bool {
        self.phase == WirePhase::Stage && self.aside
    }

    /// Revision errors spent on the target.
    pub fn tries(&self) -> u32 {
        self.tries
    }

    /// When the next automatic try is due.
    pub fn retry_at(&self) -> Option<Mono> {
        self.retry_at
    }

    /// The target runs well beside what was there, and waits to take over.
    pub fn is_staged(&self) -> bool {
        self.staged
    }

    /// Why what runs on is not well, while something is staged beside it.
    pub fn running_lost(&self) -> Option<&RunningLost> {
        self.running_lost.as_ref()
    }

    /// What ran before the attempt under way still runs.
    pub fn is_aside(&self) -> bool {
        self.aside
    }

    pub fn attempt_number(&self) -> u32 {
        self.attempt.as_ref().map_or(0, |it| it.number)
    }

    pub(super) fn target_workload(&self) -> Option<Digest> {
        self.revisions.target.as_ref().map(|it| it.workload)
    }

    pub(super) fn deadline(&self) -> Option<Mono> {
        self.attempt.as_ref().map(|it| it.deadline)
    }

    /// Whether the revision was healthy long enough to be proven.
    pub(super) fn has_soaked(&self, now: Mono, soak: std::time::Duration) -> bool {
        self.installed_at.is_some_and(|it| now.since(it) >= soak)
    }
}
