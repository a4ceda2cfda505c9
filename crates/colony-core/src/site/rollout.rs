//! How far a revision may spread: steps, soaks and the word of an operator.
//!
//! Every strategy is a list of steps. Of a canary, each lets more nodes have
//! the revision; of blue-green, the first runs it beside the old one and the
//! last takes it over. A step is done when all that have the revision run it
//! well and nobody reachable is left to get it; the next opens after the soak.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::document::{Gate, Promote, Strategy, Subset};
use crate::event::{Actor, Body, StepStanding};
use crate::id::{DeploymentId, NodeName, PlacementId};
use crate::site::timer::Timer;
use crate::site::turn::Turn;
use crate::site::{Deployment, Hold, Site};
use crate::state::State;
use crate::time::{Mono, Wall};

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
    pub soaking: Option<Mono>,
    /// Since when it waits for an operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaits: Option<Wall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Hold>,
}

/// Whether a step is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ripeness {
    Unripe,
    Ripe,
    /// There is nothing to wait for in this step.
    Idle,
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

    /// No step holds a node back: the last one is open, or the revision was
    /// good here before.
    pub fn is_open(&self) -> bool {
        let good = self.good.as_ref().map(|it| it.workload);
        self.rollout.step + 1 >= self.steps() || good == Some(self.wanted.workload)
    }

    /// Not every reachable node has run what Git wants yet.
    pub fn is_under_way(&self) -> bool {
        let good = self.good.as_ref().map(|it| it.workload);
        !self.withdrawn && !self.is_quarantined() && good != Some(self.wanted.workload)
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
    pub(super) fn is_canary(&self, deployment: &Deployment, node: &NodeName) -> bool {
        let has = |labels| self.members.get(node).is_some_and(|it| it.has_labels(labels));
        deployment.step_labels().is_none_or(has)
    }

    /// How many of those that have the revision run it well, and how many are
    /// to in the open step.
    pub(super) fn progress(&self, deployment: &Deployment) -> (usize, usize) {
        let lanes = &deployment.lanes;
        let fresh = lanes.fresh.len();
        let wanted = match deployment.step_size() {
            Some(size) => (size as usize).min(deployment.nodes.len()),
            None => {
                let lacks = |it: &&NodeName| !lanes.fresh.contains(*it);
                fresh + self.awaited(deployment).filter(lacks).count()
            }
        };
        (fresh.saturating_sub(lanes.unripe.len()), wanted.max(fresh))
    }

    /// Who waits for the revision and is meant by the open step, room or not.
    fn awaited<'a>(&'a self, deployment: &'a Deployment) -> impl Iterator<Item = &'a NodeName> {
        let waiting = deployment.lanes.start.iter().chain(&deployment.lanes.again);
        waiting.filter(|it| self.is_of_step(deployment, it))
    }

    /// The open step means `node`, which is to go forward: it has the labels, or
    /// something that the revision can run beside.
    pub(super) fn is_of_step(&self, deployment: &Deployment, node: &NodeName) -> bool {
        if deployment.is_open() {
            return true;
        }
        match deployment.is_blue_green() {
            true => self.is_stageable(deployment, node),
            false => self.is_canary(deployment, node),
        }
    }

    fn ripeness(&self, deployment: &Deployment) -> Ripeness {
        let lanes = &deployment.lanes;
        let full = deployment.step_size().is_some_and(|it| lanes.fresh.len() >= it as usize);
        let waits = || !full && self.awaited(deployment).next().is_some();
        if !lanes.unripe.is_empty() || waits() {
            return Ripeness::Unripe;
        }
        match lanes.fresh.is_empty() {
            false => Ripeness::Ripe,
            // What is nowhere yet has nothing to run beside.
            true if deployment.is_blue_green() && !lanes.is_idle() => Ripeness::Idle,
            true => Ripeness::Unripe,
        }
    }

    /// What is there can run on while `node` stages the revision.
    fn is_stageable(&self, deployment: &Deployment, node: &NodeName) -> bool {
        let id = PlacementId { deployment: deployment.id.clone(), node: node.clone() };
        let placement = self.placements.get(&id);
        placement.is_some_and(|it| it.state() == State::Installed || it.aside)
    }
}

impl Turn<'_> {
    /// Opens the next step if its time has come; true if it did.
    pub(super) fn roll_on(&mut self, id: &DeploymentId) -> bool {
        let Some(deployment) = self.site.deployments.get(id) else { return false };
        let still = deployment.withdrawn || deployment.is_open() || deployment.is_quarantined();
        let Some(gate) = deployment.gate().filter(|_| !still) else { return false };
        match self.site.ripeness(deployment) {
            Ripeness::Unripe => self.wait_again(id),
            Ripeness::Idle => self.open_step(id, Actor::Local),
            Ripeness::Ripe => self.soak(id, gate),
        }
    }

    /// Somebody of the step is not well any more: its soak starts over.
    fn wait_again(&mut self, id: &DeploymentId) -> bool {
        let Some(deployment) = self.site.deployments.get_mut(id) else { return false };
        let rollout = &mut deployment.rollout;
        if rollout.soaking.take().is_some() | rollout.awaits.take().is_some() {
            self.out.changed.deployments.insert(id.clone());
            self.tell_step(id, Actor::Local);
        }
        false
    }

    fn soak(&mut self, id: &DeploymentId, gate: Gate) -> bool {
        let now = self.now;
        let Some(deployment) = self.site.deployments.get_mut(id) else { return false };
        let rollout = &mut deployment.rollout;
        let is_new = rollout.soaking.is_none();
        let over = rollout.soaking.get_or_insert(now.mono).after(gate.soak);
        let is_paused = rollout.paused.is_some();
        if is_new {
            self.out.changed.deployments.insert(id.clone());
        }
        if now.mono < over {
            self.site.index.timers.set(over, Timer::Rollout(id.clone()));
            if is_new {
                self.tell_step(id, Actor::Local);
            }
            return false;
        }
        match gate.promote {
            Promote::Auto if !is_paused => self.open_step(id, Actor::Local),
            Promote::Auto => false,
            Promote::Manual => self.await_promotion(id),
        }
    }

    fn await_promotion(&mut self, id: &DeploymentId) -> bool {
        let since = self.now.wall;
        let Some(deployment) = self.site.deployments.get_mut(id) else { return false };
        if deployment.rollout.awaits.is_none() {
            deployment.rollout.awaits = Some(since);
            self.out.changed.deployments.insert(id.clone());
            self.tell_step(id, Actor::Local);
        }
        false
    }

    /// Opens the next step that lets anybody in.
    pub(super) fn open_step(&mut self, id: &DeploymentId, actor: Actor) -> bool {
        let Some(deployment) = self.site.deployments.get_mut(id) else { return false };
        let has = deployment.lanes.fresh.len();
        loop {
            deployment.rollout.step += 1;
            (deployment.rollout.soaking, deployment.rollout.awaits) = (None, None);
            if deployment.step_size().is_none_or(|it| it as usize > has) {
                break;
            }
        }
        self.out.changed.deployments.insert(id.clone());
        self.dirty.insert(id.clone());
        self.tell_step(id, actor);
        true
    }

    /// Tells where the rollout stands, if it has more than one step.
    pub(super) fn tell_step(&mut self, id: &DeploymentId, actor: Actor) {
        let Some(deployment) = self.site.deployments.get_mut(id) else { return };
        let Some(gate) = deployment.gate().filter(|_| deployment.is_under_way()) else { return };
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
