//! The registry of placements: their indexes by deployment and node, their
//! timers.

use crate::id::PlacementId;
use crate::site::Placement;
use crate::site::step_context::StepContext;
use crate::site::timer::Timer;
use crate::state::State;
use crate::time::Monotonic;

impl StepContext<'_> {
    /// Sets the time by which an online node has to report a lost attempt.
    pub(in crate::site) fn await_report(&self, placement: &mut Placement) {
        let site_node = self.site.site_nodes.get(&placement.id.node);
        let online = site_node.is_some_and(|it| it.is_online());
        placement.report_due_at = online.then(|| self.now.mono.after(self.site.timing.silence));
    }

    pub(in crate::site) fn arm_timers(&mut self, placement: &Placement) {
        for (at, timer) in timers(placement) {
            self.site.index.timers.set(at, timer);
        }
    }

    pub(in crate::site) fn disarm_timers(&mut self, placement: &Placement) {
        for (at, timer) in timers(placement) {
            self.site.index.timers.cancel(at, timer);
        }
    }

    /// Stores a placement and updates the indexes by deployment and by node.
    pub(in crate::site) fn store_placement(&mut self, placement: Placement) {
        let id = placement.id.clone();
        if let Some(deployment) = self.site.deployments.get_mut(&id.deployment) {
            deployment.placed.insert(id.node.clone());
        }
        if let Some(site_node) = self.site.site_nodes.get_mut(&id.node) {
            site_node.placed.insert(id.deployment.clone());
        }
        self.out.changed.placements.insert(id.clone());
        self.site.placements.insert(id, placement);
    }

    /// Removes a DELETED placement; central keeps the history.
    pub(in crate::site) fn forget(&mut self, id: &PlacementId) {
        self.site.placements.remove(id);
        if let Some(deployment) = self.site.deployments.get_mut(&id.deployment) {
            deployment.placed.remove(&id.node);
            deployment.rollout_index.set(&id.node, Default::default());
        }
        if let Some(site_node) = self.site.site_nodes.get_mut(&id.node) {
            site_node.placed.remove(&id.deployment);
        }
    }
}

/// The timers a placement's state needs.
pub(in crate::site) fn timers(
    placement: &Placement,
) -> impl Iterator<Item = (Monotonic, Timer)> + '_ {
    let id = &placement.id;
    let state = placement.state();
    let runs = state.is_in_progress() || matches!(state, State::Unknown(_));
    let deadline = placement.deadline().filter(|_| runs && !placement.is_ready_to_take_over());
    let deadline = deadline.map(|it| (it, Timer::Deadline(id.clone())));
    let retry = placement.retry_at.map(|it| (it, Timer::Retry(id.clone())));
    let silent = placement.report_due_at.map(|it| (it, Timer::Silent(id.clone())));
    [deadline, retry, silent].into_iter().flatten()
}
