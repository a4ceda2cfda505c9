//! How far the accepted revision may spread: steps, soaks and promotions.
//!
//! Every strategy is a list of steps. Each step of a canary allows more nodes to
//! run the revision. The first step of blue-green runs it beside the active
//! version, the last one lets it take over. A step is done when every node with
//! the revision is healthy and no reachable node of the step lacks it. The next
//! step opens after the soak: the time for which the nodes must stay healthy.
//! The *current* step is the last one that opened.
//!
//! `StepContext` is about another kind of step: one call of `Site::step`, which
//! handles one input.

pub(in crate::site) mod index;
pub(in crate::site) mod queue;
pub mod slot;
pub(in crate::site) mod stage;
pub(in crate::site) mod wanted_revision;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::document::{Gate, Promote, Strategy, Subset};
use crate::event::{Actor, Body, StepStanding};
use crate::id::{DeploymentId, NodeName, PlacementId};
use crate::site::rollout::index::Queue;
use crate::site::step_context::StepContext;
use crate::site::timer::Timer;
use crate::site::{Deployment, Hold, Placement, Site};
use crate::time::{Monotonic, Timestamp};

/// The position of the rollout of the accepted revision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollout {
    /// The current step, from 0.
    pub step: u32,
    /// How many nodes may have the revision, as sent in the last event of the
    /// rollout.
    #[serde(rename = "nodes", default, skip_serializing_if = "Option::is_none")]
    pub node_limit: Option<u32>,
    /// Since when all nodes of the step are healthy. On the site's own clock:
    /// the soak must not end early because the wall clock was set.
    #[serde(rename = "soaking", default, skip_serializing_if = "Option::is_none")]
    pub soaking_since: Option<Monotonic>,
    /// Since when it waits for an operator. Only shown, so by the wall clock.
    #[serde(rename = "awaits", default, skip_serializing_if = "Option::is_none")]
    pub awaits_promotion_since: Option<Timestamp>,
    /// The operator's order to open no further step, with its note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Hold>,
}

/// Whether the current step is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepProgress {
    /// A node of the step lacks the revision or is not healthy.
    NotReady,
    /// All nodes of the step are healthy: the soak runs.
    Ready,
    /// No node can be staged, so there is nothing to wait for.
    Empty,
}

impl Deployment {
    pub fn rollout(&self) -> &Rollout {
        &self.rollout
    }

    /// How many steps the rollout has.
    pub fn steps(&self) -> u32 {
        match self.policy().map(|it| &it.settings.strategy) {
            // Before the listed steps is the first subset, after them all nodes.
            Some(Strategy::Canary(it)) => u32::try_from(it.steps.len()).unwrap_or(u32::MAX) + 2,
            Some(Strategy::BlueGreen(_)) => 2,
            Some(Strategy::Rolling { .. } | Strategy::AllAtOnce) | None => 1,
        }
    }

    /// No step blocks a node: the last step is the current one, or the revision has
    /// already converged here.
    pub fn step_allows_all_nodes(&self) -> bool {
        let converged = self.last_converged.as_ref().map(|it| it.workload);
        self.rollout.step + 1 >= self.steps() || converged == Some(self.accepted.workload)
    }

    /// The accepted revision has not converged on the reachable nodes yet.
    pub fn is_rolling_out(&self) -> bool {
        let converged = self.last_converged.as_ref().map(|it| it.workload);
        !self.withdrawn && !self.is_quarantined() && converged != Some(self.accepted.workload)
    }

    /// Every node of the deployment already has the revision, so a promotion
    /// would allow no further node. Never for blue-green: a staged revision
    /// still has to take over.
    fn is_on_all_nodes(&self) -> bool {
        !self.is_blue_green() && self.rollout_index.has_revision.len() >= self.nodes.len()
    }

    /// What the next step waits for: the soak, and whether an operator has to
    /// promote. `None` for strategies with one step.
    pub(crate) fn gate(&self) -> Option<Gate> {
        match &self.policy()?.settings.strategy {
            Strategy::Canary(it) => Some(it.gate),
            Strategy::BlueGreen(it) => Some(it.gate),
            Strategy::Rolling { .. } | Strategy::AllAtOnce => None,
        }
    }

