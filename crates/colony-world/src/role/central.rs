//! The shell of the central orchestrator: stores batches, sends commands.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use colony_core::event::{Event, Incarnation, Seq};
use colony_core::fleet::{Applied, BatchRefusal, Changed, Fleet, RECENT_LIMIT, Row, RowKey};
use colony_core::id::SiteName;
use colony_core::margo::Digest;
use colony_core::site::Action;
use colony_core::why::AnswerUpdate;

use crate::disk::{Disk, Write};
use crate::host::{Breach, Flaw, Host, Outcome, Role, Transaction};
use crate::message::{AnswersReply, ToCentral, ToLocal};
use crate::process::Process;
use crate::role::uplink::extent;
use crate::role::writer::Change;

/// The events of one incarnation that were stored, each with its hash.
pub type Stored = Vec<(Arc<Event>, Digest)>;

/// The rows of the central orchestrator.
pub type FleetDisk = Disk<RowKey, Row, Fleet>;

/// The central orchestrator with its database.
#[derive(Debug, Clone, Default)]
pub struct Central {
    pub core: Fleet,
    pub process: Process,
    pub disk: FleetDisk,
    pub events: BTreeMap<(SiteName, Incarnation), Stored>,
    /// Changes that are accepted and not written to Git yet, in order.
    pub changes: BTreeMap<u64, Change>,
    pub(crate) changes_count: u64,
    /// Virtual time until which its disk is full.
    pub full_until: u64,
}

impl Central {
    /// Stores changed rows.
    pub fn commit(&mut self, changed: &[Changed]) {
        let keys = changed.iter().flat_map(Changed::keys);
        let write: Write<RowKey, Row> = keys.map(|it| (it.clone(), self.core.row(it))).collect();
        self.disk.commit(write);
    }

    /// Reloads all sites from the database.
    pub fn restore(&mut self) {
        let mut core = self.disk.restored(Fleet::restore);
        let sites: Vec<SiteName> = core.sites().map(|it| it.0.clone()).collect();
        sites.iter().for_each(|it| self.recall(&mut core, it));
        self.core = core;
    }

    /// Reloads the changed sites from the disk: memory is never ahead of it.
    fn retreat(&mut self, changed: &[Changed]) {
        let keys = changed.iter().flat_map(Changed::keys);
        let sites: BTreeSet<SiteName> = keys.map(|it| it.site().clone()).collect();
        let mut core = std::mem::take(&mut self.core);
        for site in sites {
            core.reload(&site, self.disk.read(|it| it.site == site));
            self.recall(&mut core, &site);
        }
        self.core = core;
    }

    fn recall(&self, core: &mut Fleet, site: &SiteName) {
        let incarnation = core.site(site).and_then(|it| it.incarnation());
        let key = incarnation.map(|it| (site.clone(), it));
        if let Some(events) = key.and_then(|it| self.events.get(&it)) {
            let last = events.len().saturating_sub(RECENT_LIMIT);
            core.recall(site, events[last..].iter().map(|it| it.1));
        }
    }

    pub fn incarnation(&self, site: &SiteName) -> Option<Incarnation> {
        self.core.site(site).and_then(|it| it.incarnation())
    }

    /// The next event of `incarnation` that is not stored.
    pub fn next(&self, site: &SiteName, incarnation: Incarnation) -> Seq {
        let key = (site.clone(), incarnation);
        self.events.get(&key).map_or(1, |it| it.len() as Seq + 1)
    }

    /// Whether a batch that ends before the remembered events is a repetition.
    fn is_proven(&self, key: &(SiteName, Incarnation), applied: &Applied) -> bool {
        let Some((seq, hash)) = applied.unverified else { return true };
        let index = usize::try_from(seq.saturating_sub(1)).unwrap_or(usize::MAX);
        self.events.get(key).and_then(|it| it.get(index)).is_some_and(|it| it.1 == hash)
    }
}

/// The transactions of the central orchestrator, in the order of
/// `colony-central/src/brain`.
pub trait CentralShell: Host {
    /// A replaced orchestrator is fenced before its message is read.
    fn central_receive(&mut self, site: usize, message: ToCentral) {
        let roles = self.roles();
        if !roles.central.process.up {
            return;
        }
        let (ToCentral::Events { incarnation, .. } | ToCentral::CommandsPlease { incarnation, .. }) =
            &message;
        let current = roles.central.incarnation(&roles.sites[site].name);
        if let Some(by) = current.filter(|it| incarnation < it) {
            return self.send_to_local(site, ToLocal::Fenced { by });
        }
        match message {
            ToCentral::Events { incarnation, events, answers } => {
                let (from, end) = extent(&events);
                self.say(|_| format!("CO is sent events {incarnation}/{from} to {end}"));
                self.central_events(site, incarnation, &events, answers.as_deref());
            }
            ToCentral::CommandsPlease { done, .. } => self.central_hints(site, done),
        }
    }

