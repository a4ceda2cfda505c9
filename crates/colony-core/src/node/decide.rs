//! Which actions to begin: a function of records, observation and what is
//! under way.

use colony_margo::{DeploymentId, Digest};

use super::Node;
use super::engine::Action;
use super::held::{Held, Next, Scene, sooner};
use super::row::{Phase, Retry};
use super::step::Step;
use crate::time::Now;

/// An action under way, and the document it was begun for.
#[derive(Debug, Clone)]
pub(super) struct Busy {
    pub(super) action: Action,
    wire: Option<Digest>,
}

/// Containers of a deployment nobody asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Stray {
    pub(super) stale: bool,
    pub(super) retry: Retry,
}

impl Node {
    pub(super) fn decide(&mut self, now: Now, step: &mut Step) {
        let ids: Vec<DeploymentId> = self.deployments.keys().cloned().collect();
        for id in &ids {
            self.decide_one(id, now, step);
        }
        self.remove_strays(now, step);
        let wakes = self.deployments.values().filter_map(|it| it.memory.wake);
        step.wake = sooner(step.wake, wakes.min());
    }

    fn decide_one(&mut self, id: &DeploymentId, now: Now, step: &mut Step) {
        let Some(held) = self.deployments.get_mut(id) else { return };
        held.memory.wake = None;
        held.admit(self.capabilities.as_ref());
        if self.busy.get(id).is_some_and(|it| it.blocks(held)) {
            return;
        }
        let Some(seen) = self.containers.as_ref().filter(|_| !held.memory.stale) else {
            step.observe = true;
            return;
        };
        let undecided = matches!(held.record.phase, Phase::Applying { .. });
        if undecided && self.capabilities.is_none() {
            return;
        }
        let containers = seen.get(id).map_or(&[][..], Vec::as_slice);
        match held.decide(&Scene { containers, policy: &self.policy, now, seen: self.seen }) {
            Next::Act(action) => {
                let wire = Some(held.record.wire);
                self.begin(Busy { action, wire }, step);
            }
            Next::Wait(wake) => {
                let due = wake.is_some_and(|it| it <= now.mono);
                step.observe |= due;
                held.memory.wake = wake.filter(|_| !due);
                self.busy.remove(id);
            }
        }
    }

    /// Starts an action, unless the very same is under way already.
    fn begin(&mut self, next: Busy, step: &mut Step) {
        let (id, action) = (next.action.deployment().clone(), next.action.clone());
        let before = self.busy.insert(id, next);
        if before.is_none_or(|it| it.action != action) {
            step.actions.push(action);
        }
    }

    /// Removes what nobody asked for, once it is known what is asked for.
    fn remove_strays(&mut self, now: Now, step: &mut Step) {
        let Some(seen) = self.containers.as_ref().filter(|_| self.meta.accepted.is_some()) else {
            return;
        };
        let kept = |it: &DeploymentId| {
            let held = self.deployments.get(it);
            held.is_some_and(|it| !matches!(it.record.phase, Phase::Removed { .. }))
        };
        let unwanted = seen.keys().filter(|it| !kept(it) && !self.busy.contains_key(it));
        for id in unwanted.cloned().collect::<Vec<_>>() {
            let stray = self.strays.entry(id.clone()).or_default();
            let due = stray.retry.due.filter(|it| now.mono < *it);
            step.observe |= stray.stale;
            step.wake = sooner(step.wake, due);
            if due.is_none() && !stray.stale {
                self.begin(Busy { action: Action::Remove { deployment: id }, wire: None }, step);
            }
        }
    }
}

impl Busy {
    /// It was begun for what is wanted at the moment.
    pub(super) fn is_for(&self, held: &Held) -> bool {
        self.wire == Some(held.record.wire) && held.record.phase.is_wanted()
    }

    /// It must end before anything else is begun. Fetching for a document
    /// nobody wants any more holds up nothing.
    fn blocks(&self, held: &Held) -> bool {
        !matches!(self.action, Action::Prepare { .. }) || self.is_for(held)
    }
}
