//! That something happens, and what follows from it at once.

use std::sync::Arc;

use colony_core::{node, site};

use crate::act::{Act, How, Kind, Way, Who};
use crate::fate::Trail;
use crate::message::Out;
use crate::time::UNIT;
use crate::world::World;

impl World {
    /// Lets it happen.
    pub(crate) fn happen(&mut self, act: &Act) {
        self.said.clear();
        self.trail = Trail::of(act.fate);
        self.run(&act.kind);
        self.trail = Trail::default();
        self.note();
    }

    pub(crate) fn run(&mut self, kind: &Kind) {
        match kind {
            Kind::Operate => self.operate(),
            Kind::Fetch => self.local_fetch(),
            Kind::Begin(who) => self.begin(*who),
            Kind::Seed => self.local_seed(),
            Kind::Poll(node) => {
                let call = self.edge_poll(*node);
                self.send_up(*node, call);
            }
            Kind::Report(node) => {
                for report in self.edge_reports(*node) {
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
            Kind::Send => self.send_news(),
            Kind::Ask => self.send_out(Out::CommandsPlease),
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

    /// Everybody who is down begins again.
    pub(crate) fn begin_all(&mut self) {
        let nodes = (0..self.nodes.len()).map(Who::Node);
        [Who::Local, Who::Former].into_iter().chain(nodes).for_each(|it| self.begin(it));
    }

    fn begin(&mut self, who: Who) {
        match who {
            Who::Local if !self.local.up => self.local_begin(),
            Who::Former => self.former_begin(),
            Who::Node(node) if !self.nodes[node].up => self.edge_begin(node),
            Who::Local | Who::Node(_) => {}
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
                letter.iter().for_each(|it| self.local_receive(node, &it.text));
            }
            Way::Down(node) => {
                let letter = self.down[node].take(index, keep);
                letter.iter().for_each(|it| self.edge_receive(node, &it.text));
            }
            Way::Out => {
                let letter = self.out.take(index, keep);
                letter.iter().for_each(|it| self.central_receive(&it.text));
            }
            Way::Back => {
                let letter = self.back.take(index, keep);
                letter.iter().for_each(|it| self.local_hear_centre(&it.text));
            }
        }
    }

    fn kill(&mut self, node: usize) {
        let edge = self.edge(node);
        if edge.engine.kill() {
            let line = format!("somebody kills the container on node {}", edge.name);
            self.left.kills -= 1;
            self.say(line);
        }
    }

    /// When the next timer of anybody is due, on a whole unit.
    pub(crate) fn next_timer(&self) -> Option<u64> {
        let local = self.local.wake.map(|it| self.local.clock.when(it));
        let nodes = self.nodes.iter().filter_map(|it| Some(it.clock.when(it.wake?)));
        let due = nodes.chain(local).min()?;
        Some(due.next_multiple_of(UNIT).max(self.now + UNIT))
    }

    /// Time passes; whoever has a timer ticks, and every node looks at its engine.
    pub(crate) fn pass(&mut self) {
        let Some(at) = self.next_timer() else { return };
        let units = (at - self.now) / UNIT;
        self.now = at;
        self.say(format!("{units} {} pass", if units == 1 { "unit" } else { "units" }));
        self.local_ticks();
        self.former_ticks();
        for node in 0..self.nodes.len() {
            if !self.nodes[node].up {
                self.edge(node);
            } else if self.edge_step(node, node::Input::Tick) {
                self.edge_look(node);
            }
        }
    }

    /// Ticks if it is due; the clock has moved in any case.
    pub(crate) fn local_ticks(&mut self) {
        let now = self.now;
        Arc::make_mut(&mut self.local).note(now);
        if self.local.wake.is_some_and(|it| self.local.clock.when(it) <= now) {
            let _ = self.local_step(site::Input::Tick);
        }
    }
}
