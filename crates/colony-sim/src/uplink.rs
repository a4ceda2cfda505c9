//! The LO's line to CO: its log from where CO says it is, orders, divergence.
//!
//! The decisions are those of `colony_core::event::Uplink`, as in `colony-local`.

use colony_core::event::{self, Answer, Event, Incarnation, Seq, Turn};
use colony_core::site::{Command, Input};

use crate::network::{Happening, ToCentral};
use crate::world::World;

const BATCH: usize = 40;

/// What an LO believes of CO.
#[derive(Debug, Clone, Default)]
pub(crate) struct Uplink {
    core: event::Uplink,
    /// The last batch that was sent: an answer may be to an earlier one.
    turn: Option<Turn>,
    /// CO has another past: this LO has to join again.
    pub diverged: bool,
    /// The disk came from a backup, and CO may know more of this log.
    pub rewound: bool,
}

impl Uplink {
    /// Nothing of it is persisted.
    pub(crate) fn forget(&mut self) {
        (self.core, self.turn, self.diverged) = Default::default();
    }
}

impl World {
    /// Sends events and asks for commands.
    pub(crate) fn local_report(&mut self, site: usize) {
        let life = self.central.process.life;
        let local = &mut self.sites[site];
        let log = local.core.log();
        let (incarnation, head, done) = (log.incarnation, log.next, local.core.commands_done());
        if let Some(turn) = local.uplink.core.turn(head, life) {
            local.uplink.turn = Some(turn);
            let (all, from) = (local.log.iter(), index(turn.from));
            let events: Vec<Event> = all.skip(from).take(BATCH).cloned().collect();
            let whole = from + events.len() == local.log.len();
            let answers = if whole { self.local_answers_due(site) } else { None };
            let message = ToCentral::Events { incarnation, events, answers };
            self.send_far(site, Happening::ToCentral { site, message });
        } else if let Some(answers) = self.local_answers_due(site) {
            let (events, answers) = (Vec::new(), Some(answers));
            let message = ToCentral::Events { incarnation, events, answers };
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
        let head = log.next;
        let Some(turn) = local.uplink.turn else { return };
        match local.uplink.core.answered(turn, next, head) {
            Answer::Ahead(_) => self.local_diverged(site, incarnation),
            Answer::Taken | Answer::Refused => local.uplink.diverged = false,
        }
    }

    /// CO knows another past of this LO: an operator has to invite it again.
    pub(crate) fn local_diverged(&mut self, site: usize, incarnation: Incarnation) {
        let local = &mut self.sites[site];
        if incarnation != local.core.log().incarnation || local.ghost {
            return;
        }
        local.uplink.core.diverged();
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
