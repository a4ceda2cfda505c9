//! The timers of a site, on the monotonic clock.

use std::collections::BTreeSet;

use crate::attempt::Failure;
use crate::code::Code;
use crate::event::Actor;
use crate::id::{DeploymentId, NodeName, PlacementId};
use crate::site::placement::facts::too_early;
use crate::site::placement::transition::Initiator;
use crate::site::step_context::StepContext;
use crate::state::State;
use crate::time::Monotonic;
use crate::transition::Trigger;

/// A check that becomes due at some time. A timer that no longer fits the state
/// does nothing: the state decides, not the timer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    Presence(NodeName),
    Deadline(PlacementId),
    Retry(PlacementId),
    Silent(PlacementId),
    /// A soak may be over.
    Rollout(DeploymentId),
    /// A window may have opened, a delay may be over.
    Window,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Timers {
    due: BTreeSet<(Monotonic, Timer)>,
    /// When the window timer is due, if it is armed.
    window: Option<Monotonic>,
    /// The time of the persisted clock.
    pub(super) saved: Monotonic,
}

impl Timers {
    /// Arms `timer`. Nothing is due at the end of the clock: times are capped
    /// there, so a timer that is armed again when it fires would fire forever.
    pub(super) fn set(&mut self, at: Monotonic, timer: Timer) {
        if at < Monotonic::END {
            self.due.insert((at, timer));
        }
    }

    pub(super) fn cancel(&mut self, at: Monotonic, timer: Timer) {
        self.due.remove(&(at, timer));
    }

    pub(super) fn next(&self) -> Option<Monotonic> {
        self.due.first().map(|it| it.0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    fn pop(&mut self, now: Monotonic) -> Option<Timer> {
        if self.next()? > now {
            return None;
        }
        self.due.pop_first().map(|it| it.1)
    }
}

impl StepContext<'_> {
    pub(super) fn fire_timers(&mut self) {
        while let Some(timer) = self.site.index.timers.pop(self.now.mono) {
            match timer {
                Timer::Presence(node) => self.presence_due(&node),
                Timer::Deadline(id) => self.deadline_due(&id),
                Timer::Retry(id) => self.retry_due(&id),
                Timer::Silent(id) => self.silent_due(&id),
                Timer::Rollout(id) => _ = self.queues_to_process.insert(id),
                Timer::Window => self.window_due(),
            }
        }
    }

    fn deadline_due(&mut self, id: &PlacementId) {
        let Some(placement) = self.site.placements.get(id) else { return };
        if placement.deadline().is_none_or(|it| it > self.now.mono) {
            return;
        }
        let failure = if matches!(placement.state(), State::Unknown(_)) {
            Failure::new(Code::NodeOffline, "the node did not come back")
        } else {
            Failure::new(Code::ProgressDeadline, "the node did not finish in time")
        };
        // Other states have no deadline; the table refuses them.
        let _ = self.perform_transition(
            id,
            Trigger::Deadline,
            Initiator::local().with_failure(failure),
        );
    }

    fn retry_due(&mut self, id: &PlacementId) {
        self.update_index(id);
        self.queues_to_process.insert(id.deployment.clone());
    }

    fn silent_due(&mut self, id: &PlacementId) {
        let Some(placement) = self.site.placements.get(id) else { return };
        if placement.report_due_at.is_some_and(|it| it <= self.now.mono) {
            // Refused while the node is offline; its return arms the timer
            // again.
            let _ = self.perform_transition(id, Trigger::Silent, Initiator::local());
        }
    }

    /// A window opened, a delay ended or the wall clock jumped: all deployments
    /// with pending work are advanced again.
    fn window_due(&mut self) {
        self.queues_to_process.extend(self.site.index.pending_work.iter().cloned());
    }

    /// Arms the window timer for the time at which the window or the delay of a
    /// deployment allows a start, at most a minute ahead, because the wall
    /// clock may jump.
    pub(super) fn watch_clock(&mut self, id: &DeploymentId) {
        let Some(deployment) = self.site.deployments.get(id) else { return };
        let early = too_early(self.site, deployment, self.now.wall);
        let Some(until) = early.and_then(|it| it.until()) else { return };
        let wait = until.since(self.now.wall).min(std::time::Duration::from_secs(60));
        let timers = &mut self.site.index.timers;
        let armed = timers.window.filter(|it| *it > self.now.mono);
        let at = armed.map_or(self.now.mono.after(wait), |it| it.min(self.now.mono.after(wait)));
        if let Some(armed) = timers.window.replace(at) {
            timers.cancel(armed, Timer::Window);
        }
        timers.set(at, Timer::Window);
    }
}

impl Initiator {
    /// The local orchestrator, by its own rules.
    pub(super) fn local() -> Initiator {
        Initiator { actor: Actor::Local, failure: None, skips_hold_and_backoff: false }
    }
}