    /// How many nodes may have the revision in the current step; `None` if the
    /// step does not count nodes: the last one, one that selects by labels, and
    /// those of blue-green.
    pub(crate) fn step_size(&self) -> Option<u32> {
        let Strategy::Canary(canary) = &self.policy()?.settings.strategy else { return None };
        if self.step_allows_all_nodes() {
            return None;
        }
        let share = match (self.rollout.step, &canary.first) {
            (0, Subset::Share(share)) => Some(*share),
            (0, Subset::Labels(_)) => None,
            (step, _) => canary.steps.get(step as usize - 1).copied(),
        };
        share.map(|it| it.of(self.nodes.len()))
    }

    /// The labels by which the current step selects nodes, if it does.
    fn step_labels(&self) -> Option<&BTreeMap<String, String>> {
        let Strategy::Canary(canary) = &self.policy()?.settings.strategy else { return None };
        match &canary.first {
            Subset::Labels(labels) if self.rollout.step == 0 => Some(labels),
            Subset::Labels(_) | Subset::Share(_) => None,
        }
    }
}

impl Site {
    /// Whether `node` has the labels of the current step; true for a step without
    /// labels.
    pub(in crate::site) fn matches_step_labels(
        &self,
        deployment: &Deployment,
        node: &NodeName,
    ) -> bool {
        let has = |labels| self.site_nodes.get(node).is_some_and(|it| it.has_labels(labels));
        deployment.step_labels().is_none_or(has)
    }

    /// How many nodes run the revision and are healthy, and how many should in the
    /// current step.
    pub(in crate::site) fn healthy_and_required(&self, deployment: &Deployment) -> (usize, usize) {
        let index = &deployment.rollout_index;
        let has_revision = index.has_revision.len();
        let required = match deployment.step_size() {
            Some(size) => (size as usize).min(deployment.nodes.len()),
            None => {
                let lacks = |it: &&NodeName| !index.has_revision.contains(*it);
                has_revision + self.nodes_waiting_for_step(deployment).filter(lacks).count()
            }
        };
        (has_revision.saturating_sub(index.not_ready.len()), required.max(has_revision))
    }

    /// The nodes of the current step that wait for the revision, even those that
    /// the size of the step leaves no room for.
    fn nodes_waiting_for_step<'a>(
        &'a self,
        deployment: &'a Deployment,
    ) -> impl Iterator<Item = &'a NodeName> {
        let index = &deployment.rollout_index;
        let waiting = index.queue(Queue::Start).iter().chain(index.queue(Queue::Retry));
        waiting.filter(|it| self.in_current_step(deployment, it))
    }

    /// The current step includes `node`: it is the last one, or `node` has the canary's labels or, for
    /// blue-green, an active version that the revision can be staged beside.
    pub(in crate::site) fn in_current_step(
        &self,
        deployment: &Deployment,
        node: &NodeName,
    ) -> bool {
        if deployment.step_allows_all_nodes() {
            return true;
        }
        match deployment.is_blue_green() {
            true => self.is_stageable(deployment, node),
            false => self.matches_step_labels(deployment, node),
        }
    }

    fn step_progress(&self, deployment: &Deployment) -> StepProgress {
        let index = &deployment.rollout_index;
        let full = deployment.step_size().is_some_and(|it| index.has_revision.len() >= it as usize);
        let waits = || !full && self.nodes_waiting_for_step(deployment).next().is_some();
        if !index.not_ready.is_empty() || waits() {
            return StepProgress::NotReady;
        }
        match index.has_revision.is_empty() {
            false => StepProgress::Ready,
            // A first install has no active version to stage beside.
            true if deployment.is_blue_green() && !index.is_idle() => StepProgress::Empty,
            true => StepProgress::NotReady,
        }
    }

    /// The active version on `node` keeps running while the revision is staged.
    fn is_stageable(&self, deployment: &Deployment, node: &NodeName) -> bool {
        let id = PlacementId { deployment: deployment.id.clone(), node: node.clone() };
        let placement = self.placements.get(&id);
        placement.is_some_and(Placement::can_stage)
    }
}

