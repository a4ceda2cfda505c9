//! The shell of the central orchestrator: stores batches, reverts, sends commands.

use std::collections::BTreeMap;
use std::sync::Arc;

use colony_core::event::{Event, Incarnation, Seq};
use colony_core::fleet::{
    BatchRefusal, Changed, Fleet, RevertDecision, Row, RowKey, revert_decision,
};
use colony_core::id::{PlacementId, SiteName};
use colony_core::site::{Action, Input, Seed, Site};
use colony_core::state::State;
use colony_core::time::Mono;
use colony_margo::Digest;

use crate::act::Die;
use crate::check::Rule;
use crate::local::Local;
use crate::message::{Back, Out};
use crate::plan::Flaw;
use crate::print::print;
use crate::time::{timing, wall};
use crate::words;
use crate::world::World;

/// The central orchestrator with its database.
#[derive(Debug, Clone, Default)]
pub(crate) struct Central {
    pub(crate) core: Fleet,
    rows: BTreeMap<RowKey, Arc<Row>>,
    /// Every event that was stored, with its hash.
    events: BTreeMap<Incarnation, Vec<(Arc<Event>, Digest)>>,
    /// What was ever acknowledged: the next event of each incarnation.
    acked: BTreeMap<Incarnation, Seq>,
    /// Absent while the role has changed since it was last computed.
    print: Option<u64>,
}

impl Central {
    fn persist(&mut self, changed: &Changed) {
        for key in changed.keys() {
            match self.core.row(key) {
                Some(row) => self.rows.insert(key.clone(), Arc::new(row)),
                None => self.rows.remove(key),
            };
        }
        self.print = None;
    }

    fn restored(&self, site: &SiteName) -> Fleet {
        let rows = self.rows.values().map(|it| {
            let text = serde_json::to_string(&**it).expect("a row can be written");
            serde_json::from_str::<Row>(&text).expect("a row can be read")
        });
        let mut core = Fleet::restore(rows);
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
        self.print = Some(print(&self.core, Mono(0)));
    }

    pub(crate) fn print(&self) -> Option<u64> {
        self.print
    }
}

impl World {
    fn central(&mut self) -> &mut Central {
        Arc::make_mut(&mut self.central)
    }

    /// A new orchestrator takes the site over, told what the centre knows.
    pub(crate) fn found_local(&mut self) {
        let (site, now) = (self.site.clone(), self.now);
        let central = self.central();
        central.core.site_add(&site);
        let incarnation = central.core.join(&site, wall(), true).expect("a site can be joined");
        let changed = central.core.take_changed();
        central.persist(&changed);
        let git = Arc::clone(&self.git);
        let seeded = self.central.core.seed(&site, |blob| git.text(blob)).expect("it was added");
        if !seeded.left_out.is_empty() {
            self.break_rule(Rule::Seed, format!("left out: {:?}", seeded.left_out));
        }
        self.say(format!("a new LO takes the site over as incarnation {incarnation}"));
        self.local = Arc::new(Local::new(Site::new(site, incarnation, timing()), now));
        let seed = match self.plan.flaw {
            Flaw::EmptySeed => Seed::default(),
            Flaw::None | Flaw::AcksFirst => seeded.seed,
        };
        self.seeded = seed.placements.iter().map(|it| (it.id.clone(), it.state)).collect();
        let _ = self.local_step(Input::Seed(Box::new(seed)), Die::Never);
        self.seeded.clear();
    }

    /// The centre hears of everything at once, where its line is not the subject.
    pub(crate) fn central_take_all(&mut self) {
        let incarnation = self.local.incarnation();
        let stored = usize::try_from(self.central.next(incarnation) - 1).unwrap_or(0);
        let fresh = self.local.log.iter().skip(stored).map(|it| it.0.clone());
        let fresh: Vec<Arc<Event>> = fresh.collect();
        if !fresh.is_empty() {
            let _ = self.central_take(incarnation, &fresh, Die::Never);
        }
    }

    pub(crate) fn central_receive(&mut self, message: &Out, die: Die) {
        let back = match message {
            Out::Events { incarnation, from, events } => {
                let end = from + events.len() as Seq - 1;
                self.say(format!("CO is sent events {incarnation}/{from} to {end}"));
                self.central_take(*incarnation, events, die)
            }
            Out::CommandsPlease => {
                self.say("CO is asked for commands".to_owned());
                let open = self.central.core.commands_open(&self.site);
                Some(Back::Commands(open.into_iter().cloned().collect()))
            }
        };
        if let Some(back) = back {
            self.send_back(back);
        }
    }