    fn central_hints(&mut self, site: usize, done: u64) {
        self.say(|_| "CO is asked for commands".to_owned());
        let roles = self.roles();
        let open = roles.central.core.commands_open(&roles.sites[site].name).into_iter();
        let open = open.filter(|it| it.number.is_none_or(|it| it > done)).cloned().collect();
        self.send_to_local(site, ToLocal::Commands(open));
    }

    /// Events and answers are stored in one commit.
    fn central_events(
        &mut self,
        site: usize,
        incarnation: Incarnation,
        events: &[Arc<Event>],
        answers: Option<&AnswerUpdate>,
    ) {
        let now = self.present(Role::Central).wall;
        let name = self.roles().sites[site].name.clone();
        self.before_batch(site, events);
        let batch: Vec<Event> = events.iter().map(|it| (**it).clone()).collect();
        let central = &mut *self.roles_mut().central;
        let key = (name, incarnation);
        let (next, reply) = match central.core.apply(&key.0, &batch, now) {
            Ok(applied) if !central.is_proven(&key, &applied) => {
                return self.refuse_log(site, incarnation);
            }
            Ok(applied) => {
                let next = applied.next_seq;
                let Some(reply) = self.central_store_batch(site, key, applied, answers) else {
                    return;
                };
                (next, reply)
            }
            Err(BatchRefusal::Gap { next_seq }) => (next_seq, None),
            Err(BatchRefusal::Diverged { .. } | BatchRefusal::UnknownIncarnation(_)) => {
                return self.refuse_log(site, incarnation);
            }
            Err(refusal) => {
                return self.breach(Breach::Batch, format!("CO refuses a batch: {refusal}"));
            }
        };
        self.observe_stored(site, incarnation, events);
        if !self.survives(Transaction::Batch) {
            return self.die(Role::Central, "after it persisted, before it answered");
        }
        self.central_acknowledge(site, incarnation, next, reply);
    }

    /// Returns the reply to the answers; `None` if nothing was stored.
    fn central_store_batch(
        &mut self,
        site: usize,
        key: (SiteName, Incarnation),
        applied: Applied,
        answers: Option<&AnswerUpdate>,
    ) -> Option<Option<AnswersReply>> {
        self.observe_applied(site, key.1, &applied);
        let core = &mut self.roles_mut().central.core;
        let reply = answers.map(|it| {
            let taken = core.answers_apply(&key.0, it).expect("the site was added");
            AnswersReply { session: it.session, number: it.number, taken }
        });
        let changed = [applied.changed, core.take_changed()];
        match self.commit(Transaction::Batch, !applied.fresh.is_empty()) {
            Outcome::Stored => {}
            Outcome::Refused => {
                self.roles_mut().central.retreat(&changed);
                return None;
            }
            Outcome::Dies => {
                if self.flaw() == Flaw::AcksFirst {
                    self.central_acknowledge(site, key.1, applied.next_seq, None);
                }
                self.die(Role::Central, "before it persisted");
                return None;
            }
        }
        let central = &mut *self.roles_mut().central;
        central.commit(&changed);
        let stored = central.events.entry(key).or_default();
        stored.extend(applied.fresh.into_iter().map(Arc::new).zip(applied.hashes));
        Some(reply)
    }

    fn central_acknowledge(
        &mut self,
        site: usize,
        incarnation: Incarnation,
        next: Seq,
        answers: Option<AnswersReply>,
    ) {
        self.say(|_| format!("CO answers: it has all before event {incarnation}/{next}"));
        self.observe_acknowledged(site, incarnation, next);
        self.send_to_local(site, ToLocal::EventsTaken { incarnation, next, answers });
    }

    /// Queues a command; `false` if the operator got no answer.
    fn central_command(&mut self, site: usize, action: Action) -> bool {
        if !self.roles().central.process.up {
            return false;
        }
        let name = self.roles().sites[site].name.clone();
        let expires = self.present(Role::Central).wall.after(Duration::from_secs(600));
        let _ = self.roles_mut().central.core.command(&name, action, "ben", expires);
        self.central_record(|_| {})
    }

    /// Stores the changed rows, together with what `also` changes; `false` if
    /// they were not stored, or the process died before it could answer.
    fn central_record(&mut self, also: impl FnOnce(&mut Central)) -> bool {
        let changed = [self.roles_mut().central.core.take_changed()];
        match self.commit(Transaction::Record, true) {
            Outcome::Stored => {}
            Outcome::Refused => {
                self.roles_mut().central.retreat(&changed);
                return false;
            }
            Outcome::Dies => {
                self.die(Role::Central, "before it persisted");
                return false;
            }
        }
        let central = &mut *self.roles_mut().central;
        central.commit(&changed);
        also(central);
        let alive = self.survives(Transaction::Record);
        if !alive {
            self.die(Role::Central, "after it persisted, before it answered");
        }
        alive
    }
}

impl<H: Host> CentralShell for H {}
