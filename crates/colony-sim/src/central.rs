//! The shell of the simulated CO: stores batches, sends commands.

use std::collections::BTreeMap;

use colony_core::event::{Event, Incarnation};
use colony_core::fleet::{
    Applied, BatchRefusal, Changed, Effect, Fleet, RECENT_LIMIT, Row, RowKey,
};
use colony_core::id::SiteName;
use colony_core::site::Action;
use colony_core::why::AnswerUpdate;
use colony_margo::Digest;

use crate::backup::SavedCentral;
use crate::disk::{Disk, Write};
use crate::network::{Happening, ToCentral, ToLocal};
use crate::process::Process;
use crate::world::World;
use crate::writer::Change;

/// The events of one incarnation that CO has stored, each with its hash.
pub(crate) type Stored = Vec<(Event, Digest)>;

/// The central orchestrator with its database.
#[derive(Debug)]
pub(crate) struct Central {
    pub core: Fleet,
    pub process: Process,
    pub disk: Disk<RowKey, Row>,
    pub events: BTreeMap<(SiteName, Incarnation), Stored>,
    /// What is accepted and not written to Git yet, in order.
    pub changes: BTreeMap<u64, Change>,
    pub changes_count: u64,
    pub backup: Option<Box<SavedCentral>>,
    /// There is no room for its database.
    pub full_until: u64,
    /// Raised by every restore.
    pub epoch: u64,
}

impl Central {
    pub(crate) fn new() -> Central {
        Central {
            core: Fleet::new(),
            process: Process::new(),
            disk: Disk::new(),
            events: BTreeMap::new(),
            changes: BTreeMap::new(),
            changes_count: 0,
            backup: None,
            full_until: 0,
            epoch: 0,
        }
    }

    fn write(&self, changed: &[Changed]) -> Write<RowKey, Row> {
        let keys = changed.iter().flat_map(Changed::keys);
        keys.map(|it| (it.clone(), self.core.row(it))).collect()
    }

    pub(crate) fn commit(&mut self, changed: &[Changed]) {
        let write = self.write(changed);
        self.disk.commit(write);
    }

    pub(crate) fn restored(&self) -> Fleet {
        let mut core = Fleet::restore(self.disk.read().map(through_bytes));
        let sites: Vec<SiteName> = core.sites().map(|it| it.0.clone()).collect();
        sites.iter().for_each(|it| self.recall(&mut core, it));
        core
    }

    /// Takes a site from the disk again: memory is never ahead of it.
    pub(crate) fn retreat(&mut self, site: &SiteName) {
        let own = self.disk.read().filter(|it| it.site == *site);
        let rows: Vec<Row> = own.map(through_bytes).collect();
        let mut core = std::mem::take(&mut self.core);
        core.reload(site, rows);
        self.recall(&mut core, site);
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

    pub(crate) fn incarnation(&self, site: &SiteName) -> Option<Incarnation> {
        self.core.site(site).and_then(|it| it.incarnation())
    }

    /// Whether a batch that ends before everything remembered is a repetition.
    fn is_proven(&self, key: &(SiteName, Incarnation), applied: &Applied) -> bool {
        let Some((seq, hash)) = applied.unproven else { return true };
        let index = usize::try_from(seq.saturating_sub(1)).unwrap_or(usize::MAX);
        self.events.get(key).and_then(|it| it.get(index)).is_some_and(|it| it.1 == hash)
    }
}

fn through_bytes(row: &Row) -> Row {
    let text = serde_json::to_string(row).expect("a row can be written");
    serde_json::from_str(&text).expect("a row can be read")
}

impl World {
    pub(crate) fn central_receive(&mut self, site: usize, message: ToCentral) {
        if !self.central.process.up {
            return;
        }
        let (ToCentral::Events { incarnation, .. } | ToCentral::CommandsPlease { incarnation, .. }) =
            &message;
        let current = self.central.incarnation(&self.sites[site].name);
        if let Some(by) = current.filter(|it| incarnation < it) {
            let message = ToLocal::Fenced { by };
            return self.send_far(site, Happening::ToLocal { site, message });
        }
        match message {
            ToCentral::Events { incarnation, events, answers } => {
                self.central_events(site, incarnation, &events, answers.as_deref());
            }
            ToCentral::CommandsPlease { done, .. } => self.central_hints(site, done),
        }
    }

