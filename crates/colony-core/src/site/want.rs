//! What is wanted of a placement, and which trigger brings it nearer.
//!
//! Pure look-ups: `want` says which revision should run where, `next_trigger`
//! compares that with the state. The wave then asks the transition table.

use crate::attempt::Revision;
use crate::id::NodeName;
use crate::site::lanes::{Queue, Standing};
use crate::site::{Deployment, Placement, Site};
use crate::state::{Op, State};
use crate::transition::Trigger;

/// The revision a placement should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Want {
    pub(super) revision: Revision,
    /// It is a way back from a bad revision, not a way forward.
    pub(super) back: bool,
}

impl Deployment {
    /// What `node` should run, given what it ran before; `None` if nothing.
    pub(super) fn want(&self, node: &NodeName, placement: Option<&Placement>) -> Option<Want> {
        if self.withdrawn || !self.nodes.contains(node) {
            return None;
        }
        let effective = self.effective()?;
        let rejected = self.rejected.get(node);
        if rejected.is_some_and(|it| it.workload == effective.workload) {
            let last_good = placement.and_then(|it| it.revisions.last_good.clone());
            let revision = last_good.filter(|it| it.workload != effective.workload)?;
            return Some(Want { revision, back: true });
        }
        Some(Want { revision: effective.clone(), back: self.is_quarantined() })
    }
}

impl Site {
    pub(super) fn want(&self, placement: &Placement) -> Option<Want> {
        let deployment = self.deployments.get(&placement.id.deployment)?;
        deployment.want(&placement.id.node, Some(placement))
    }

    /// The trigger that would bring `placement` nearer to what is wanted.
    pub(super) fn next_trigger(&self, placement: &Placement) -> Option<Trigger> {
        let want = self.want(placement);
        let Some(want) = want else { return self.next_trigger_out(placement) };
        let differs = placement.target_workload() != Some(want.revision.workload);
        match placement.state() {
            State::Pending => Some(Trigger::Start),
            State::Deleting | State::Failed(Op::Delete) => Some(Trigger::Readded),
            State::Installed if differs && want.back => Some(Trigger::Rollback),
            State::Installed if differs => Some(Trigger::Revised),
            State::Updating if differs && want.back => Some(Trigger::Rollback),
            State::Updating if !differs && placement.staged => Some(Trigger::Promoted),
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
    fn next_trigger_out(&self, placement: &Placement) -> Option<Trigger> {
        match placement.state() {
            State::Deleting if !placement.delivered => Some(Trigger::NeverDelivered),
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

    /// What a placement contributes to its deployment's lanes.
    pub(super) fn standing(&self, placement: &Placement) -> Standing {
        let member = self.members.get(&placement.id.node);
        let online = member.is_some_and(|it| it.is_online());
        let state = placement.state();
        let served = online && !self.is_foreign_to(placement);
        let trigger = self.next_trigger(placement).filter(|it| served || !needs_node(*it));
        let want = self.want(placement);
        let is_back = want.as_ref().is_some_and(|it| it.back);
        let wanted = want.map(|it| it.revision.workload);
        let under_way = state.is_in_flight() || matches!(state, State::Unknown(_));
        let reachable = online && !placement.is_refused();
        let failed = reachable && matches!(state, State::Failed(op) if op != Op::Delete);
        let settled = state == State::Installed && placement.target_workload() == wanted;
        let fresh = reachable && self.is_fresh(placement);
        Standing {
            busy: under_way && !placement.aside,
            aside: under_way && placement.aside,
            failed: failed && !placement.aside,
            settled,
            fresh,
            unripe: fresh && !settled && !placement.staged,
            queue: trigger.map(|it| queue(it, state, is_back)),
        }
    }
}

fn needs_node(trigger: Trigger) -> bool {
    !matches!(trigger, Trigger::Remove | Trigger::NeverDelivered | Trigger::Readded)
}

/// What takes a slot queues for it; ways back go before ways forward, and what
/// is down already goes before what runs.
fn queue(trigger: Trigger, state: State, is_back: bool) -> Queue {
    match (trigger, state) {
        (Trigger::Start, State::Pending) if is_back => Queue::Back,
        (Trigger::Rollback, State::Installed) => Queue::Back,
        (Trigger::Promoted, _) => Queue::Swap,
        (Trigger::Revised | Trigger::Retry, State::Failed(Op::Install | Op::Update)) => {
            Queue::Again
        }
        (Trigger::Revised, State::Failed(_)) => Queue::Again,
        (Trigger::Start | Trigger::Revised, State::Pending | State::Installed) => Queue::Start,
        _ => Queue::Free,
    }
}
