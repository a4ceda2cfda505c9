//! The rounds of the simulated nodes: when they poll, look and act.

use colony_core::node::{Action, Input, Step};
use colony_world::{NodeShell, Registry, ToLocal, ToNode};

use crate::network::Happening;
use crate::world::World;

const POLL: u64 = 4_000;
const LOOK: u64 = 3_000;

impl World {
    /// Schedules the consequences of a stored step.
    pub(crate) fn schedule_node(&mut self, node: usize, step: Step) {
        let process = &mut self.roles.nodes[node].process;
        let life = process.life;
        if let Some(at) = process.plan_tick(step.wake) {
            self.at(at, Happening::NodeWake { node, life, at });
        }
        if step.observe {
            let soon = self.rng.range(10..300);
            self.after(soon, Happening::NodeLook { node, again: false });
        }
        self.node_hurries(node, &step);
        for action in step.actions {
            self.schedule_action(node, life, action);
        }
    }

    fn schedule_action(&mut self, node: usize, life: u64, action: Action) {
        let takes = match self.rng.range(0..100) {
            0..90 => self.rng.range(50..2_000),
            90..99 => self.rng.range(2_000..20_000),
            _ => self.rng.range(20_000..200_000),
        };
        let version = self.roles.nodes[node].version_of(&action);
        self.after(takes, Happening::EngineDone { node, life, action, version });
    }

    /// The engine finishes its action, also if the node process has crashed.
    pub(crate) fn engine_done(
        &mut self,
        node: usize,
        life: u64,
        action: Action,
        version: Option<&str>,
    ) {
        let now = self.now;
        let lost = self.roles.nodes[node].process.life != life;
        if lost && self.rng.chance(50) {
            return;
        }
        let registry = self.registry_of(node);
        let device = &mut *self.roles.nodes[node];
        let result = device.engine.perform(&action, version, now, registry);
        self.engine_speaks(node);
        if !lost {
            self.node_step(node, Input::Done { action, result });
        }
    }

    fn registry_of(&self, node: usize) -> Registry {
        let local = &self.roles.sites[self.roles.nodes[node].site];
        match self.now {
            now if now < local.registry_until => Registry::Away,
            now if now < local.denied_until => Registry::Denies,
            _ => Registry::Open,
        }
    }

    pub(crate) fn node_looks(&mut self, node: usize, again: bool) {
        if again {
            let next = self.rng.range(LOOK / 2..LOOK * 2) * self.season.slowness();
            self.after(next, Happening::NodeLook { node, again: true });
        }
        self.node_look(node);
    }

    pub(crate) fn node_wake(&mut self, node: usize, life: u64, at: u64) {
        if !self.roles.nodes[node].process.ticks(at, life) {
            return;
        }
        let before = self.roles.nodes[node].installed_ids().len();
        self.node_step(node, Input::Tick);
        if self.roles.nodes[node].installed_ids().len() > before {
            self.violate("the clock alone made a workload INSTALLED".to_owned());
        }
    }

    /// Polls for the manifest and sends unacknowledged reports.
    pub(crate) fn node_polls(&mut self, node: usize, again: bool) {
        if again {
            let next = self.rng.range(POLL / 2..POLL * 3 / 2) * self.season.slowness();
            self.after(next, Happening::NodePoll { node, again });
        }
        let device = &self.roles.nodes[node];
        if !device.process.up || device.retired {
            return;
        }
        let silent = device.introduced || self.now < device.mute_until;
        self.node_collect(node);
        if !silent {
            self.send_up(node, ToLocal::Capabilities { node });
        }
        let poll = self.node_poll(node);
        self.send_up(node, poll);
        for report in self.node_reports(node) {
            self.send_up(node, report);
        }
    }

    /// The acknowledgement of an old report must not silence a newer one.
    pub(crate) fn node_hears(&mut self, node: usize, message: ToNode) {
        let acknowledged = match &message {
            ToNode::StatusTaken { deployment, report } => Some((deployment.clone(), *report)),
            ToNode::Answer { .. } | ToNode::CapabilitiesTaken => None,
        };
        let Some((deployment, report)) = acknowledged else {
            return self.node_receive(node, message);
        };
        let newer = self.roles.nodes[node].owes(&deployment).filter(|it| *it > report);
        self.node_receive(node, message);
        let device = &self.roles.nodes[node];
        if newer.is_some() && device.owes(&deployment).is_none() && device.process.up {
            self.violate("the answer to an old report silenced a newer one".to_owned());
        }
    }

    pub(crate) fn node_crash(&mut self, node: usize, when: &str) {
        let down = self.rng.range(500..90_000);
        self.note(|w| format!("EN {} dies {when}", w.roles.nodes[node].name));
        self.roles.nodes[node].process.die();
        self.after(down, Happening::NodeUp { node });
    }

    pub(crate) fn node_up(&mut self, node: usize) {
        let device = &self.roles.nodes[node];
        if device.process.up || device.retired || self.season.nodes_off() {
            return;
        }
        self.note(|w| format!("EN {} is back", w.roles.nodes[node].name));
        self.node_start(node);
    }
}
