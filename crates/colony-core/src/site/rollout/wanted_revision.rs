//! The wanted revision of a placement, and the trigger that moves it there.
//!
//! Pure look-ups: `want` returns the revision that a node should run, and
//! `next_trigger` compares it with the state. `queue.rs` then applies the
//! trigger to the transition table.

use crate::attempt::Revision;
use crate::id::NodeName;
use crate::site::rollout::index::{PlacementFlags, Queue};
use crate::site::{Deployment, Placement, Site};
use crate::state::{Op, State};
use crate::transition::Trigger;

/// The revision a placement should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::site) struct WantedRevision {
    pub(in crate::site) revision: Revision,
    /// The revision is a rollback from a bad one, not an update.
    pub(in crate::site) back: bool,
}

impl Deployment {
    /// The revision that `node` should run, given its placement; `None` if
    /// none.
    pub(in crate::site) fn want(
        &self,
        node: &NodeName,
        placement: Option<&Placement>,
    ) -> Option<WantedRevision> {
        if self.withdrawn || !self.nodes.contains(node) {
            return None;
        }
        let effective = self.effective()?;
        let rejected = self.rejected.get(node);
        if rejected.is_some_and(|it| it.workload == effective.workload) {
            let last_good = placement.and_then(|it| it.revisions.last_good.clone());
            let revision = last_good.filter(|it| it.workload != effective.workload)?;
            return Some(WantedRevision { revision, back: true });
        }
        Some(WantedRevision { revision: effective.clone(), back: self.is_quarantined() })
    }
}

impl Site {
    pub(in crate::site) fn want(&self, placement: &Placement) -> Option<WantedRevision> {
        let deployment = self.deployments.get(&placement.id.deployment)?;
        deployment.want(&placement.id.node, Some(placement))
    }

    /// The trigger that would move `placement` towards its wanted revision.
    pub(in crate::site) fn next_trigger(&self, placement: &Placement) -> Option<Trigger> {
        let want = self.want(placement);
        let Some(want) = want else { return self.next_removal_trigger(placement) };
        let differs = placement.target_workload() != Some(want.revision.workload);
        match placement.state() {
            State::Pending => Some(Trigger::Start),
            State::Deleting | State::Failed(Op::Delete) => Some(Trigger::Readded),
            State::Installed if differs && want.back => Some(Trigger::Rollback),
            State::Installed if differs => Some(Trigger::Revised),
            State::Updating if differs && want.back => Some(Trigger::Rollback),
            State::Updating if !differs && placement.is_ready_to_take_over() => {
                Some(Trigger::Promoted)
            }
            State::Installing | State::Updating | State::RollingBack | State::Unknown(_)
                if differs =>
            {
                Some(Trigger::Superseded)
            }
            State::Failed(Op::Update) if differs && want.back => Some(Trigger::Rollback),
            State::Failed(_) if differs => Some(Trigger::Revised),
            State::Failed(_) => self.retry_trigger(placement),
            State::Installing
            | State::Updating
            | State::RollingBack
            | State::Installed
            | State::Unknown(_)
            | State::Deleted => None,
        }
    }

    /// The same for a placement that is not wanted.
    fn next_removal_trigger(&self, placement: &Placement) -> Option<Trigger> {
        match placement.state() {
            State::Deleting if !placement.may_be_on_node => Some(Trigger::NeverDelivered),
            State::Deleting | State::Deleted => None,
            State::Failed(Op::Delete) => self.retry_trigger(placement),
            State::Pending
            | State::Installing
            | State::Updating
            | State::RollingBack
            | State::Installed
            | State::Failed(_)
            | State::Unknown(_) => Some(Trigger::Remove),
        }
    }

    fn retry_trigger(&self, placement: &Placement) -> Option<Trigger> {
        placement.retry_at.filter(|it| *it <= self.clock).map(|_| Trigger::Retry)
    }

    /// The sets of its deployment's index that contain a placement.
    pub(in crate::site) fn placement_flags(&self, placement: &Placement) -> PlacementFlags {
        let site_node = self.site_nodes.get(&placement.id.node);
        let online = site_node.is_some_and(|it| it.is_online());
        let state = placement.state();
        let served = online && !self.is_foreign_to(placement);
        let trigger = self.next_trigger(placement).filter(|it| served || !needs_node(*it));
        let want = self.want(placement);
        let backward = want.as_ref().is_some_and(|it| it.back);
        let wanted = want.map(|it| it.revision.workload);
        let up_to_date = state == State::Installed && placement.target_workload() == wanted;
        let has_revision = self.can_run_target(placement) && self.has_accepted_revision(placement);
        PlacementFlags {
            occupancy: self.occupancy(placement),
            up_to_date,
            has_revision,
            not_ready: has_revision && !up_to_date && !placement.is_ready_to_take_over(),
            queue: trigger.map(|it| queue(it, state, backward)),
        }
    }
}

fn needs_node(trigger: Trigger) -> bool {
    !matches!(trigger, Trigger::Remove | Trigger::NeverDelivered | Trigger::Readded)
}

/// The queue for a trigger. Changes that need a slot wait for one: rollbacks go
/// before updates, and placements that are already down before running ones.
fn queue(trigger: Trigger, state: State, backward: bool) -> Queue {
    match (trigger, state) {
        (Trigger::Start, State::Pending) if backward => Queue::Rollback,
        (Trigger::Rollback, State::Installed) => Queue::Rollback,
        (Trigger::Promoted, _) => Queue::TakeOver,
        (Trigger::Revised | Trigger::Retry, State::Failed(Op::Install | Op::Update)) => {
            Queue::Retry
        }
        (Trigger::Revised, State::Failed(_)) => Queue::Retry,
        (Trigger::Start | Trigger::Revised, State::Pending | State::Installed) => Queue::Start,
        _ => Queue::Unblocked,
    }
}
