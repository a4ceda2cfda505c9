//! The shell of the central orchestrator: stores batches, reverts, sends commands.

use std::collections::BTreeMap;
use std::sync::Arc;

use colony_core::event::{Event, Incarnation, Log, Seq};
use colony_core::fleet::{Applied, BatchRefusal, Changed, Fleet, Row, RowKey};
use colony_core::id::SiteName;
use colony_core::site::Action;
use colony_core::time::Mono;
use colony_margo::Digest;

use crate::check::Rule;
use crate::disk::{Disk, through_bytes};
use crate::fate::Die;
use crate::message::{Back, Out};
use crate::plan::Flaw;
use crate::print::{hash, print};
use crate::revert::Queued;
use crate::time::wall;
use crate::world::World;

/// The central orchestrator with its database.
#[derive(Debug, Clone, Default)]
pub(crate) struct Central {
    pub(crate) core: Fleet,
    disk: Arc<Disk<RowKey, Row, Fleet>>,
    /// Every event that was stored, with its hash.
    pub(crate) events: BTreeMap<Incarnation, Vec<(Arc<Event>, Digest)>>,
    /// What was ever acknowledged: the next event of each incarnation.
    acked: BTreeMap<Incarnation, Seq>,
    /// A change of Git that is not known to be there.
    pub(crate) queued: Option<Queued>,
    /// Absent while the role has changed since it was last computed.
    print: Option<u64>,
}

impl Central {
    pub(crate) fn persist(&mut self, changed: &Changed) {
        let rows = changed.keys().map(|key| (key.clone(), self.core.row(key)));
        self.disk = Arc::new(self.disk.with(rows));
        self.print = None;
    }

    fn restored(&self, site: &SiteName) -> Fleet {
        let mut core = self.disk.restored(through_bytes!(), Fleet::restore);
        let current = core.site(site).and_then(|it| it.incarnation());
        if let Some(events) = current.and_then(|it| self.events.get(&it)) {
            core.recall(site, events.iter().map(|it| it.1));
        }
        core
    }

    /// The next event of `incarnation` that is not stored.
    pub(crate) fn next(&self, incarnation: Incarnation) -> Seq {
        self.events.get(&incarnation).map_or(1, |it| it.len() as Seq + 1)
    }

    pub(crate) fn note(&mut self) {
        self.print = Some(hash((print(&self.core, Mono(0)), &self.queued)));
    }

    pub(crate) fn print(&self) -> Option<u64> {
        self.print
    }
}

impl World {
    pub(crate) fn central(&mut self) -> &mut Central {
        let central = Arc::make_mut(&mut self.central);
        central.print = None;
        central
    }

    /// Lets a new orchestrator join; `None` if nobody was answered.
    pub(crate) fn central_join(&mut self) -> Option<Incarnation> {
        let site = self.site.clone();
        self.central_write(|core| {
            core.site_add(&site);
            core.join(&site, wall(), true).expect("a site can be joined")
        })
    }

    /// Queues an order; `false` if the operator was not answered.
    pub(crate) fn central_command(&mut self, action: Action) -> bool {
        let site = self.site.clone();
        let expires = wall().after(std::time::Duration::from_secs(600));
        let written = self.central_write(|core| {
            let _ = core.command(&site, action, "ben", expires);
        });
        written.is_some()
    }

    /// Changes the fleet and its rows; `None` if the centre died before it
    /// could answer.
    fn central_write<T>(&mut self, act: impl FnOnce(&mut Fleet) -> T) -> Option<T> {
        let before = Arc::clone(&self.central);
        let central = self.central();
        let answer = act(&mut central.core);
        let changed = central.core.take_changed();
        let die = self.fated(true);
        if die == Die::BeforePersist {
            self.central = before;
            self.central_restart("before it persisted");
            return None;
        }
        self.central().persist(&changed);
        if die == Die::BeforeAct {
            self.central_restart("after it persisted, before it answered");
            return None;
        }
        Some(answer)
    }

    /// The centre hears of everything at once, where its line is not the subject.
    pub(crate) fn central_take_all(&mut self) {
        let incarnation = self.local.incarnation();
        let stored = usize::try_from(self.central.next(incarnation) - 1).unwrap_or(0);
        let fresh = self.local.log.iter().skip(stored).map(|it| it.0.clone());
        let fresh: Vec<Arc<Event>> = fresh.collect();
        if !fresh.is_empty() {
            let _ = self.central_take(incarnation, &fresh);
        }
    }