    fn central_hints(&mut self, site: usize, done: u64) {
        let open = self.central.core.commands_open(&self.sites[site].name).into_iter();
        let open = open.filter(|it| it.number.is_none_or(|it| it > done)).cloned().collect();
        let message = ToLocal::Commands(open);
        self.send_far(site, Happening::ToLocal { site, message });
    }

    /// Events and answers are stored in one commit.
    fn central_events(
        &mut self,
        site: usize,
        incarnation: Incarnation,
        events: &[Event],
        answers: Option<&AnswerUpdate>,
    ) {
        let mut reply = None;
        let now = self.central.process.now(self.now, &mut self.rng).wall;
        let key = (self.sites[site].name.clone(), incarnation);
        self.check_orders(site, events);
        let next = match self.central.core.apply(&key.0, events, now) {
            Ok(applied) if !self.central.is_proven(&key, &applied) => {
                return self.central_refuses(site, incarnation);
            }
            Ok(applied) => {
                self.check_effects(&applied.effects);
                if self.dies() {
                    return self.central_crash("while it persisted");
                }
                reply = answers.map(|it| self.central_answers(site, it));
                let answered = self.central.core.take_changed();
                if !self.central_commit(&[applied.changed, answered]) {
                    return;
                }
                let stored = self.central.events.entry(key).or_default();
                stored.extend(applied.fresh.into_iter().zip(applied.hashes));
                applied.next_seq
            }
            Err(BatchRefusal::Gap { next_seq }) => next_seq,
            Err(BatchRefusal::Diverged { .. } | BatchRefusal::UnknownIncarnation(_)) => {
                return self.central_refuses(site, incarnation);
            }
            Err(refusal) => return self.violate(format!("CO refuses a batch: {refusal}")),
        };
        self.check_acknowledged(site, incarnation, events);
        if self.dies() {
            return self.central_crash("before it answered");
        }
        self.check_projection(site);
        let message = ToLocal::EventsTaken { incarnation, next, answers: reply };
        self.send_far(site, Happening::ToLocal { site, message });
    }

    /// Only somebody who lost a part of the past can have another one.
    fn central_refuses(&mut self, site: usize, incarnation: Incarnation) {
        if self.central.epoch == 0 && !self.sites[site].uplink.rewound {
            let name = self.sites[site].name.clone();
            return self.violate(format!("CO refuses the log of {name}, and nothing was restored"));
        }
        let message = ToLocal::Diverged { incarnation };
        self.send_far(site, Happening::ToLocal { site, message });
    }

    /// No transition of a sound LO is odd to CO.
    fn check_effects(&mut self, effects: &[Effect]) {
        let flag = effects.iter().find_map(|it| match it {
            Effect::Flagged { site, placement, flag } => {
                Some(format!("CO flags {placement} at {site}: {flag}"))
            }
            Effect::Revert(_) => None,
        });
        if let Some(what) = flag {
            self.violate(what);
        }
    }

    pub(crate) fn central_command(&mut self, site: usize, action: Action) {
        if !self.central.process.up {
            return;
        }
        let name = self.sites[site].name.clone();
        let now = self.central.process.now(self.now, &mut self.rng).wall;
        let expires = now.after(std::time::Duration::from_secs(600));
        let _ = self.central.core.command(&name, action, "ben", expires);
        self.central_store();
    }

    pub(crate) fn central_crash(&mut self, when: &str) {
        if !self.central.process.up {
            return;
        }
        let down = self.rng.range(500..60_000);
        self.note(|_| format!("CO dies {when}"));
        self.central.process.die();
        self.after(down, Happening::CentralUp);
    }

    pub(crate) fn central_up(&mut self) {
        if self.central.process.up {
            return;
        }
        self.central.core = self.central.restored();
        self.central.process.rise(self.now, Default::default());
        self.note(|_| "CO is back".to_owned());
    }
}
