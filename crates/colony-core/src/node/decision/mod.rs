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
pub(in crate::node) struct RunningAction {
    pub(in crate::node) action: Action,
    /// The document's digest in the manifest; `None` for an unlisted deployment.
    document: Option<Digest>,
}

/// Retry state of a deployment that has containers but is not in the manifest.
#[derive(Debug, Clone, Default)]
pub(in crate::node) struct UnlistedDeployment {
    pub(in crate::node) stale: bool,
    pub(in crate::node) retry: Retry,
}

impl Node {
    pub(in crate::node) fn decide_actions(&mut self, now: Now, step: &mut Step) {
        let ids: Vec<DeploymentId> = self.deployments.keys().cloned().collect();
        for id in &ids {
            self.decide_action_for(id, now, step);
        }
        self.remove_unlisted(now, step);
        let wakes = self.deployments.values().filter_map(|it| it.memory.wake);
        step.wake = sooner(step.wake, wakes.min());
    }

    fn decide_action_for(&mut self, id: &DeploymentId, now: Now, step: &mut Step) {
        let Some(entry) = self.deployments.get_mut(id) else { return };
        entry.memory.wake = None;
        entry.check_requirements(self.capabilities.as_ref());
        if self.running_actions.get(id).is_some_and(|it| it.blocks(entry)) {
            return;
        }
        let Some(seen) = self.containers.as_ref().filter(|_| !entry.memory.stale) else {
            // An engine that did not answer is observed at the shell's own interval.
            step.observe |= entry.memory.unseen.is_none();
            return;
        };
        // Nothing is applied before the capabilities are known.
        let applying = matches!(entry.record.phase, Phase::Applying { .. });
        if applying && self.capabilities.is_none() {
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
                let document = Some(entry.record.wire);
                self.begin_action(RunningAction { action, document }, step);
            }
            Next::Wait(wake) => {
                let due = wake.is_some_and(|it| it <= now.mono);
                step.observe |= due && entry.memory.unseen.is_none();
                entry.memory.wake = wake.filter(|_| !due);
                // `blocks` has let only a `Prepare` pass whose document is no
                // longer wanted: its result is ignored.
                self.running_actions.remove(id);
            }
        }
    }

    /// Starts an action, unless the same one is already under way.
    fn begin_action(&mut self, next: RunningAction, step: &mut Step) {
        let (id, action) = (next.action.deployment().clone(), next.action.clone());
        let before = self.running_actions.insert(id, next);
        if before.is_none_or(|it| it.action != action) {
            step.actions.push(action);
        }
    }

    /// Removes containers of unlisted deployments. Before a manifest was
    /// accepted, nothing is removed.
    fn remove_unlisted(&mut self, now: Now, step: &mut Step) {
        let Some(seen) = self.containers.as_ref().filter(|_| self.meta.accepted.is_some()) else {
            return;
        };
        let listed = |it: &DeploymentId| {
            let entry = self.deployments.get(it);
            entry.is_some_and(|it| !matches!(it.record.phase, Phase::Removed { .. }))
        };
        let unlisted =
            seen.keys().filter(|it| !listed(it) && !self.running_actions.contains_key(it));
        for id in unlisted.cloned().collect::<Vec<_>>() {
            let deployment = self.unlisted.entry(id.clone()).or_default();
            let due = deployment.retry.due.filter(|it| now.mono < *it);
            step.observe |= deployment.stale;
            step.wake = sooner(step.wake, due);
            if due.is_none() && !deployment.stale {
                let action = Action::Remove { deployment: id, purge: false, images: false };
                self.begin_action(RunningAction { action, document: None }, step);
            }
        }
    }
}

impl RunningAction {
    /// The action was begun for the document that is wanted.
    pub(in crate::node) fn is_for(&self, entry: &DeploymentEntry) -> bool {
        self.document == Some(entry.record.wire) && entry.record.phase.is_wanted()
    }

    /// The action must end before another one is begun. A `Prepare` for a
    /// document that is no longer wanted blocks nothing.
    fn blocks(&self, entry: &DeploymentEntry) -> bool {
        !matches!(self.action, Action::Prepare { .. }) || self.is_for(entry)
    }
}