    pub(crate) fn central_receive(&mut self, message: &Out) {
        let back = match message {
            Out::Events { incarnation, from, events } => {
                let end = (from + events.len() as Seq).saturating_sub(1);
                self.say(format!("CO is sent events {incarnation}/{from} to {end}"));
                self.central_take(*incarnation, events)
            }
            Out::CommandsPlease => {
                self.say("CO is asked for commands".to_owned());
                let open = self.central.core.commands_open(&self.site);
                Some(Back::Commands(open.into_iter().cloned().collect()))
            }
        };
        match back {
            Some(back) => self.send_back(back),
            None => self.miss_centre(),
        }
    }

    /// Who was replaced is told so before anything else is looked at.
    fn central_take(&mut self, incarnation: Incarnation, events: &[Arc<Event>]) -> Option<Back> {
        let site = self.site.clone();
        let current = self.central.core.site(&site).and_then(|it| it.incarnation());
        if let Some(by) = current.filter(|it| incarnation < *it) {
            return Some(Back::Fenced { by });
        }
        let before = Arc::clone(&self.central);
        let batch: Vec<Event> = events.iter().map(|it| (**it).clone()).collect();
        match self.central().core.apply(&site, &batch, wall()) {
            Ok(applied) => self.central_store(incarnation, applied, before),
            Err(BatchRefusal::Gap { next_seq }) => Some(self.acknowledge(incarnation, next_seq)),
            Err(BatchRefusal::Fenced { current }) => Some(Back::Fenced { by: current }),
            Err(refusal) => {
                self.break_rule(Rule::Centre, format!("CO refuses a batch: {refusal}"));
                None
            }
        }
    }

    fn central_store(
        &mut self,
        incarnation: Incarnation,
        applied: Applied,
        before: Arc<Central>,
    ) -> Option<Back> {
        let die = self.fated(!applied.fresh.is_empty());
        if die == Die::BeforePersist {
            self.central = before;
            let early = self.plan.flaw == Flaw::AcksFirst;
            let back = early.then(|| self.acknowledge(incarnation, applied.next_seq));
            self.central_restart("before it persisted");
            return back;
        }
        self.check_fresh(incarnation, &applied.fresh);
        let central = self.central();
        let stored = central.events.entry(incarnation).or_default();
        stored.extend(applied.fresh.into_iter().map(Arc::new).zip(applied.hashes));
        central.persist(&applied.changed);
        self.check_centre(incarnation);
        if die == Die::BeforeAct {
            self.central_restart("after it persisted, before it answered");
            return None;
        }
        Some(self.acknowledge(incarnation, applied.next_seq))
    }

    fn acknowledge(&mut self, incarnation: Incarnation, next: Seq) -> Back {
        if !self.is_prompt() {
            self.say(format!("CO answers: it has all before event {incarnation}/{next}"));
        }
        let acked = self.central().acked.entry(incarnation).or_insert(1);
        *acked = next.max(*acked);
        Back::Taken { incarnation, next }
    }

    pub(crate) fn central_restart(&mut self, when: &str) {
        self.say(format!("CO dies {when}, and comes back from its database"));
        let site = self.site.clone();
        let central = self.central();
        central.core = central.restored(&site);
        self.check_acknowledged();
    }

    /// What is stored next follows what is stored.
    fn check_fresh(&mut self, incarnation: Incarnation, fresh: &[Event]) {
        let mut log = Log::new(self.site.clone(), incarnation);
        if let Some((last, hash)) = self.central.events.get(&incarnation).and_then(|it| it.last()) {
            (log.next, log.head) = (last.seq + 1, *hash);
        }
        if let Some(gap) = fresh.iter().find_map(|it| log.follow(it).err()) {
            self.break_rule(Rule::Centre, gap.to_string());
        }
    }

    /// What was acknowledged is stored, and is what the site has written.
    fn check_acknowledged(&mut self) {
        let central = &self.central;
        let lost = central.acked.iter().find(|it| central.next(*it.0) < *it.1);
        if let Some((incarnation, acked)) = lost {
            let stored = central.next(*incarnation);
            let what = format!("CO acknowledged all before {incarnation}/{acked}, has {stored}");
            self.break_rule(Rule::Acknowledged, what);
        }
    }

    fn check_centre(&mut self, incarnation: Incarnation) {
        if self.trail.dry {
            return;
        }
        self.check_acknowledged();
        let verdict = self.ask_centre();
        self.judge(verdict);
        if incarnation != self.local.incarnation() {
            return;
        }
        let (stored, log) = (&self.central.events[&incarnation], &self.local.log);
        let differs = stored.iter().zip(log).any(|it| it.0.0 != it.1.0);
        if differs || stored.len() > log.len() {
            return self.break_rule(Rule::Acknowledged, "CO has what LO has not".to_owned());
        }
        if stored.len() == log.len() {
            let verdict = self.check_belief();
            self.judge(verdict);
        }
    }
}
