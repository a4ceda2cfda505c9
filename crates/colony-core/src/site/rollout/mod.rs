//! How far a revision may spread: steps, soaks and promotions.
//!
//! Every strategy is a list of steps. Each step of a canary allows more nodes to
//! run the revision. The first step of blue-green runs it beside the active
//! version, the last one lets it take over. A step is done when every node with
//! the revision runs it well and no reachable node of the step lacks it. The
//! next step opens after the soak.

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

/// Where the rollout of the wanted revision stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollout {
    /// The step that is open, from 0.
    pub step: u32,
    /// How many nodes may have the revision, as it was reported with the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// Since when all of the step are well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soaking: Option<Monotonic>,
    /// Since when it waits for an operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaits: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Hold>,
}

/// Whether a step is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepProgress {
    NotReady,
    Ready,
    /// The step contains no node.
    Empty,
}

impl Deployment {
    pub fn rollout(&self) -> &Rollout {
        &self.rollout
    }

    /// How many steps the rollout has.
    pub fn steps(&self) -> u32 {
        match self.policy().map(|it| &it.settings.strategy) {
            Some(Strategy::Canary(it)) => u32::try_from(it.steps.len()).unwrap_or(u32::MAX) + 2,
            Some(Strategy::BlueGreen(_)) => 2,
            Some(Strategy::Rolling { .. } | Strategy::AllAtOnce) | None => 1,
        }
    }

    /// No step blocks a node: the last step is open, or the revision has already
    /// converged here.
    pub fn is_open(&self) -> bool {
        let good = self.good.as_ref().map(|it| it.workload);
        self.rollout.step + 1 >= self.steps() || good == Some(self.wanted.workload)
    }

    /// The revision of Git has not converged on the reachable nodes yet.
    pub fn is_rolling_out(&self) -> bool {
        let good = self.good.as_ref().map(|it| it.workload);
        !self.withdrawn && !self.is_quarantined() && good != Some(self.wanted.workload)
    }

    /// Every node of the deployment already has the revision, so a promotion
    /// would allow no further node. Not so for blue-green: a staged revision
    /// still has to take over.
    fn is_on_all_nodes(&self) -> bool {
        !self.is_blue_green() && self.rollout_index.has_revision.len() >= self.nodes.len()
    }

    pub(crate) fn gate(&self) -> Option<Gate> {
        match &self.policy()?.settings.strategy {
            Strategy::Canary(it) => Some(it.gate),
            Strategy::BlueGreen(it) => Some(it.gate),
            Strategy::Rolling { .. } | Strategy::AllAtOnce => None,
        }
    }

    /// How many nodes may have the revision in the open step; `None` if that
    /// is not a matter of numbers.
    pub(crate) fn step_size(&self) -> Option<u32> {
        let Strategy::Canary(canary) = &self.policy()?.settings.strategy else { return None };
        if self.is_open() {
            return None;
        }
        let share = match (self.rollout.step, &canary.first) {
            (0, Subset::Share(share)) => Some(*share),
            (0, Subset::Labels(_)) => None,
            (step, _) => canary.steps.get(step as usize - 1).copied(),
        };
        share.map(|it| it.of(self.nodes.len()))
    }

    /// The labels by which the open step chooses nodes, if it does.
    fn step_labels(&self) -> Option<&BTreeMap<String, String>> {
        let Strategy::Canary(canary) = &self.policy()?.settings.strategy else { return None };
        match &canary.first {
            Subset::Labels(labels) if self.rollout.step == 0 => Some(labels),
            Subset::Labels(_) | Subset::Share(_) => None,
        }
    }
}

impl Site {
    /// Whether the labels of the first subset choose `node`, if labels do.
    pub(in crate::site) fn is_canary(&self, deployment: &Deployment, node: &NodeName) -> bool {
        let has = |labels| self.site_nodes.get(node).is_some_and(|it| it.has_labels(labels));
        deployment.step_labels().is_none_or(has)
    }

    /// How many nodes run the revision well, and how many should in the open step.
    pub(in crate::site) fn progress(&self, deployment: &Deployment) -> (usize, usize) {
        let index = &deployment.rollout_index;
        let has_revision = index.has_revision.len();
        let wanted = match deployment.step_size() {
            Some(size) => (size as usize).min(deployment.nodes.len()),
            None => {
                let lacks = |it: &&NodeName| !index.has_revision.contains(*it);
                has_revision + self.nodes_waiting_for_step(deployment).filter(lacks).count()
            }
        };
        (has_revision.saturating_sub(index.not_ready.len()), wanted.max(has_revision))
    }

