//! Read access to a site for the rest of the crate, which explains its state.

use std::collections::{BTreeMap, BTreeSet};

use crate::attempt::Revision;
use crate::id::NodeName;
use crate::site::{Deployment, Phase, Placement, Site, Timing};
use crate::state::Op;
use crate::time::{Monotonic, Timestamp};
use crate::transition::Trigger;

pub(crate) use crate::choice::Unfit;
pub(crate) use crate::site::deployment::{Rejected, RolledBack, Stopped};
pub(crate) use crate::site::desired::file::deployment_path;

/// The wanted revision of a placement, and the trigger that moves it there.
#[derive(Debug, Clone)]
pub(crate) struct PlacementOutlook {
    pub(crate) trigger: Option<Trigger>,
    pub(crate) wants: Option<Revision>,
    /// The wanted revision is a rollback from a bad one.
    pub(crate) back: bool,
}

impl Site {
    pub(crate) fn outlook(&self, placement: &Placement) -> PlacementOutlook {
        let want = self.want(placement);
        let back = want.as_ref().is_some_and(|it| it.back);
        let trigger = self.next_trigger(placement);
        PlacementOutlook { trigger, wants: want.map(|it| it.revision), back }
    }

    pub(crate) fn timing(&self) -> Timing {
        self.timing
    }

    /// The placements of the site are known, from central or from disk.
    pub(crate) fn is_seeded(&self) -> bool {
        self.phase != Phase::Unseeded
    }

    /// When the next window opens, if a deployment has pending work.
    pub(crate) fn window_awaited(&self, now: Timestamp) -> Option<Timestamp> {
        self.settings.opens(now).filter(|_| !self.index.pending_work.is_empty())
    }
}

impl Deployment {
    /// When Git last changed the workload or withdrew the deployment.
    pub(crate) fn since(&self) -> Timestamp {
        self.since
    }

    pub(crate) fn rolled_back(&self) -> Option<&RolledBack> {
        self.rolled_back.as_ref()
    }

    pub(crate) fn stopped(&self) -> Option<&Stopped> {
        self.stopped.as_ref()
    }

    pub fn rejected(&self) -> &BTreeMap<NodeName, Rejected> {
        &self.rejected
    }

    /// The rejection of Git's revision by `node`, if any.
    pub(crate) fn rejected_on(&self, node: &NodeName) -> Option<&Rejected> {
        self.rejected.get(node).filter(|it| it.workload == self.accepted.workload)
    }

    /// The nodes that have a placement, including placements being removed.
    pub(crate) fn placed(&self) -> &BTreeSet<NodeName> {
        &self.placed
    }

    /// How many revision errors an operation may spend.
    pub(crate) fn tries_allowed(&self, op: Op, placement: &Placement) -> u32 {
        crate::site::placement::facts::revision_error_limit(self, op, placement)
    }

    pub(crate) fn revisions(&self) -> impl Iterator<Item = &Revision> {
        self.documents.values().map(|it| &it.revision)
    }
}

impl Placement {
    pub(crate) fn silent_at(&self) -> Option<Monotonic> {
        self.report_due_at
    }

    /// When the attempt in progress counts as failed.
    pub(crate) fn deadline_at(&self) -> Option<Monotonic> {
        self.deadline()
    }

    pub(crate) fn is_lost_late(&self) -> bool {
        self.health_lost_after_proving
    }

    /// The number of all failures of the target so far.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }
}
