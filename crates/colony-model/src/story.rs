//! The plain story of a world: acts in sequence, without faults.
//!
//! Exploring begins at every state of it, with all faults still possible, so
//! that the end of a story is checked as closely as its beginning. There are
//! three variants: operators act as soon as they can, when everything is at
//! rest, or while an attempt is in progress.

use std::collections::BTreeSet;

use crate::world::World;
use crate::world::act::{Act, How, Kind, Way};

/// More acts than any plain story has.
const LONGEST: usize = 1_000;

/// When operators act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum People {
    Hasty,
    Patient,
    /// As soon as an attempt is in progress that the central orchestrator knows
    /// of.
    Meddling,
}

/// The state of a story: the operators, and the nodes that poll before time
/// passes.
struct Teller {
    people: People,
    callers: BTreeSet<usize>,
}

impl World {
    /// Every state of the plain story that begins here.
    pub(crate) fn tell(&self, people: People) -> Vec<World> {
        let mut told = vec![self.clone()];
        let mut teller = Teller { people, callers: BTreeSet::new() };
        while let Some(next) = told.last().and_then(|it| teller.next(it)) {
            told.push(next);
            assert!(told.len() < LONGEST, "the plain story of `{}` does not end", self.plan.name);
        }
        told
    }

    /// The world after an act, with every fault still possible; `None` if it
    /// changes nothing.
    fn after(&self, kind: Kind) -> Option<World> {
        let mut next = self.clone();
        next.left.passes = 1;
        next.happen(&Act::plain(kind));
        next.left = self.plan.bounds;
        next.note();
        (next != *self).then_some(next)
    }

    fn is_operable(&self) -> bool {
        self.plan.script.get(self.done).is_some_and(|it| self.makes_sense(*it))
    }

    /// The acts that do not wait for a clock: messages on a line, actions of an
    /// engine, commits, events for the central orchestrator, reports.
    fn pending(&self) -> impl Iterator<Item = Kind> + '_ {
        let ways = (0..self.roles.nodes.len()).flat_map(|it| [Way::Down(it), Way::Up(it)]);
        let ways = [Way::Back, Way::Out].into_iter().chain(ways);
        let arrive = |line| Kind::Arrive { line, index: 0, how: How::Once };
        let arrivals = ways.filter(|it| self.under_way(*it) > 0).map(arrive);
        let busy = (0..self.roles.nodes.len()).filter(|it| !self.doing[*it].is_empty());
        let engines = busy.map(|node| Kind::Engine { node, index: 0 });
        let central = [Kind::Send, Kind::Ask].into_iter().filter(|it| self.has_for_central(it));
        let seed = self.lacks_seed().then_some(Kind::Seed);
        let news = seed.into_iter().chain([Kind::Fetch, Kind::Revert]).chain(central);
        let told = (0..self.roles.nodes.len())
            .filter(|it| !self.roles.nodes[*it].core.reports().is_empty());
        arrivals.chain(engines).chain(news).chain(told.map(Kind::Report))
    }

    /// An attempt is in progress, and the central orchestrator has received it.
    fn is_busy(&self) -> bool {
        let told = self.roles.central.next(&self.site, self.local().incarnation)
            > self.local().log.len() as u64;
        told && self.any(|it| it.is_in_progress())
    }

    fn has_for_central(&self, kind: &Kind) -> bool {
        let commands = || !self.roles.central.core.commands_open(&self.site).is_empty();
        let news = || *kind == Kind::Send && self.has_news();
        !self.is_prompt() && (news() || (*kind == Kind::Ask && commands()))
    }

    fn under_way(&self, line: Way) -> usize {
        match line {
            Way::Up(node) => self.up[node].len(),
            Way::Down(node) => self.down[node].len(),
            Way::Out => self.out.len(),
            Way::Back => self.back.len(),
        }
    }
}

impl Teller {
    fn next(&mut self, world: &World) -> Option<World> {
        if world.broken.is_some() {
            return None;
        }
        if self.people == People::Hasty && world.is_operable() {
            return world.after(Kind::Operate);
        }
        let meddles = self.people == People::Meddling && world.is_operable();
        if meddles && (world.done == 0 || world.is_busy()) {
            return world.after(Kind::Operate);
        }
        let pending = world.pending().find_map(|it| world.after(it));
        pending.or_else(|| self.call(world)).or_else(|| self.go_on(world))
    }

    /// A node polls, if it has not since time passed or its manifest changed.
    fn call(&mut self, world: &World) -> Option<World> {
        let due = |it: &usize| self.callers.contains(it) || world.lacks_manifest(*it);
        let node = (0..world.roles.nodes.len()).find(due)?;
        self.callers.remove(&node);
        world.after(Kind::Poll(node))
    }

    /// Nothing is left to do but to operate, or to wait.
    fn go_on(&mut self, world: &World) -> Option<World> {
        let rests = world.unfinished().is_none();
        if world.is_operable() && (rests || self.people == People::Hasty) {
            return world.after(Kind::Operate);
        }
        if rests {
            return None;
        }
        self.callers = (0..world.roles.nodes.len()).collect();
        world.after(Kind::Pass)
    }
}
