//! A site's connection to the central orchestrator: events from the position
//! that it expects, commands, divergence.
//!
//! The decisions are those of `colony_core::event::Uplink`, as in
//! `colony-local/src/uplink/events.rs`.

use std::sync::Arc;

use colony_core::event::{self, Event, Incarnation, LogPosition, OutgoingBatch, Seq};
use colony_core::site::{Command, Input};

use crate::host::Host;
use crate::message::ToCentral;
use crate::role::local::LocalShell;

/// The state of the connection; not persisted.
#[derive(Debug, Clone, Default)]
pub struct Uplink {
    core: event::Uplink,
    /// The last batch that was sent: a reply may belong to an earlier one.
    batch: Option<OutgoingBatch>,
    /// The log diverged from the central one: the orchestrator has to join
    /// again.
    pub diverged: bool,
    /// The disk was restored from a backup, and the central orchestrator may
    /// have more of this log.
    pub rewound: bool,
    /// A request was not answered, as in `colony-local/src/health.rs`.
    pub away: bool,
    /// How often the central orchestrator answered again after that.
    pub returns: u64,
}

impl Uplink {
    /// Forgets all but the restore from a backup.
    pub fn forget(&mut self) {
        *self = Uplink { rewound: self.rewound, ..Uplink::default() };
    }

    /// The batch to send if `head` is the next event of the log, and whether
    /// the position of the central orchestrator is known.
    pub fn next_batch(&self, head: Seq, reconnects: u64) -> (Option<OutgoingBatch>, bool) {
        let mut core = self.core.clone();
        (core.next_batch(head, reconnects), core.is_known())
    }

    /// A batch was sent that an answer can belong to.
    pub fn is_asking(&self) -> bool {
        self.batch.is_some()
    }
}

/// The exchange with the central orchestrator.
pub trait UplinkShell: Host {
    /// Sends the next events, and the answers to `why` at the end of the log.
    fn local_send_events(&mut self, site: usize) {
        let reconnects = self.reconnects(site);
        let local = &mut *self.roles_mut().sites[site];
        let (incarnation, head) = (local.core.log().incarnation, local.core.log().next);
        let batch = local.uplink.core.next_batch(head, reconnects);
        let mut events = Vec::new();
        let mut whole = true;
        if let Some(batch) = batch {
            local.uplink.batch = Some(batch);
            let from = index(batch.from);
            events = local.log.iter().skip(from).take(Self::BATCH).cloned().collect();
            whole = from + events.len() == local.log.len();
            self.say(|it| {
                let known = it.roles().sites[site].uplink.core.is_known();
                let how = if known { "sends" } else { "asks with" };
                format!("LO {how} events from {incarnation}/{} on", batch.from)
            });
        }
        let answers = if whole { self.answers_due(site) } else { None };
        if batch.is_some() || answers.is_some() {
            self.send_to_central(site, ToCentral::Events { incarnation, events, answers });
        }
    }

    fn local_request_commands(&mut self, site: usize) {
        let core = &self.roles().sites[site].core;
        let (incarnation, done) = (core.log().incarnation, core.commands_done());
        self.send_to_central(site, ToCentral::CommandsPlease { incarnation, done });
    }

    /// The central orchestrator expects `next` as the next event.
    fn local_taken(&mut self, site: usize, incarnation: Incarnation, next: Seq) {
        self.say(|_| format!("LO learns that CO has all before event {incarnation}/{next}"));
        let local = &mut *self.roles_mut().sites[site];
        let log = local.core.log();
        if incarnation != log.incarnation {
            return;
        }
        let head = log.next;
        // An answer ends an outage.
        local.uplink.returns += u64::from(std::mem::take(&mut local.uplink.away));
        let Some(batch) = local.uplink.batch else { return };
        match local.uplink.core.record_response(batch, next, head) {
            LogPosition::Ahead(_) => self.local_diverged(site, incarnation),
            LogPosition::Advanced | LogPosition::Unmoved => local.uplink.diverged = false,
        }
    }

    /// The log diverged from the central one: an operator has to let the
    /// orchestrator join again.
    fn local_diverged(&mut self, site: usize, incarnation: Incarnation) {
        let local = &mut *self.roles_mut().sites[site];
        if incarnation != local.core.log().incarnation || local.ghost {
            return;
        }
        local.uplink.core.forget_position();
        if !std::mem::replace(&mut local.uplink.diverged, true) {
            self.diverged(site);
        }
    }

    /// Executes the commands of the central orchestrator in order.
    fn local_obey(&mut self, site: usize, commands: Vec<Command>) {
        for command in commands {
            self.say(|_| format!("LO is given command {:?}", command.number));
            let done = self.roles().sites[site].core.commands_done();
            let fresh = command.number.filter(|it| *it > done);
            let action = command.action.clone();
            let step = self.local_step(site, Input::Command(command));
            if let (Some(number), true) = (fresh, self.roles().sites[site].core.is_ready()) {
                self.executed(site, number, action);
            }
            if step.is_none() || !self.roles().sites[site].process.up {
                return;
            }
        }
    }
}

impl<H: Host> UplinkShell for H {}

/// The first event of a batch and the number of its events.
pub(crate) fn extent(events: &[Arc<Event>]) -> (Seq, Seq) {
    let from = events.first().map_or(1, |it| it.seq);
    (from, (from + events.len() as Seq).saturating_sub(1))
}

fn index(seq: Seq) -> usize {
    usize::try_from(seq.saturating_sub(1)).unwrap_or(usize::MAX)
}