    fn central_take(
        &mut self,
        incarnation: Incarnation,
        events: &[Arc<Event>],
        die: Die,
    ) -> Option<Back> {
        let before = Arc::clone(&self.central);
        let site = self.site.clone();
        let batch: Vec<Event> = events.iter().map(|it| (**it).clone()).collect();
        let central = self.central();
        let next = match central.core.apply(&site, &batch, wall()) {
            Ok(applied) if die == Die::BeforePersist => {
                self.central = before;
                let early = self.plan.flaw == Flaw::AcksFirst;
                let back = early.then(|| self.acknowledge(incarnation, applied.next_seq));
                self.central_restart("before it persisted");
                return back;
            }
            Ok(applied) => {
                let stored = central.events.entry(incarnation).or_default();
                stored.extend(applied.fresh.into_iter().map(Arc::new).zip(applied.hashes));
                central.persist(&applied.changed);
                applied.next_seq
            }
            Err(BatchRefusal::Gap { next_seq }) => next_seq,
            Err(BatchRefusal::Fenced { current }) => return Some(Back::Fenced { by: current }),
            Err(refusal) => {
                self.break_rule(Rule::Log, format!("CO refuses a batch: {refusal}"));
                return None;
            }
        };
        self.check_centre(incarnation);
        if die == Die::BeforeAct {
            self.central_restart("after it persisted, before it answered");
            return None;
        }
        Some(self.acknowledge(incarnation, next))
    }

    fn acknowledge(&mut self, incarnation: Incarnation, next: Seq) -> Back {
        if !self.is_prompt() {
            self.say(format!("CO answers: it has all before event {incarnation}/{next}"));
        }
        let acked = self.central().acked.entry(incarnation).or_insert(1);
        *acked = next.max(*acked);
        Back::Taken { incarnation, next }
    }

    fn central_restart(&mut self, when: &str) {
        self.say(format!("CO dies {when}, and comes back from its database"));
        let site = self.site.clone();
        let central = self.central();
        central.core = central.restored(&site);
        central.print = None;
        self.check_acknowledged();
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
        self.check_acknowledged();
        if incarnation != self.local.incarnation() {
            return;
        }
        let (stored, log) = (&self.central.events[&incarnation], &self.local.log);
        let differs = stored.iter().zip(log).any(|it| it.0.0 != it.1.0);
        if differs || stored.len() > log.len() {
            return self.break_rule(Rule::Acknowledged, "CO has what LO has not".to_owned());
        }
        if stored.len() == log.len() {
            self.check_belief();
        }
    }

    /// The centre has been told everything, and believes what is.
    fn check_belief(&mut self) {
        let Some(view) = self.central.core.site(&self.site) else { return };
        let views = || view.placements.values().flat_map(|it| it.values());
        let theirs: BTreeMap<PlacementId, State> =
            views().map(|it| (it.id.clone(), it.state)).collect();
        let core = &self.local.core;
        let mine: BTreeMap<PlacementId, State> =
            core.placements().map(|it| (it.id.clone(), it.state())).collect();
        let flagged = views().find_map(|it| it.flagged.as_ref().map(ToString::to_string));
        if mine != theirs {
            let (theirs, mine) = (words::states(&theirs), words::states(&mine));
            let what = format!("CO believes {theirs}, LO has {mine}");
            self.break_rule(Rule::Belief, what);
        } else if let Some(flag) = flagged {
            self.break_rule(Rule::Belief, flag);
        }
    }

    /// Follows a rollback with a commit, if Git still holds the bad file.
    pub(crate) fn central_revert(&mut self) -> bool {
        let open = self.central.core.reverts_open().into_iter();
        let decisions = open.map(|it| revert_decision(&it, self.git.file()));
        let restore = decisions.filter_map(|it| match it {
            RevertDecision::Restore(blob) => self.git.text(&blob),
            RevertDecision::Skip(_) => None,
        });
        let Some(text) = restore.into_iter().next() else { return false };
        self.say("CO reverts the file in Git".to_owned());
        Arc::make_mut(&mut self.git).commit(Some(text));
        true
    }

    pub(crate) fn central_command(&mut self, action: Action) {
        let site = self.site.clone();
        let central = self.central();
        let expires = wall().after(std::time::Duration::from_secs(600));
        let _ = central.core.command(&site, action, "ben", expires);
        let changed = central.core.take_changed();
        central.persist(&changed);
    }
}
