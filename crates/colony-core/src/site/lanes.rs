//! Where the placements of one deployment stand, kept up with each change.
//!
//! A step asks these sets and never walks all placements: that is why its
//! cost does not grow with the fleet.

use std::collections::BTreeSet;

use crate::id::NodeName;

/// The nodes of a deployment by what is to be done about them.
#[derive(Debug, Clone, Default)]
pub(super) struct Lanes {
    /// An attempt is under way or lost: down by our own action.
    pub(super) busy: BTreeSet<NodeName>,
    /// An attempt is under way that takes nothing down.
    pub(super) aside: BTreeSet<NodeName>,
    /// Failed on a node that is online: down, too.
    pub(super) failed: BTreeSet<NodeName>,
    /// Installed with what is wanted.
    pub(super) settled: BTreeSet<NodeName>,
    /// Reachable, and told to run what Git wants.
    pub(super) fresh: BTreeSet<NodeName>,
    /// Those of them that do not run it well yet.
    pub(super) unripe: BTreeSet<NodeName>,
    /// Something is to be done that takes nothing down.
    pub(super) free: BTreeSet<NodeName>,
    /// Staged, and to take over, slot by slot.
    pub(super) swap: BTreeSet<NodeName>,
    /// To be rolled back, slot by slot.
    pub(super) back: BTreeSet<NodeName>,
    /// Down already, and to be tried again, slot by slot.
    pub(super) again: BTreeSet<NodeName>,
    /// To be installed or updated, slot by slot.
    pub(super) start: BTreeSet<NodeName>,
}

/// What one placement contributes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) busy: bool,
    pub(super) aside: bool,
    pub(super) failed: bool,
    pub(super) settled: bool,
    pub(super) fresh: bool,
    pub(super) unripe: bool,
    pub(super) queue: Option<Queue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queue {
    Free,
    Back,
    Swap,
    Again,
    Start,
}

impl Queue {
    /// Whoever waits there may be held back by a step.
    pub(super) fn is_stepwise(self) -> bool {
        matches!(self, Queue::Start | Queue::Swap)
    }
}

impl Lanes {
    pub(super) fn set(&mut self, node: &NodeName, standing: Standing) {
        keep(&mut self.busy, node, standing.busy);
        keep(&mut self.aside, node, standing.aside);
        keep(&mut self.failed, node, standing.failed);
        keep(&mut self.settled, node, standing.settled);
        keep(&mut self.fresh, node, standing.fresh);
        keep(&mut self.unripe, node, standing.unripe);
        keep(&mut self.swap, node, standing.queue == Some(Queue::Swap));
        keep(&mut self.free, node, standing.queue == Some(Queue::Free));
        keep(&mut self.back, node, standing.queue == Some(Queue::Back));
        keep(&mut self.again, node, standing.queue == Some(Queue::Again));
        keep(&mut self.start, node, standing.queue == Some(Queue::Start));
    }

    pub(super) fn queue(&self, queue: Queue) -> &BTreeSet<NodeName> {
        match queue {
            Queue::Free => &self.free,
            Queue::Back => &self.back,
            Queue::Swap => &self.swap,
            Queue::Again => &self.again,
            Queue::Start => &self.start,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        let queues = [&self.free, &self.back, &self.swap, &self.again, &self.start];
        queues.into_iter().all(BTreeSet::is_empty)
    }

    /// Nothing is under way and nothing reachable is left to do.
    pub(super) fn is_done(&self) -> bool {
        let under_way = [&self.busy, &self.aside, &self.failed];
        self.is_idle() && under_way.into_iter().all(BTreeSet::is_empty)
    }
}

fn keep(set: &mut BTreeSet<NodeName>, node: &NodeName, member: bool) {
    if !member {
        set.remove(node);
    } else if !set.contains(node) {
        set.insert(node.clone());
    }
}
