//! Processes the queues of a deployment: starts every transition that its guards
//! allow.

use std::ops::Bound;

use crate::event::{Actor, Body};
use crate::id::{DeploymentId, NodeName, PlacementId};
use crate::site::placement::transition::Initiator;
use crate::site::rollout::Rollout;
use crate::site::rollout::index::Queue;
use crate::site::step_context::StepContext;
use crate::site::{Placement, RolledBack};
use crate::state::State;
use crate::transition::{Reason, Refusal};

impl StepContext<'_> {
    /// Advances each placement of a deployment as far as its guards allow, and
    /// opens the steps that are due.
    pub(in crate::site) fn process_queues(&mut self, deployment: &DeploymentId) {
        loop {
            for queue in Queue::ALL {
                self.process_queue(deployment, queue);
            }
            if !self.open_step_if_due(deployment) {
                break;
            }
        }
        self.resume_if_recovered(deployment);
        self.note_convergence(deployment);
        self.note_pending_work(deployment);
        self.forget_if_gone(deployment);
    }

    fn process_queue(&mut self, deployment: &DeploymentId, queue: Queue) {
        let mut after: Option<NodeName> = None;
        while let Some(node) = self.next_in_queue(deployment, queue, after.as_ref()) {
            let id = PlacementId { deployment: deployment.clone(), node: node.clone() };
            if let Err(refusal) = self.advance_next(&id)
                && self.ends_queue(queue, &refusal, &id)
            {
                return;
            }
            after = Some(node);
        }
    }

    /// Whether the nodes behind would be refused as well. Never in `Unblocked`,
    /// where each node waits for its own reason.
    fn ends_queue(&self, queue: Queue, refusal: &Refusal, id: &PlacementId) -> bool {
        let by_step = queue.is_stepwise() && refusal.is_from_current_step();
        queue != Queue::Unblocked && (by_step || self.blocks_whole_queue(refusal, id))
    }

    /// The next node of the queue; of the start queue only nodes of the open step.
    fn next_in_queue(
        &self,
        deployment: &DeploymentId,
        queue: Queue,
        after: Option<&NodeName>,
    ) -> Option<NodeName> {
        let deployment = self.site.deployments.get(deployment)?;
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut behind =
            deployment.rollout_index.queue(queue).range::<NodeName, _>((from, Bound::Unbounded));
        let selected =
            |it: &&NodeName| queue != Queue::Start || self.site.in_current_step(deployment, it);
        behind.find(selected).cloned()
    }

    fn advance_next(&mut self, id: &PlacementId) -> Result<(), Refusal> {
        let Some(placement) = self.site.placements.get(id) else { return Ok(()) };
        let Some(trigger) = self.site.next_trigger(placement) else { return Ok(()) };
        self.perform_transition(id, trigger, Initiator::local())
    }

    /// Moves a placement to the sets of the rollout index that fit its state.
    pub(in crate::site) fn update_index(&mut self, id: &PlacementId) {
        let Some(placement) = self.site.placements.get(id) else { return };
        let flags = self.site.placement_flags(placement);
        if let Some(deployment) = self.site.deployments.get_mut(&id.deployment) {
            deployment.rollout_index.set(&id.node, flags);
        }
    }

    /// Records that the accepted revision has converged on the reachable nodes, or
    /// that the rollback from it is complete.
    fn note_convergence(&mut self, id: &DeploymentId) {
        let Some(deployment) = self.site.deployments.get_mut(id) else { return };
        let no_step_blocks = deployment.step_allows_all_nodes() || deployment.is_quarantined();
        if deployment.withdrawn || !no_step_blocks || !deployment.rollout_index.is_done() {
            return;
        }
        let accepted = deployment.accepted.clone();
        let has_rejections = deployment.rejected.keys().any(|it| deployment.nodes.contains(it));
        if deployment.is_quarantined() {
            let still_removing = deployment.effective().is_none() && !deployment.placed.is_empty();
            if still_removing {
                return;
            }
            let recorded = deployment.rolled_back.as_ref().map(|it| it.bad.workload);
            if recorded != Some(accepted.workload) {
                let (bad, good) = (accepted.clone(), deployment.effective().cloned());
                let record = RolledBack { bad, good: good.clone(), since: self.now.wall };
                deployment.rolled_back = Some(record);
                let body = Body::RolledBack { deployment: id.clone(), bad: accepted, good };
                self.emit(Actor::Local, body);
                self.out.changed.deployments.insert(id.clone());
            }
        } else if !deployment.rollout_index.up_to_date.is_empty()
            && !has_rejections
            && deployment.last_converged.as_ref() != Some(&accepted)
        {
            deployment.set_converged(accepted.clone());
            let step = deployment.rollout.step;
            deployment.rollout = Rollout { step, ..Rollout::default() };
            let body = Body::DeploymentConverged { deployment: id.clone(), revision: accepted };
            self.emit(Actor::Local, body);
            self.forget_documents(id);
        }
    }

    /// Resumes a stopped rollout without an operator once nothing is queued or in
    /// progress, the node that failed has recovered or left, and the stop blocks
    /// no other node. A node that is offline is blocked too: it would start the
    /// revision at its return, though no operator has looked at the failure.
    fn resume_if_recovered(&mut self, id: &DeploymentId) {
        let Some(deployment) = self.site.deployments.get(id) else { return };
        let Some(stopped) =
            deployment.stopped.as_ref().filter(|_| deployment.rollout_index.is_done())
        else {
            return;
        };
        let mut placed = deployment.nodes.intersection(&deployment.placed);
        if !placed.all(|it| deployment.rollout_index.up_to_date.contains(it)) {
            return;
        }
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

    /// Drops documents of revisions that a converged deployment no longer needs.
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

    /// Remembers deployments with queued nodes: they are advanced again when a
    /// hold is released or a window opens.
    fn note_pending_work(&mut self, id: &DeploymentId) {
        let idle = self.site.deployments.get(id).is_none_or(|it| it.rollout_index.is_idle());
        if idle {
            self.site.index.pending_work.remove(id);
        } else {
            self.site.index.pending_work.insert(id.clone());
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

    /// Whether the refusal applies to every node behind this one in the queue. For
    /// full slots `SlotRow::blocks_queue` decides.
    fn blocks_whole_queue(&self, refusal: &Refusal, id: &PlacementId) -> bool {
        let ends_queue =
            |it: &Placement| self.site.full_slots_block_queue(it, refusal.trigger, self.now);
        refusal.reasons.iter().any(|it| {
            let full = matches!(it, Reason::SlotsFull { .. });
            (full && self.site.placements.get(id).is_some_and(ends_queue))
                || matches!(
                    it,
                    Reason::RolloutStopped { .. }
                        | Reason::HeldSite { .. }
                        | Reason::HeldDeployment { .. }
                        | Reason::WindowClosed { .. }
                        | Reason::Quarantined { .. }
                )
        })
    }
}
