//! The operator's commands for placements and nodes: retry, roll back, force,
//! cordon, retire.

use crate::attempt::Failure;
use crate::code::Code;
use crate::event::{Actor, Body};
use crate::id::{DeploymentId, NodeName, PlacementId};
use crate::order_rules::rollback_target;
use crate::site::Placement;
use crate::site::orders::command::{Done, no_node, unknown};
use crate::site::placement::transition::Initiator;
use crate::site::step_context::StepContext;
use crate::site::timer::Timer;
use crate::state::State;
use crate::transition::Trigger;

impl StepContext<'_> {
    /// Resets the tries of all failed placements and makes their retry due.
    pub(in crate::site) fn try_again(&mut self, id: &DeploymentId) {
        for id in self.chosen(id, None) {
            let Some(placement) = self.site.placements.get_mut(&id) else { continue };
            if matches!(placement.state(), State::Failed(_)) {
                placement.revision_errors = 0;
                self.make_due(&id);
            }
        }
    }

    pub(in crate::site) fn retry(
        &mut self,
        by: &str,
        id: &DeploymentId,
        node: Option<&NodeName>,
    ) -> Done {
        let mut refusals = Vec::new();
        let mut tried = false;
        for id in self.chosen(id, node) {
            if !matches!(self.site.placements.get(&id), Some(it) if matches!(it.state(), State::Failed(_)))
            {
                continue;
            }
            match self.retry_one(by, &id) {
                Ok(()) => tried = true,
                Err(refusal) => refusals.push(format!("{}: {refusal}", id.node)),
            }
        }
        if tried { Ok(()) } else { Err(refusals.join("; ")) }
    }

    fn retry_one(&mut self, by: &str, id: &PlacementId) -> Result<(), String> {
        let stopped =
            self.site.deployments.get_mut(&id.deployment).and_then(|it| it.stopped.take());
        let Some(before) = self.site.placements.get(id).cloned() else { return Ok(()) };
        if let Some(placement) = self.site.placements.get_mut(id) {
            (placement.revision_errors, placement.retry_at) = (0, Some(self.now.mono));
        }
        if let Err(refusal) = self.perform_transition(id, Trigger::Retry, Initiator::operator(by)) {
            self.site.placements.insert(id.clone(), before);
            if let Some(deployment) = self.site.deployments.get_mut(&id.deployment) {
                deployment.stopped = stopped;
            }
            return Err(refusal.to_string());
        }
        self.disarm_retry(&before);
        if stopped.is_some() {
            let body = Body::RolloutResumed { deployment: id.deployment.clone() };
            self.emit(Actor::Operator(by.to_owned()), body);
            self.mark_changed(&id.deployment);
        }
        Ok(())
    }

    /// Cancels the timer of the automatic retry that the operator has
    /// preempted.
    fn disarm_retry(&mut self, before: &Placement) {
        if let Some(at) = before.retry_at {
            self.site.index.timers.cancel(at, Timer::Retry(before.id.clone()));
        }
    }

    pub(in crate::site) fn roll_back(&mut self, by: &str, id: &DeploymentId) -> Done {
        let deployment = self.site.deployments.get(id).ok_or_else(|| unknown(id))?;
        let bad = deployment.accepted.clone();
        let revisions = self.site.placements_of(deployment).map(|it| &it.revisions);
        let good = rollback_target(
            bad.workload,
            deployment.last_converged.as_ref(),
            &deployment.quarantine,
            revisions,
        );
        let good = good.cloned();
        if let Some(deployment) = self.site.deployments.get_mut(id) {
            deployment.last_converged = good;
        }
        let actor = Actor::Operator(by.to_owned());
        let failure = Failure::new(Code::RolledBack, format!("by {by}"));
        self.quarantine_by(actor, id, bad, None, failure);
        Ok(())
    }

    pub(in crate::site) fn force(
        &mut self,
        by: &str,
        id: &DeploymentId,
        node: Option<&NodeName>,
    ) -> Done {
        for id in self.chosen(id, node) {
            let state = self.site.placements.get(&id).map(|it| it.state());
            if state.is_some_and(State::is_leaving) {
                // No guard refuses a forced removal.
                let _ = self.force_one(by, &id);
            }
        }
        Ok(())
    }

    fn force_one(&mut self, by: &str, id: &PlacementId) -> Result<(), crate::transition::Refusal> {
        let by = Initiator::operator(by).skipping_hold_and_backoff();
        if self.site.placements.get(id).is_some_and(|it| it.state() != State::Deleting) {
            self.perform_transition(id, Trigger::Remove, by.clone())?;
        }
        self.perform_transition(id, Trigger::Forced, by)
    }

    pub(in crate::site) fn cordon(&mut self, by: &str, node: &NodeName, cordoned: bool) -> Done {
        let site_node = self.site.site_nodes.get_mut(node).ok_or_else(|| no_node(node))?;
        site_node.cordoned = cordoned;
        self.out.changed.site_nodes.insert(node.clone());
        let body = Body::NodeCordoned { node: node.clone(), cordoned };
        self.emit(Actor::Operator(by.to_owned()), body);
        if !cordoned {
            self.plan_for_node(node);
        }
        Ok(())
    }

    /// All placements on the node count as deleted, without confirmation.
    pub(in crate::site) fn retire(&mut self, by: &str, node: &NodeName) -> Done {
        let placed = self.site.placed_on(node);
        self.site.site_nodes.remove(node).ok_or_else(|| no_node(node))?;
        self.out.changed.site_nodes.insert(node.clone());
        for id in &placed {
            // No guard refuses a forced removal.
            let _ = self.force_one(by, id);
        }
        let body = Body::NodeRetired { node: node.clone() };
        self.emit(Actor::Operator(by.to_owned()), body);
        self.forget_verdicts(node);
        for id in placed {
            self.plan(&id.deployment);
        }
        Ok(())
    }
    /// Forgets rejections: a node that joins later under this name has none.
    fn forget_verdicts(&mut self, node: &NodeName) {
        let all = self.site.deployments.values_mut();
        let touched = all.filter_map(|it| it.rejected.remove(node).map(|_| it.id.clone()));
        for id in touched.collect::<Vec<_>>() {
            self.mark_changed(&id);
        }
    }
}
