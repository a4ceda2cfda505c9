//! What can happen next in a world, and that it happens.

use crate::plan::Op;
use crate::time::UNIT;
use crate::world::World;

/// Whether and where a process dies within a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Die {
    Never,
    /// The step is lost.
    BeforePersist,
    /// The step is on disk, but nobody is answered and nothing is begun.
    BeforeAct,
}

/// One thing that happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Act(pub(crate) Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Operate,
    Fetch(Die),
    Poll(usize),
    /// A node sends the reports nobody has acknowledged.
    Report(usize),
    /// A message on a line arrives.
    Arrive {
        line: Way,
        index: usize,
        how: How,
    },
    Engine {
        node: usize,
        index: usize,
        die: Die,
    },
    PowerCut {
        node: usize,
        finished: bool,
    },
    Kill(usize),
    /// A site sends its events.
    Send,
    /// A site asks for commands.
    Ask,
    Revert,
    FormerFetch,
    FormerHears {
        node: usize,
        index: usize,
    },
    FormerFenced,
    /// Time passes to the next timer of anybody.
    Pass,
}

/// Which line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Up(usize),
    Down(usize),
    Out,
    Back,
}

/// How a message arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Once(Die),
    /// Another copy of it is still under way.
    Twice,
}

impl World {
    /// Everything that can happen.
    pub(crate) fn choices(&self, acts: &mut Vec<Act>) {
        if self.broken.is_some() {
            return;
        }
        let mut add = |kind: Kind| acts.push(Act(kind));
        if self.plan.script.get(self.done).is_some_and(|it| self.makes_sense(*it)) {
            add(Kind::Operate);
        }
        if self.local.core.git() != Some(&self.git.head()) {
            self.dies().for_each(|die| add(Kind::Fetch(die)));
        }
        if !self.is_prompt() {
            add(Kind::Send);
            if !self.central.core.commands_open(&self.site).is_empty() {
                add(Kind::Ask);
            }
        }
        add(Kind::Revert);
        self.former_choices(&mut add);
        self.arrivals(Way::Out, self.out.len(), &mut add);
        self.arrivals(Way::Back, self.back.len(), &mut add);
        for node in 0..self.nodes.len() {
            self.node_choices(node, &mut add);
        }
        if self.left.passes > 0 && self.next_timer().is_some() {
            add(Kind::Pass);
        }
    }

    fn node_choices(&self, node: usize, add: &mut impl FnMut(Kind)) {
        add(Kind::Poll(node));
        add(Kind::Report(node));
        self.arrivals(Way::Up(node), self.up[node].len(), add);
        self.arrivals(Way::Down(node), self.down[node].len(), add);
        for index in 0..self.nodes[node].doing.len() {
            self.dies().for_each(|die| add(Kind::Engine { node, index, die }));
        }
        if self.left.deaths > 0 && !self.nodes[node].doing.is_empty() {
            add(Kind::PowerCut { node, finished: false });
            add(Kind::PowerCut { node, finished: true });
        }
        if self.left.kills > 0 {
            add(Kind::Kill(node));
        }
    }

    fn arrivals(&self, line: Way, count: usize, add: &mut impl FnMut(Kind)) {
        for index in 0..count {
            self.dies().for_each(|die| add(Kind::Arrive { line, index, how: How::Once(die) }));
            if self.left.doubles > 0 {
                add(Kind::Arrive { line, index, how: How::Twice });
            }
        }
    }

    fn dies(&self) -> impl Iterator<Item = Die> + use<> {
        let mortal = [Die::BeforePersist, Die::BeforeAct].into_iter();
        std::iter::once(Die::Never).chain(mortal.take(usize::from(self.left.deaths.min(1)) * 2))
    }

    /// What cannot be asked for is not: there is nothing to release or to leave.
    pub(crate) fn makes_sense(&self, op: Op) -> bool {
        match op {
            Op::Push(_) | Op::Delete | Op::Replace => true,
            Op::Release => self.is_quarantined(),
            Op::Promote => self.awaits_promotion(),
            Op::Rollback => self.local.core.git() == Some(&self.git.head()),
        }
    }

    /// Lets it happen.
    pub(crate) fn happen(&mut self, act: &Act) {
        self.said.clear();
        match &act.0 {
            Kind::Operate => self.operate(),
            Kind::Fetch(die) => {
                self.spend(*die);
                self.local_fetch(*die);
            }
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
            Kind::Engine { node, index, die } => {
                self.spend(*die);
                self.engine_done(*node, *index, *die);
            }
            Kind::PowerCut { node, finished } => {
                self.left.deaths -= 1;
                self.power_cut(*node, *finished);
            }
            Kind::Kill(node) => self.kill(*node),
            Kind::Send => self.send_news(),
            Kind::Ask => self.send_out(crate::message::Out::CommandsPlease),
            Kind::Revert => self.reverted |= self.central_revert(),
            Kind::FormerFetch => self.former_fetch(),
            Kind::FormerHears { node, index } => self.former_hears(*node, *index),
            Kind::FormerFenced => self.former_is_fenced(),
            Kind::Pass => {
                self.left.passes -= 1;
                self.pass();
            }
        }
        self.note();
    }

    fn spend(&mut self, die: Die) {
        if die != Die::Never {
            self.left.deaths -= 1;
        }
    }

    fn arrive(&mut self, line: Way, index: usize, how: How) {
        let (die, keep) = match how {
            How::Once(die) => (die, false),
            How::Twice => (Die::Never, true),
        };
        self.spend(die);
        if keep {
            self.left.doubles -= 1;
            self.say("the network doubles a message".to_owned());
        }
        match line {
            Way::Up(node) => {
                let letter = self.up[node].take(index, keep);
                letter.iter().for_each(|it| self.local_receive(node, &it.text, die));
            }
            Way::Down(node) => {
                let letter = self.down[node].take(index, keep);
                letter.iter().for_each(|it| self.edge_receive(node, &it.text, die));
            }
            Way::Out => {
                let letter = self.out.take(index, keep);
                letter.iter().for_each(|it| self.central_receive(&it.text, die));
            }
            Way::Back => {
                let letter = self.back.take(index, keep);
                letter.iter().for_each(|it| self.local_hear_centre(&it.text, die));
            }
        }
    }

    fn send_news(&mut self) {
        let news = self.local_news();
        if let crate::message::Out::Events { incarnation, from, events } = &news
            && !events.is_empty()
        {
            let line = format!("LO sends events from {incarnation}/{from} on");
            self.say(line);
            self.send_out(news);
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
        std::sync::Arc::make_mut(&mut self.local).note(at);
        if self.local.wake.is_some_and(|it| self.local.clock.when(it) <= at) {
            let _ = self.local_step(colony_core::site::Input::Tick, Die::Never);
        }
        self.former_ticks();
        for node in 0..self.nodes.len() {
            self.edge_step(node, colony_core::node::Input::Tick, Die::Never);
            self.edge_look(node, Die::Never);
        }
    }
}
