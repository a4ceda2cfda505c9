//! What the rest of the crate may look at to explain a site, never to change it.

use std::collections::{BTreeMap, BTreeSet};

use crate::attempt::Revision;
use crate::id::NodeName;
use crate::site::{Deployment, Phase, Placement, Site, Timing};
use crate::state::Op;
use crate::time::{Mono, Wall};
use crate::transition::Trigger;

pub(crate) use crate::choice::Unfit;
pub(crate) use crate::site::deployment::{Rejected, RolledBack, Stopped};
pub(crate) use crate::site::file::deployment_path;

/// What is wanted of a placement, and which trigger would bring it nearer.
#[derive(Debug, Clone)]
pub(crate) struct Outlook {
    pub(crate) trigger: Option<Trigger>,
    pub(crate) wants: Option<Revision>,
    /// What is wanted is a way back from a bad revision.
    pub(crate) back: bool,
}

impl Site {
    pub(crate) fn outlook(&self, placement: &Placement) -> Outlook {
        let want = self.want(placement);
        let back = want.as_ref().is_some_and(|it| it.back);
        let trigger = self.next_trigger(placement);
        Outlook { trigger, wants: want.map(|it| it.revision), back }
    }

    pub(crate) fn timing(&self) -> Timing {
        self.timing
    }

    /// What runs here is known, from CO or from the disk.
    pub(crate) fn is_seeded(&self) -> bool {
        self.phase != Phase::Unseeded
    }

    /// When changes may start again, if something waits for that.
    pub(crate) fn window_awaited(&self, now: Wall) -> Option<Wall> {
        self.settings.opens(now).filter(|_| !self.index.hungry.is_empty())
    }
}

impl Deployment {
    /// When Git began to want what it wants.
    pub(crate) fn since(&self) -> Wall {
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

    /// Whether Git's revision was given up on this node.
    pub(crate) fn rejected_on(&self, node: &NodeName) -> Option<&Rejected> {
        self.rejected.get(node).filter(|it| it.workload == self.wanted.workload)
    }

    /// The nodes that have a placement, also one that is leaving.
    pub(crate) fn placed(&self) -> &BTreeSet<NodeName> {
        &self.placed
    }

    /// How many revision errors an operation may spend.
    pub(crate) fn tries_allowed(&self, op: Op, placement: &Placement) -> u32 {
        crate::site::facts::budget(self, op, placement)
    }

    pub(crate) fn revisions(&self) -> impl Iterator<Item = &Revision> {
        self.documents.values().map(|it| &it.revision)
    }
}

impl Placement {
    pub(crate) fn silent_at(&self) -> Option<Mono> {
        self.silent_at
    }

    /// When the attempt under way counts as failed.
    pub(crate) fn deadline_at(&self) -> Option<Mono> {
        self.deadline()
    }

    pub(crate) fn is_lost_late(&self) -> bool {
        self.lost_late
    }

    /// All failures of the target so far.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }
}