    /// The nodes of the open step that wait for the revision, with or without room.
    fn nodes_waiting_for_step<'a>(
        &'a self,
        deployment: &'a Deployment,
    ) -> impl Iterator<Item = &'a NodeName> {
        let index = &deployment.rollout_index;
        let waiting = index.queue(Queue::Start).iter().chain(index.queue(Queue::Retry));
        waiting.filter(|it| self.in_current_step(deployment, it))
    }

    /// The open step includes `node`: it has the canary's labels or, for
    /// blue-green, an active version that the revision can be staged beside.
    pub(in crate::site) fn in_current_step(
        &self,
        deployment: &Deployment,
        node: &NodeName,
    ) -> bool {
        if deployment.is_open() {
            return true;
        }
        match deployment.is_blue_green() {
            true => self.is_stageable(deployment, node),
            false => self.is_canary(deployment, node),
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
        let still = deployment.withdrawn || deployment.is_open() || deployment.is_quarantined();
        let Some(gate) = deployment.gate().filter(|_| !still) else { return false };
        match self.site.step_progress(deployment) {
            StepProgress::NotReady => self.restart_soak(id),
            StepProgress::Empty => self.open_step(id, Actor::Local),
            StepProgress::Ready => self.soak(id, gate),
        }
    }

    /// A node of the step is no longer well: the soak starts over.
    fn restart_soak(&mut self, id: &DeploymentId) -> bool {
        let Some(deployment) = self.site.deployments.get_mut(id) else { return false };
        let rollout = &mut deployment.rollout;
        if rollout.soaking.take().is_some() | rollout.awaits.take().is_some() {
            self.out.changed.deployments.insert(id.clone());
            self.emit_step_event(id, Actor::Local);
        }
        false
    }

    fn soak(&mut self, id: &DeploymentId, gate: Gate) -> bool {
        let now = self.now;
        let Some(deployment) = self.site.deployments.get_mut(id) else { return false };
        let by_itself = gate.promote == Promote::Auto || deployment.is_on_all_nodes();
        let rollout = &mut deployment.rollout;
        let is_new = rollout.soaking.is_none() | self.site.index.moved_soaks.remove(id);
        let over = rollout.soaking.get_or_insert(now.mono).after(gate.soak);
        let is_paused = rollout.paused.is_some();
        if is_new {
            self.out.changed.deployments.insert(id.clone());
        }
        if now.mono < over {
            self.site.index.timers.set(over, Timer::Rollout(id.clone()));
            if is_new {
                self.emit_step_event(id, Actor::Local);
            }
            return false;
        }
        match (by_itself, is_paused) {
            (true, false) => self.open_step(id, Actor::Local),
            (true, true) => false,
            (false, _) => self.await_promotion(id),
        }
    }

    fn await_promotion(&mut self, id: &DeploymentId) -> bool {
        let since = self.now.wall;
        let Some(deployment) = self.site.deployments.get_mut(id) else { return false };
        if deployment.rollout.awaits.is_none() {
            deployment.rollout.awaits = Some(since);
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
            (deployment.rollout.soaking, deployment.rollout.awaits) = (None, None);
            if deployment.step_size().is_none_or(|it| it as usize > has) {
                break;
            }
        }
        self.out.changed.deployments.insert(id.clone());
        self.dirty.insert(id.clone());
        self.emit_step_event(id, actor);
        true
    }

    /// Emits the position of the rollout, if it has more than one step.
    pub(in crate::site) fn emit_step_event(&mut self, id: &DeploymentId, actor: Actor) {
        let Some(deployment) = self.site.deployments.get_mut(id) else { return };
        let Some(gate) = deployment.gate().filter(|_| deployment.is_rolling_out()) else { return };
        deployment.rollout.nodes = deployment.step_size();
        self.out.changed.deployments.insert(id.clone());
        let rollout = &deployment.rollout;
        let body = Body::RolloutStep {
            deployment: id.clone(),
            workload: deployment.wanted.workload,
            step: rollout.step + 1,
            of: deployment.steps(),
            nodes: rollout.nodes,
            staged: deployment.is_blue_green() && !deployment.is_open(),
            standing: rollout.standing(gate.soak, self.now),
        };
        self.emit(actor, body);
    }
}

impl Rollout {
    /// What the open step waits for.
    pub fn standing(&self, soak: Duration, now: crate::time::Now) -> StepStanding {
        match (self.awaits, self.soaking) {
            (Some(_), _) => StepStanding::AwaitsPromotion,
            (None, Some(since)) => StepStanding::Soaking { until: now.wall_at(since.after(soak)) },
            (None, None) => StepStanding::Open,
        }
    }
}
