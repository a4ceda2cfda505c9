//! Works the queues of a deployment off: what may start, starts.

use std::ops::Bound;

use crate::event::{Actor, Body};
use crate::id::{DeploymentId, NodeName, PlacementId};
use crate::site::lanes::Queue;
use crate::site::moving::By;
use crate::site::rollout::Rollout;
use crate::site::turn::Turn;
use crate::site::{Placement, RolledBack};
use crate::state::State;
use crate::transition::{Reason, Refusal};

impl Turn<'_> {
    /// Moves everything of a deployment that the guards let move.
    pub(super) fn pump(&mut self, deployment: &DeploymentId) {
        loop {
            for queue in [Queue::Free, Queue::Back, Queue::Swap, Queue::Again, Queue::Start] {
                self.pump_queue(deployment, queue);
            }
            if !self.roll_on(deployment) {
                break;
            }
        }
        self.resume_if_over(deployment);
        self.note_convergence(deployment);
        self.note_hunger(deployment);
        self.forget_if_gone(deployment);
    }

    fn pump_queue(&mut self, deployment: &DeploymentId, queue: Queue) {
        let mut after: Option<NodeName> = None;
        while let Some(node) = self.next_in_queue(deployment, queue, after.as_ref()) {
            let id = PlacementId { deployment: deployment.clone(), node: node.clone() };
            if let Err(refusal) = self.advance_next(&id)
                && queue != Queue::Free
                && (self.is_shared(&refusal, &id) || (queue.is_stepwise() && refusal.is_gated()))
            {
                return;
            }
            after = Some(node);
        }
    }

    /// The next that the open step means; whom it does not mean is not asked.
    fn next_in_queue(
        &self,
        deployment: &DeploymentId,
        queue: Queue,
        after: Option<&NodeName>,
    ) -> Option<NodeName> {
        let deployment = self.site.deployments.get(deployment)?;
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut behind =
            deployment.lanes.queue(queue).range::<NodeName, _>((from, Bound::Unbounded));
        let meant = |it: &&NodeName| queue != Queue::Start || self.site.is_of_step(deployment, it);
        behind.find(meant).cloned()
    }

    fn advance_next(&mut self, id: &PlacementId) -> Result<(), Refusal> {
        let Some(placement) = self.site.placements.get(id) else { return Ok(()) };
        let Some(trigger) = self.site.next_trigger(placement) else { return Ok(()) };
        self.advance(id, trigger, By::local())
    }

    /// Files a placement under what is to be done about it.
    pub(super) fn reclassify(&mut self, id: &PlacementId) {
        let Some(placement) = self.site.placements.get(id) else { return };
        let standing = self.site.standing(placement);
        if let Some(deployment) = self.site.deployments.get_mut(&id.deployment) {
            deployment.lanes.set(&id.node, standing);
        }
    }

    /// Remembers what every reachable node runs, and reports a rollback's end.
    fn note_convergence(&mut self, id: &DeploymentId) {
        let Some(deployment) = self.site.deployments.get_mut(id) else { return };
        let open = deployment.is_open() || deployment.is_quarantined();
        if deployment.withdrawn || !open || !deployment.lanes.is_done() {
            return;
        }
        let wanted = deployment.wanted.clone();
        let held_back = deployment.rejected.keys().any(|it| deployment.nodes.contains(it));
        if deployment.is_quarantined() {
            let undeployed = deployment.effective().is_none() && !deployment.placed.is_empty();
            if undeployed {
                return;
            }
            let known = deployment.rolled_back.as_ref().map(|it| it.bad.workload);
            if known != Some(wanted.workload) {
                let (bad, good) = (wanted.clone(), deployment.effective().cloned());
                let pair = RolledBack { bad, good: good.clone(), since: self.now.wall };
                deployment.rolled_back = Some(pair);
                let body = Body::RolledBack { deployment: id.clone(), bad: wanted, good };
                self.emit(Actor::Local, body);
                self.out.changed.deployments.insert(id.clone());
            }
        } else if !deployment.lanes.settled.is_empty()
            && !held_back
            && deployment.good.as_ref() != Some(&wanted)
        {
            deployment.set_good(wanted.clone());
            let step = deployment.rollout.step;
            deployment.rollout = Rollout { step, ..Rollout::default() };
            let body = Body::DeploymentConverged { deployment: id.clone(), revision: wanted };
            self.emit(Actor::Local, body);
            self.forget_documents(id);
        }
    }

    /// Whoever failed is well again, or gone: there is nothing to stop any more.
    fn resume_if_over(&mut self, id: &DeploymentId) {
        let Some(deployment) = self.site.deployments.get(id) else { return };
        let Some(stopped) = deployment.stopped.as_ref().filter(|_| deployment.lanes.is_done())
        else {
            return;
        };
        let failed = PlacementId { deployment: id.clone(), node: stopped.node.clone() };
        let state = self.site.placements.get(&failed).map(Placement::state);
        if matches!(state, Some(State::Failed(_) | State::Unknown(_))) {
            return;
        }
        if let Some(deployment) = self.site.deployments.get_mut(id) {
            deployment.stopped = None;
        }
        self.out.changed.deployments.insert(id.clone());
        self.emit(Actor::Local, Body::RolloutResumed { deployment: id.clone() });
    }

    /// A converged deployment needs few of the revisions it went through.
    fn forget_documents(&mut self, id: &DeploymentId) {
        let placements = self.nodes_of(id).into_iter().filter_map(|node| {
            self.site.placements.get(&PlacementId { deployment: id.clone(), node })
        });
        let used = placements.flat_map(|it| it.revisions.iter().map(|it| it.blob.clone()));
        let used = used.collect();
        if let Some(deployment) = self.site.deployments.get_mut(id) {
            deployment.forget_documents(&used);
        }
        self.out.changed.deployments.insert(id.clone());
    }

    /// Whoever is left in a queue asks again when a hold or a window lifts.
    fn note_hunger(&mut self, id: &DeploymentId) {
        let idle = self.site.deployments.get(id).is_none_or(|it| it.lanes.is_idle());
        if idle {
            self.site.index.hungry.remove(id);
        } else {
            self.site.index.hungry.insert(id.clone());
            self.watch_clock(id);
        }
    }

    fn forget_if_gone(&mut self, id: &DeploymentId) {
        let Some(deployment) = self.site.deployments.get(id) else { return };
        if !deployment.withdrawn || !deployment.placed.is_empty() {
            return;
        }
        let name = deployment.name.clone();
        if self.site.index.names.get(&name) == Some(id) {
            self.site.index.names.remove(&name);
        }
        self.site.deployments.remove(id);
        self.out.changed.deployments.insert(id.clone());
    }

    /// Whether the next in the queue would be refused for the same reason. What
    /// is staged needs no slot, so that full slots hold only others up; what a
    /// device refused, or what failed beside another version, needs one where
    /// others that are down have theirs.
    fn is_shared(&self, refusal: &Refusal, id: &PlacementId) -> bool {
        let staging = self.site.deployments.get(&id.deployment).is_some_and(|it| it.is_staging());
        let placement = self.site.placements.get(id);
        let runs_on = placement.is_some_and(|it| it.is_refused() || it.aside);
        refusal.reasons.iter().any(|it| {
            let full = matches!(it, Reason::WaveFull { .. }) && !staging && !runs_on;
            full || matches!(
                it,
                Reason::WaveStopped { .. }
                    | Reason::HeldSite { .. }
                    | Reason::HeldDeployment { .. }
                    | Reason::WindowClosed { .. }
                    | Reason::Quarantined { .. }
            )
        })
    }
}
