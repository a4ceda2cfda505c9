//! The plain story of a world: nothing goes wrong, one act after the other.
//!
//! Exploring begins at every state of it, with all faults still to come, so that
//! the end of a story is looked at as closely as its beginning. It is told
//! three times: with people who act as soon as they can, with people who wait
//! until everything is at rest, and with people who act when something is under
//! way.

use std::collections::BTreeSet;

use crate::act::{Act, How, Kind, Way};
use crate::world::World;

/// More acts than any plain story has.
const LONGEST: usize = 1_000;

/// When people do what they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum People {
    Hasty,
    Patient,
    /// As soon as something is under way that everybody knows of.
    Meddling,
}

/// Who tells a story, and which nodes call before time passes.
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

    /// The world after an act, with every fault still to come; `None` if it
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

    /// A message under way, work of an engine, news in Git, what the centre
    /// has not heard, a report: what does not wait for a clock.
    fn pending(&self) -> impl Iterator<Item = Kind> + '_ {
        let ways = (0..self.nodes.len()).flat_map(|it| [Way::Down(it), Way::Up(it)]);
        let ways = [Way::Back, Way::Out].into_iter().chain(ways);
        let arrive = |line| Kind::Arrive { line, index: 0, how: How::Once };
        let arrivals = ways.filter(|it| self.under_way(*it) > 0).map(arrive);
        let busy = (0..self.nodes.len()).filter(|it| !self.nodes[*it].doing.is_empty());
        let engines = busy.map(|node| Kind::Engine { node, index: 0 });
        let centre = [Kind::Send, Kind::Ask].into_iter().filter(|it| self.has_for_centre(it));
        let seed = self.lacks_seed().then_some(Kind::Seed);
        let news = seed.into_iter().chain([Kind::Fetch, Kind::Revert]).chain(centre);
        let told = (0..self.nodes.len()).filter(|it| !self.nodes[*it].core.reports().is_empty());
        arrivals.chain(engines).chain(news).chain(told.map(Kind::Report))
    }

    /// An attempt is under way, and the centre knows of it.
    fn is_busy(&self) -> bool {
        let told = self.central.next(self.local.incarnation()) > self.local.log.len() as u64;
        told && self.any(|it| it.is_in_flight())
    }

    fn has_for_centre(&self, kind: &Kind) -> bool {
        let commands = || !self.central.core.commands_open(&self.site).is_empty();
        let news = || *kind == Kind::Send && self.local_news().is_some();
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

    /// A node polls, if it has not since time passed or there is news for it.
    fn call(&mut self, world: &World) -> Option<World> {
        let due = |it: &usize| self.callers.contains(it) || world.has_news(*it);
        let node = (0..world.nodes.len()).find(due)?;
        self.callers.remove(&node);
        world.after(Kind::Poll(node))
    }

    /// Nothing is left to do but what people do, or to wait.
    fn go_on(&mut self, world: &World) -> Option<World> {
        let rests = world.unfinished().is_none();
        if world.is_operable() && (rests || self.people == People::Hasty) {
            return world.after(Kind::Operate);
        }
        if rests {
            return None;
        }
        self.callers = (0..world.nodes.len()).collect();
        world.after(Kind::Pass)
    }
}
