//! The LO's line to CO: its log from where CO says it is, orders, divergence.
//!
//! The same decisions as `colony-local/src/uplink`: nothing is remembered but
//! the next event CO wants; the last one asks for it, after a start and whenever
//! CO was away.

use colony_core::event::{Event, Incarnation, Seq};
use colony_core::site::{Command, Input};

use crate::network::{Happening, ToCentral};
use crate::world::World;

const BATCH: usize = 40;

/// What an LO believes of CO.
#[derive(Debug, Clone, Default)]
pub(crate) struct Uplink {
    /// The next event CO wants; `None` until it was asked.
    next: Option<Seq>,
    /// The life of CO it spoke with: one that was away may have been restored.
    life: u64,
    /// CO has another past: this LO has to join again.
    pub diverged: bool,
    /// The disk came from a backup, and CO may know more of this log.
    pub rewound: bool,
}

impl Uplink {
    /// Nothing of it is persisted.
    pub(crate) fn forget(&mut self) {
        (self.next, self.diverged) = (None, false);
    }

    /// Whether there is something to say, and from which event on.
    fn turn(&mut self, head: Seq, life: u64) -> Option<Option<Seq>> {
        if self.life != life {
            (self.life, self.next) = (life, None);
        }
        let idle = self.next.is_some_and(|it| it >= head);
        (!idle).then_some(self.next)
    }
}

impl World {
    /// Sends events and asks for commands.
    pub(crate) fn local_report(&mut self, site: usize) {
        let life = self.central.process.life;
        let local = &mut self.sites[site];
        let log = local.core.log();
        let (incarnation, head, done) = (log.incarnation, log.next, local.core.commands_done());
        if let Some(from) = local.uplink.turn(head, life) {
            let from = from.map_or(local.log.len().saturating_sub(1), index);
            let events: Vec<Event> = local.log.iter().skip(from).take(BATCH).cloned().collect();
            let message = ToCentral::Events { incarnation, events };
            self.send_far(site, Happening::ToCentral { site, message });
        }
        let message = ToCentral::CommandsPlease { incarnation, done };
        self.send_far(site, Happening::ToCentral { site, message });
    }

    /// CO wants `next` now.
    pub(crate) fn local_taken(&mut self, site: usize, incarnation: Incarnation, next: Seq) {
        let local = &mut self.sites[site];
        let log = local.core.log();
        if incarnation != log.incarnation {
            return;
        }
        if next > log.next {
            return self.local_diverged(site, incarnation);
        }
        local.uplink.next = Some(next);
        local.uplink.diverged = false;
    }

    /// CO knows another past of this LO: an operator has to invite it again.
    pub(crate) fn local_diverged(&mut self, site: usize, incarnation: Incarnation) {
        let local = &mut self.sites[site];
        if incarnation != local.core.log().incarnation || local.ghost {
            return;
        }
        local.uplink.next = None;
        if !std::mem::replace(&mut local.uplink.diverged, true) {
            self.note(|w| format!("LO {} has another past than CO", w.sites[site].name));
            let wait = self.rng.range(30_000..600_000);
            self.after(wait, Happening::LocalRejoin { site });
        }
    }

    /// CO's orders, in their order.
    pub(crate) fn local_obey(&mut self, site: usize, commands: Vec<Command>) {
        for command in commands {
            let fresh = command.number.filter(|it| *it > self.sites[site].core.commands_done());
            let action = command.action.clone();
            let step = self.local_step(site, Input::Command(command));
            if let (Some(number), true) = (fresh, self.sites[site].core.is_ready()) {
                self.checker.executed(site, number, action);
            }
            if step.is_none() || !self.sites[site].process.up {
                return;
            }
        }
    }
}

fn index(seq: Seq) -> usize {
    usize::try_from(seq.saturating_sub(1)).unwrap_or(usize::MAX)
}
