//! Executes an act and its immediate consequences.

use colony_core::{node, site};
use colony_world::{JoinShell, LocalShell, NodeShell, UplinkShell};

use crate::world::act::{Act, How, Kind, RoleProcess, Way};
use crate::world::fate::Trail;
use crate::world::time::UNIT;
use crate::world::{LOCAL, World};

impl World {
    /// Executes an act.
    pub(crate) fn happen(&mut self, act: &Act) {
        self.said.clear();
        self.trail = Trail::of(act.fate);
        self.run(&act.kind);
        self.trail = Trail::default();
        self.before = None;
        self.note();
    }

    pub(crate) fn run(&mut self, kind: &Kind) {
        match kind {
            Kind::Operate => self.operate(),
            Kind::Fetch => self.local_fetch(LOCAL),
            Kind::Begin(who) => self.begin(*who),
            Kind::Seed => self.seed(),
            Kind::Poll(node) => {
                let call = self.node_calls(*node);
                self.send_up(*node, call);
            }
            Kind::Report(node) => {
                for report in self.reports(*node) {
                    self.send_up(*node, report);
                }
            }
            Kind::Arrive { line, index, how } => self.arrive(*line, *index, *how),
            Kind::Engine { node, index } => self.engine_done(*node, *index),
            Kind::PowerCut { node, finished } => {
                self.left.deaths -= 1;
                self.power_cut(*node, *finished);
            }
            Kind::Kill(node) => self.kill(*node),
            Kind::Send => self.local_send_events(LOCAL),
            Kind::Ask => self.local_request_commands(LOCAL),
            Kind::Revert => self.reverted |= self.central_revert(),
            Kind::FormerFetch => self.former_fetch(),
            Kind::FormerHears { node, index } => self.former_hears(*node, *index),
            Kind::FormerFenced => self.former_is_fenced(),
            Kind::Pass => {
                self.left.passes -= 1;
                self.pass();
            }
        }
    }

    /// Starts every process that is down.
    pub(crate) fn begin_all(&mut self) {
        let nodes = (0..self.roles.nodes.len()).map(RoleProcess::Node);
        [RoleProcess::Local, RoleProcess::Former]
            .into_iter()
            .chain(nodes)
            .for_each(|it| self.begin(it));
    }

    fn begin(&mut self, who: RoleProcess) {
        match who {
            RoleProcess::Local if !self.local().process.up => self.local_begin(LOCAL),
            RoleProcess::Former => self.former_begin(),
            RoleProcess::Node(node) if !self.roles.nodes[node].process.up => {
                self.node_comes_back(node)
            }
            RoleProcess::Local | RoleProcess::Node(_) => {}
        }
    }

    fn arrive(&mut self, line: Way, index: usize, how: How) {
        let keep = how == How::Twice;
        if keep {
            self.left.doubles -= 1;
            self.say("the network doubles a message".to_owned());
        }
        match line {
            Way::Up(node) => {
                let letter = self.up[node].take(index, keep);
                letter.iter().for_each(|it| self.local_receive(LOCAL, it.text.clone()));
            }
            Way::Down(node) => {
                let letter = self.down[node].take(index, keep);
                letter.iter().for_each(|it| self.node_receive(node, it.text.clone()));
            }
            Way::Out => {
                let letter = self.out.take(index, keep);
                letter.iter().for_each(|it| self.central_hears(it.text.clone()));
            }
            Way::Back => {
                let letter = self.back.take(index, keep);
                letter.iter().for_each(|it| self.local_hears_central(it.text.clone()));
            }
        }
    }

    pub(crate) fn seed(&mut self) {
        self.local_seed(LOCAL);
        self.seeded.clear();
    }

    /// The time of the next timer of any role, on a whole unit.
    pub(crate) fn next_timer(&self) -> Option<u64> {
        let local = self.local().process.wake.map(|it| self.local().process.when(it));
        let wake = |it: &colony_world::Process| Some(it.when(it.wake?));
        let nodes = self.roles.nodes.iter().filter_map(|it| wake(&it.process));
        let due = nodes.chain(local).min()?;
        Some(due.next_multiple_of(UNIT).max(self.now + UNIT))
    }

    /// Time passes; due timers fire, and every node looks at its engine.
    pub(crate) fn pass(&mut self) {
        let Some(at) = self.next_timer() else { return };
        let units = (at - self.now) / UNIT;
        self.now = at;
        self.say(format!("{units} {} pass", if units == 1 { "unit" } else { "units" }));
        self.local_ticks(LOCAL);
        self.former_ticks();
        for node in 0..self.roles.nodes.len() {
            self.roles.nodes[node].forget_digest();
            if self.node_step(node, node::Input::Tick) {
                self.node_look(node);
            }
        }
    }

    /// Fires the timer if it is due; the clock has moved in any case.
    pub(crate) fn local_ticks(&mut self, site: usize) {
        self.roles.sites[site].forget_digest();
        let process = &self.roles.sites[site].process;
        if process.wake.is_some_and(|it| process.when(it) <= self.now) {
            let _ = self.local_step(site, site::Input::Tick);
        }
    }
}
