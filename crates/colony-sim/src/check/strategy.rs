//! Rollouts in steps: the actions of operators, and the invariants.
//!
//! - no more nodes get a revision than the open step allows;
//! - the active version is not stopped while the next revision is only staged;
//! - every reachable node has staged the revision before any takes over.

use colony_core::event::{Body, Event, Transition};
use colony_core::id::{DeploymentId, PlacementId};
use colony_core::node::{self, Key, Row};
use colony_core::site::{Action, Placement, Site, Step};
use colony_core::state::{Op, State};
use colony_core::transition::Trigger;
use colony_world::transitions;

use crate::world::World;

/// Strategies in steps, for deployments to choose from.
pub(crate) const STEPS: [&str; 7] = [
    "strategy: {type: canary, soak: 20s, maxUnavailable: 3}",
    "strategy: {type: canary, canary: 34%, steps: [67%], soak: 5s, promote: manual}",
    "strategy: {type: canary, canary: 2, soak: 40s, maxUnavailable: 2}\nsoak: 20s",
    "strategy: {type: canary, canary: {zone: wet}, soak: 10s, maxUnavailable: 2}",
    "strategy: {type: canary, canary: {zone: wet}, steps: [50%], soak: 30s, promote: manual}",
    "strategy: {type: blue-green, soak: 15s}",
    "strategy: {type: blue-green, soak: 0s, promote: manual, maxUnavailable: 1}",
];

impl World {
    /// An action of an operator on a rollout.
    pub(crate) fn steering(&mut self, deployment: DeploymentId) -> Action {
        let note = "a look first".to_owned();
        match self.rng.range(0..8) {
            0..3 => Action::Promote { deployment },
            3..5 => Action::Pause { deployment, note },
            5..7 => Action::Resume { deployment },
            _ => Action::Abort { deployment, note },
        }
    }

    /// An operator promotes and resumes every rollout that waits for it.
    pub(crate) fn release_rollouts(&mut self, site: usize) {
        let core = &self.roles.sites[site].core;
        let waits = |it: &&colony_core::site::Deployment| {
            it.is_rolling_out()
                && (it.rollout().awaits_promotion_since.is_some() || it.rollout().paused.is_some())
        };
        let waiting = core.deployments().filter(waits);
        let waiting: Vec<_> = waiting.map(|it| (it.id.clone(), it.rollout().clone())).collect();
        for (deployment, rollout) in waiting {
            if rollout.paused.is_some() {
                self.local_command(site, Action::Resume { deployment: deployment.clone() });
            }
            if rollout.awaits_promotion_since.is_some() {
                self.local_command(site, Action::Promote { deployment });
            }
        }
    }

    /// Checks that the persisted rows of an LO follow the steps.
    pub(crate) fn check_steps(&mut self, site: usize, step: &Step) {
        let core = &self.roles.sites[site].core;
        let crowded = transitions(&step.events).find_map(|it| crowded(core, it));
        let hasty = step.events.iter().find_map(|it| hasty(it, &step.events));
        if let Some(what) = crowded.or(hasty) {
            self.violate(what);
        }
    }

    /// The active version keeps running while another one is only staged.
    pub(crate) fn check_stage(&mut self, node: usize, action: &node::Action) {
        let device = &self.roles.nodes[node];
        let node::Action::Clear { deployment, .. } = action else { return };
        let row = device.core.row(&Key::Deployment(deployment.clone()));
        let Some(Row::Deployment(record)) = row else { return };
        let text = String::from_utf8_lossy(record.text.as_bytes()).into_owned();
        let before = record.previous.as_ref().map(|it| version(it.as_bytes()));
        let runs = device.engine.running(self.now).get(deployment).cloned();
        if text.contains("phase: stage") && runs.is_some() && runs == before {
            let name = device.name.clone();
            self.violate(format!("{name} stops {runs:?} while another revision is staged"));
        }
    }
}

/// It waits for an operator, together with a stopped rollout.
pub(crate) fn is_staged_for_good(core: &Site, placement: &Placement) -> bool {
    let deployment = core.deployment(&placement.id.deployment);
    placement.is_ready_to_take_over() && deployment.is_some_and(|it| it.is_stopped())
}

/// More nodes have a revision than the open step allows.
fn crowded(core: &Site, it: &Transition) -> Option<String> {
    let begins = matches!(it.trigger, Trigger::Start | Trigger::Revised | Trigger::Superseded);
    let deployment = core.deployment(&it.deployment).filter(|_| begins)?;
    let workload = deployment.accepted().workload;
    let forward = it.revisions.target.as_ref().is_some_and(|it| it.workload == workload);
    let room = core.rollout_room(&it.deployment).filter(|_| forward)? as usize;
    let ids = deployment.nodes().iter().map(|node| (deployment.id.clone(), node.clone()));
    let ids = ids.map(|(deployment, node)| PlacementId { deployment, node });
    let has = |it: &Placement| {
        let online = core.site_node(&it.id.node).is_some_and(|it| it.is_online());
        let leaving =
            matches!(it.state(), State::Pending | State::Deleting | State::Failed(Op::Delete));
        let stays = online && !leaving && !it.is_refused();
        stays && it.revisions.target.as_ref().is_some_and(|it| it.workload == workload)
    };
    let count = ids.filter(|it| core.placement(it).is_some_and(has)).count();
    (count > room).then(|| format!("{count} nodes have {}, the step lets {room} in", it.deployment))
}

/// The last step of blue-green opened although a node could have staged.
fn hasty(event: &Event, all: &[Event]) -> Option<String> {
    let Body::RolloutStep { deployment, step: 2, of: 2, nodes: None, .. } = &event.body else {
        return None;
    };
    let swapped = |it: &Transition| it.deployment == *deployment && it.trigger == Trigger::Promoted;
    let staged = transitions(all).any(swapped);
    let unstaged = transitions(all).find(|it| {
        let own = it.deployment == *deployment && it.trigger == Trigger::Revised;
        own && it.from == Some(State::Installed)
    });
    let unstaged = unstaged.filter(|_| staged)?;
    Some(format!("{} took {deployment} over without having staged it", unstaged.node))
}

fn version(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let version = text.split("revision: ").nth(1).and_then(|it| it.lines().next());
    version.unwrap_or_default().trim().to_owned()
}
