//! Which actions to begin: a function of records, observation and the actions
//! under way.

pub(in crate::node) mod installation;
pub(in crate::node) mod observation;
pub(in crate::node) mod plan;
pub(in crate::node) mod removal;
pub(in crate::node) mod repair;

use colony_margo::{DeploymentId, Digest};

use crate::node::Node;
use crate::node::deployment_entry::{DecisionInput, DeploymentEntry, Next, sooner};
use crate::node::engine::Action;
use crate::node::row::{Phase, Retry};
use crate::node::step::Step;
use crate::time::Now;

/// An action under way, and the document it was begun for.
#[derive(Debug, Clone)]
pub(in crate::node) struct Busy {
    pub(in crate::node) action: Action,
    wire: Option<Digest>,
}

/// Containers of a deployment that the manifest does not list.
#[derive(Debug, Clone, Default)]
pub(in crate::node) struct Unmanaged {
    pub(in crate::node) stale: bool,
    pub(in crate::node) retry: Retry,
}

impl Node {
    pub(in crate::node) fn decide(&mut self, now: Now, step: &mut Step) {
        let ids: Vec<DeploymentId> = self.deployments.keys().cloned().collect();
        for id in &ids {
            self.decide_one(id, now, step);
        }
        self.remove_strays(now, step);
        let wakes = self.deployments.values().filter_map(|it| it.memory.wake);
        step.wake = sooner(step.wake, wakes.min());
    }

    fn decide_one(&mut self, id: &DeploymentId, now: Now, step: &mut Step) {
        let Some(entry) = self.deployments.get_mut(id) else { return };
        entry.memory.wake = None;
        entry.admit(self.capabilities.as_ref());
        if self.busy.get(id).is_some_and(|it| it.blocks(entry)) {
            return;
        }
        let Some(seen) = self.containers.as_ref().filter(|_| !entry.memory.stale) else {
            // An engine that is away is observed again when the shell looks.
            step.observe |= entry.memory.unseen.is_none();
            return;
        };
        let undecided = matches!(entry.record.phase, Phase::Applying { .. });
        if undecided && self.capabilities.is_none() {
            return;
        }
        let containers = seen.get(id).map_or(&[][..], Vec::as_slice);
        match entry.decide(&DecisionInput {
            containers,
            policy: &self.policy,
            now,
            observed_at: entry.memory.unseen.unwrap_or(self.observed_at),
        }) {
            Next::Act(action) => {
                let wire = Some(entry.record.wire);
                self.begin(Busy { action, wire }, step);
            }
            Next::Wait(wake) => {
                let due = wake.is_some_and(|it| it <= now.mono);
                step.observe |= due && entry.memory.unseen.is_none();
                entry.memory.wake = wake.filter(|_| !due);
                self.busy.remove(id);
            }
        }
    }

    /// Starts an action, unless the same one is already under way.
    fn begin(&mut self, next: Busy, step: &mut Step) {
        let (id, action) = (next.action.deployment().clone(), next.action.clone());
        let before = self.busy.insert(id, next);
        if before.is_none_or(|it| it.action != action) {
            step.actions.push(action);
        }
    }

    /// Removes containers of unlisted deployments. Before a manifest was
    /// accepted, nothing is removed.
    fn remove_strays(&mut self, now: Now, step: &mut Step) {
        let Some(seen) = self.containers.as_ref().filter(|_| self.meta.accepted.is_some()) else {
            return;
        };
        let kept = |it: &DeploymentId| {
            let entry = self.deployments.get(it);
            entry.is_some_and(|it| !matches!(it.record.phase, Phase::Removed { .. }))
        };
        let unwanted = seen.keys().filter(|it| !kept(it) && !self.busy.contains_key(it));
        for id in unwanted.cloned().collect::<Vec<_>>() {
            let stray = self.strays.entry(id.clone()).or_default();
            let due = stray.retry.due.filter(|it| now.mono < *it);
            step.observe |= stray.stale;
            step.wake = sooner(step.wake, due);
            if due.is_none() && !stray.stale {
                let action = Action::Remove { deployment: id, purge: false, images: false };
                self.begin(Busy { action, wire: None }, step);
            }
        }
    }
}

impl Busy {
    /// The action was begun for the document that is wanted.
    pub(in crate::node) fn is_for(&self, entry: &DeploymentEntry) -> bool {
        self.wire == Some(entry.record.wire) && entry.record.phase.is_wanted()
    }

    /// The action must end before another one is begun. A `Prepare` for a
    /// document that is no longer wanted blocks nothing.
    fn blocks(&self, entry: &DeploymentEntry) -> bool {
        !matches!(self.action, Action::Prepare { .. }) || self.is_for(entry)
    }
}