impl StepContext<'_> {
    /// Opens the next step if its time has come; true if it did.
    pub(in crate::site) fn open_step_if_due(&mut self, id: &DeploymentId) -> bool {
        let Some(deployment) = self.site.deployments.get(id) else { return false };
        let is_over = deployment.withdrawn
            || deployment.step_allows_all_nodes()
            || deployment.is_quarantined();
        let Some(gate) = deployment.gate().filter(|_| !is_over) else { return false };
        match self.site.step_progress(deployment) {
            StepProgress::NotReady => self.stop_soak(id),
            StepProgress::Empty => self.open_step(id, Actor::Local),
            StepProgress::Ready => self.soak(id, gate),
        }
    }

    /// A node of the step is not healthy: the soak, if it runs, ends without effect
    /// and begins again when all are healthy.
    fn stop_soak(&mut self, id: &DeploymentId) -> bool {
        let Some(deployment) = self.site.deployments.get_mut(id) else { return false };
        let rollout = &mut deployment.rollout;
        if rollout.soaking_since.take().is_some() | rollout.awaits_promotion_since.take().is_some()
        {
            self.out.changed.deployments.insert(id.clone());
            self.emit_step_event(id, Actor::Local);
        }
        false
    }

    /// Begins the soak or, when it is over, opens the next step or waits for its
    /// promotion.
    fn soak(&mut self, id: &DeploymentId, gate: Gate) -> bool {
        let now = self.now;
        let Some(deployment) = self.site.deployments.get_mut(id) else { return false };
        let opens_unattended = gate.promote == Promote::Auto || deployment.is_on_all_nodes();
        let rollout = &mut deployment.rollout;
        // A restart of the orchestrator moves the end of a soak: it is reported
        // again.
        let begins = rollout.soaking_since.is_none() | self.site.index.moved_soaks.remove(id);
        let end = rollout.soaking_since.get_or_insert(now.mono).after(gate.soak);
        let is_paused = rollout.paused.is_some();
        if begins {
            self.out.changed.deployments.insert(id.clone());
        }
        if now.mono < end {
            self.site.index.timers.set(end, Timer::Rollout(id.clone()));
            if begins {
                self.emit_step_event(id, Actor::Local);
            }
            return false;
        }
        match (opens_unattended, is_paused) {
            (true, false) => self.open_step(id, Actor::Local),
            (true, true) => false,
            (false, _) => self.await_promotion(id),
        }
    }

    fn await_promotion(&mut self, id: &DeploymentId) -> bool {
        let since = self.now.wall;
        let Some(deployment) = self.site.deployments.get_mut(id) else { return false };
        if deployment.rollout.awaits_promotion_since.is_none() {
            deployment.rollout.awaits_promotion_since = Some(since);
            self.out.changed.deployments.insert(id.clone());
            self.emit_step_event(id, Actor::Local);
        }
        false
    }

    /// Opens the next step that allows at least one more node.
    pub(in crate::site) fn open_step(&mut self, id: &DeploymentId, actor: Actor) -> bool {
        let Some(deployment) = self.site.deployments.get_mut(id) else { return false };
        let has = deployment.rollout_index.has_revision.len();
        loop {
            deployment.rollout.step += 1;
            (deployment.rollout.soaking_since, deployment.rollout.awaits_promotion_since) =
                (None, None);
            if deployment.step_size().is_none_or(|it| it as usize > has) {
                break;
            }
        }
        self.out.changed.deployments.insert(id.clone());
        self.queues_to_process.insert(id.clone());
        self.emit_step_event(id, actor);
        true
    }

    /// Emits the current step and its standing, if the rollout has several steps
    /// or a pause: a former strategy of a paused rollout may have had steps.
    pub(in crate::site) fn emit_step_event(&mut self, id: &DeploymentId, actor: Actor) {
        let Some(deployment) = self.site.deployments.get_mut(id) else { return };
        let gate = deployment.gate();
        let is_reported = gate.is_some() || deployment.rollout.paused.is_some();
        if !is_reported || !deployment.is_rolling_out() {
            return;
        }
        deployment.rollout.node_limit = deployment.step_size();
        self.out.changed.deployments.insert(id.clone());
        let rollout = &deployment.rollout;
        let body = Body::RolloutStep {
            deployment: id.clone(),
            workload: deployment.accepted.workload,
            step: rollout.step + 1,
            of: deployment.steps(),
            nodes: rollout.node_limit,
            staged: deployment.is_blue_green() && !deployment.step_allows_all_nodes(),
            standing: rollout.standing(gate.map(|it| it.soak).unwrap_or_default(), self.now),
        };
        self.emit(actor, body);
    }
}

impl Rollout {
    /// What the current step waits for. `Open` is a step whose nodes are not all
    /// healthy yet.
    pub fn standing(&self, soak: Duration, now: crate::time::Now) -> StepStanding {
        match (self.awaits_promotion_since, self.soaking_since) {
            (Some(_), _) => StepStanding::AwaitsPromotion,
            (None, Some(since)) => StepStanding::Soaking { until: now.wall_at(since.after(soak)) },
            (None, None) => StepStanding::Open,
        }
    }
}
