//! When two states of a world are the same.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::message::{Back, Out};
use crate::print::hash;
use crate::world::World;

impl World {
    /// Brings the digest up to the present.
    pub(crate) fn note(&mut self) {
        self.refresh();
        self.print = hash((self.standing(), self.lines(), self.done, self.left, &self.served));
    }

    /// Brings the digests of the roles that changed up to the present.
    pub(crate) fn refresh(&mut self) {
        let locals = std::iter::once(&mut self.local).chain(&mut self.former);
        for local in locals.filter(|it| it.print().is_none()) {
            Arc::make_mut(local).note(self.now);
        }
        if self.central.print().is_none() {
            Arc::make_mut(&mut self.central).note();
        }
        for edge in self.nodes.iter_mut().filter(|it| it.print().is_none()) {
            Arc::make_mut(edge).note(self.now);
        }
    }

    /// Everything but the lines and what may still happen.
    pub(crate) fn standing(&self) -> u64 {
        let nodes: Vec<Option<u64>> = self.nodes.iter().map(|it| it.print()).collect();
        let incarnation = self.local.incarnation();
        let next = self.central.next(incarnation);
        let skip = usize::try_from(next - 1).unwrap_or(0);
        let unheard: Vec<u64> = self.local.log.iter().skip(skip).map(|it| it.1).collect();
        let ahead = self.local.uplink.next.map(|it| i128::from(it) - i128::from(next));
        let locals = (self.local.print(), self.former.as_ref().map(|it| it.print()));
        let roles = (locals, self.central.print(), nodes, self.git.print());
        let people = (self.removed, self.reverted, self.promoted, self.interrupted);
        let fates = (self.opened, self.aborted, self.broken.is_some());
        hash((roles, unheard, ahead, people, fates))
    }

    fn lines(&self) -> u64 {
        let near = |line: &[u64]| hash(line);
        let up: Vec<u64> = self.up.iter().map(|it| near(&it.prints())).collect();
        let down: Vec<u64> = self.down.iter().map(|it| near(&it.prints())).collect();
        let out: Vec<_> = self.out.texts().map(|it| self.far(it)).collect();
        let back: Vec<_> = self.back.texts().map(|it| self.near(it)).collect();
        hash((up, down, out, back))
    }

    /// Positions in the log count from what the centre has.
    fn far(&self, message: &Out) -> (u8, u32, i128, usize) {
        match message {
            Out::Events { incarnation, from, events } => {
                let next = self.central.next(*incarnation);
                (1, *incarnation, i128::from(*from) - i128::from(next), events.len())
            }
            Out::CommandsPlease => (2, 0, 0, 0),
        }
    }

    fn near(&self, message: &Back) -> (u8, u32, i128, Vec<Option<u64>>) {
        match message {
            Back::Taken { incarnation, next } => {
                let stored = self.central.next(*incarnation);
                (1, *incarnation, i128::from(*next) - i128::from(stored), Vec::new())
            }
            Back::Fenced { by } => (2, *by, 0, Vec::new()),
            Back::Commands(all) => (3, 0, 0, all.iter().map(|it| it.number).collect()),
        }
    }
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.print.hash(state);
    }
}

impl PartialEq for World {
    fn eq(&self, other: &World) -> bool {
        self.print == other.print
    }
}
