//! The placements of one deployment by progress and by queue, updated with each
//! change.
//!
//! A call of `Site::step` reads these sets and never iterates over all placements, so its cost
//! does not grow with the fleet.

use std::collections::BTreeSet;

use crate::id::NodeName;
use crate::site::rollout::slot::Occupancy;

/// The nodes of a deployment by their progress and by the queue they are in.
#[derive(Debug, Clone, Default)]
pub(in crate::site) struct RolloutIndex {
    /// An attempt is in progress or its result is unknown, and no active version
    /// runs beside it.
    pub(in crate::site) in_flight: BTreeSet<NodeName>,
    /// An attempt is in progress or its result is unknown, and the active
    /// version keeps running.
    pub(in crate::site) staging: BTreeSet<NodeName>,
    /// Failed on a reachable node: the workload is down.
    pub(in crate::site) down: BTreeSet<NodeName>,
    /// Installed with the revision that the node should run.
    pub(in crate::site) up_to_date: BTreeSet<NodeName>,
    /// Reachable, and the manifest of the node lists the accepted revision.
    pub(in crate::site) has_revision: BTreeSet<NodeName>,
    /// The nodes of `has_revision` on which it is not healthy yet.
    pub(in crate::site) not_ready: BTreeSet<NodeName>,
    queues: Queues,
}

/// The nodes with a pending transition, by the queue it waits in.
#[derive(Debug, Clone, Default)]
struct Queues {
    unblocked: BTreeSet<NodeName>,
    take_over: BTreeSet<NodeName>,
    rollback: BTreeSet<NodeName>,
    retry: BTreeSet<NodeName>,
    start: BTreeSet<NodeName>,
}

/// The sets of the index that contain one placement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::site) struct PlacementFlags {
    pub(in crate::site) occupancy: Occupancy,
    pub(in crate::site) up_to_date: bool,
    pub(in crate::site) has_revision: bool,
    pub(in crate::site) not_ready: bool,
    pub(in crate::site) queue: Option<Queue>,
}

/// The queue in which the pending transition of a placement waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::site) enum Queue {
    /// The transition takes nothing down and needs no slot.
    Unblocked,
    /// The version is staged and takes over, slot by slot.
    TakeOver,
    /// To be rolled back, slot by slot.
    Rollback,
    /// Already down and to be tried again, slot by slot.
    Retry,
    /// To be installed or updated, slot by slot.
    Start,
}

impl Queue {
    /// The order in which queues are processed.
    pub(in crate::site) const ALL: [Queue; 5] =
        [Queue::Unblocked, Queue::Rollback, Queue::TakeOver, Queue::Retry, Queue::Start];

    /// The current rollout step can block this queue.
    pub(in crate::site) fn is_stepwise(self) -> bool {
        matches!(self, Queue::Start | Queue::TakeOver)
    }
}

impl RolloutIndex {
    pub(in crate::site) fn set(&mut self, node: &NodeName, flags: PlacementFlags) {
        let occupies = |it: Occupancy| flags.occupancy == it;
        set_member(&mut self.in_flight, node, occupies(Occupancy::InFlight));
        set_member(&mut self.staging, node, occupies(Occupancy::Staging));
        set_member(&mut self.down, node, occupies(Occupancy::Down));
        set_member(&mut self.up_to_date, node, flags.up_to_date);
        set_member(&mut self.has_revision, node, flags.has_revision);
        set_member(&mut self.not_ready, node, flags.not_ready);
        for queue in Queue::ALL {
            set_member(self.queues.queue_mut(queue), node, flags.queue == Some(queue));
        }
    }

    pub(in crate::site) fn queue(&self, queue: Queue) -> &BTreeSet<NodeName> {
        let queues = &self.queues;
        match queue {
            Queue::Unblocked => &queues.unblocked,
            Queue::TakeOver => &queues.take_over,
            Queue::Rollback => &queues.rollback,
            Queue::Retry => &queues.retry,
            Queue::Start => &queues.start,
        }
    }

    /// No node has a pending transition.
    pub(in crate::site) fn is_idle(&self) -> bool {
        Queue::ALL.into_iter().all(|it| self.queue(it).is_empty())
    }

    /// No attempt is in progress and no reachable node has a pending transition.
    pub(in crate::site) fn is_done(&self) -> bool {
        let open = [&self.in_flight, &self.staging, &self.down];
        self.is_idle() && open.into_iter().all(BTreeSet::is_empty)
    }
}

impl Queues {
    fn queue_mut(&mut self, queue: Queue) -> &mut BTreeSet<NodeName> {
        match queue {
            Queue::Unblocked => &mut self.unblocked,
            Queue::TakeOver => &mut self.take_over,
            Queue::Rollback => &mut self.rollback,
            Queue::Retry => &mut self.retry,
            Queue::Start => &mut self.start,
        }
    }
}

fn set_member(set: &mut BTreeSet<NodeName>, node: &NodeName, is_member: bool) {
    if !is_member {
        set.remove(node);
    } else if !set.contains(node) {
        set.insert(node.clone());
    }
}
