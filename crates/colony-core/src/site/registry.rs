//! Keeping placements: the indexes of who is placed where, and their timers.

use crate::id::PlacementId;
use crate::site::Placement;
use crate::site::timer::Timer;
use crate::site::turn::Turn;
use crate::state::State;
use crate::time::Mono;

impl Turn<'_> {
    /// A node that is there has to speak of a lost attempt soon.
    pub(super) fn await_report(&self, placement: &mut Placement) {
        let member = self.site.members.get(&placement.id.node);
        let online = member.is_some_and(|it| it.is_online());
        placement.silent_at = online.then(|| self.now.mono.after(self.site.timing.silence));
    }

    pub(super) fn arm(&mut self, placement: &Placement) {
        for (at, timer) in timers(placement) {
            self.site.index.timers.set(at, timer);
        }
    }

    pub(super) fn disarm(&mut self, placement: &Placement) {
        for (at, timer) in timers(placement) {
            self.site.index.timers.cancel(at, timer);
        }
    }

    /// Stores a placement and keeps the indexes of who is placed where.
    pub(super) fn put(&mut self, placement: Placement) {
        let id = placement.id.clone();
        if let Some(deployment) = self.site.deployments.get_mut(&id.deployment) {
            deployment.placed.insert(id.node.clone());
        }
        if let Some(member) = self.site.members.get_mut(&id.node) {
            member.placed.insert(id.deployment.clone());
        }
        self.out.changed.placements.insert(id.clone());
        self.site.placements.insert(id, placement);
    }

    /// DELETED leaves the registry; CO keeps the history.
    pub(super) fn forget(&mut self, id: &PlacementId) {
        self.site.placements.remove(id);
        if let Some(deployment) = self.site.deployments.get_mut(&id.deployment) {
            deployment.placed.remove(&id.node);
            deployment.lanes.set(&id.node, Default::default());
        }
        if let Some(member) = self.site.members.get_mut(&id.node) {
            member.placed.remove(&id.deployment);
        }
    }
}

/// The timers a placement's state needs.
pub(super) fn timers(placement: &Placement) -> impl Iterator<Item = (Mono, Timer)> + '_ {
    let id = &placement.id;
    let state = placement.state();
    let runs = state.is_in_flight() || matches!(state, State::Unknown(_));
    let deadline = placement.deadline().filter(|_| runs && !placement.staged);
    let deadline = deadline.map(|it| (it, Timer::Deadline(id.clone())));
    let retry = placement.retry_at.map(|it| (it, Timer::Retry(id.clone())));
    let silent = placement.silent_at.map(|it| (it, Timer::Silent(id.clone())));
    [deadline, retry, silent].into_iter().flatten()
}
