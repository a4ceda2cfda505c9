//! The shell of a local orchestrator: persist, then answer; die anywhere between.

use std::collections::BTreeMap;
use std::sync::Arc;

use colony_core::event::{Event, Incarnation, Seq};
use colony_core::site::{Have, Input, Row, RowKey, Site, Step};
use colony_core::time::Mono;
use colony_testkit::capabilities;

use crate::act::Die;
use crate::message::{Back, Down, Out, Sheet, Up};
use crate::print::{hash, print, relative};
use crate::time::{Clock, timing};
use crate::words;
use crate::world::World;

/// One local orchestrator with its disk.
#[derive(Debug, Clone)]
pub(crate) struct Local {
    pub(crate) core: Site,
    pub(crate) clock: Clock,
    pub(crate) wake: Option<Mono>,
    rows: BTreeMap<RowKey, Arc<Row>>,
    /// The persisted log of this incarnation, each event with its digest.
    pub(crate) log: Vec<(Arc<Event>, u64)>,
    /// The first event the centre has not acknowledged, as this life knows.
    pub(crate) unsent: Seq,
    /// What the persisted clock shows.
    saved: Mono,
    /// Absent while the role has changed since it was last computed.
    print: Option<u64>,
}

impl Local {
    pub(crate) fn new(core: Site, now: u64) -> Local {
        let mut clock = Clock::default();
        clock.go_on_from(now, Mono(now));
        let (rows, log) = (BTreeMap::new(), Vec::new());
        Local { core, clock, wake: None, rows, log, unsent: 1, saved: Mono(now), print: None }
    }

    pub(crate) fn incarnation(&self) -> Incarnation {
        self.core.log().incarnation
    }

    fn persist(&mut self, step: &Step, now: Mono) {
        for key in step.changed.keys() {
            match self.core.row(&key) {
                Some(row) => self.rows.insert(key, Arc::new(row)),
                None => self.rows.remove(&key),
            };
        }
        if step.changed.meta {
            self.saved = now;
        }
        self.print = None;
        let digest = |it: &Event| hash(format!("{:?} {:?}", it.actor, it.body));
        self.log.extend(step.events.iter().map(|it| (Arc::new(it.clone()), digest(it))));
    }

    /// What comes back from the disk, through the bytes it was stored as.
    fn restored(&self) -> Site {
        let rows = self.rows.values().map(|it| {
            let text = serde_json::to_string(&**it).expect("a row can be written");
            serde_json::from_str::<Row>(&text).expect("a row can be read")
        });
        Site::restore(rows, timing()).expect("the rows make a site")
    }

    /// Brings the digest up to what is known at `now`.
    pub(crate) fn note(&mut self, now: u64) {
        let mono = self.clock.mono(now);
        let relative = |it: Mono| relative(it.0, mono.0);
        let times = (self.wake.map(relative), relative(self.saved));
        self.print = Some(hash((print(&self.core, mono), self.incarnation(), times)));
    }

    pub(crate) fn print(&self) -> Option<u64> {
        self.print
    }
}

impl World {
    /// Takes one step; `None` if the orchestrator died before it could act on it.
    pub(crate) fn local_step(&mut self, input: Input, die: Die) -> Option<Step> {
        let before = Arc::clone(&self.local);
        let now = before.clock.at_site(self.now);
        let local = Arc::make_mut(&mut self.local);
        let step = local.core.step(input, now);
        if die == Die::BeforePersist {
            self.local = before;
            self.local_restart("before it persisted");
            return None;
        }
        local.persist(&step, now.mono);
        local.wake = step.wake;
        self.observe_site(&before, &step, now);
        if self.is_prompt() {
            self.central_take_all();
        }
        if die == Die::BeforeAct {
            self.local_restart("after it persisted, before it answered");
            return None;
        }
        Some(step)
    }

    fn local_restart(&mut self, when: &str) {
        self.say(format!("LO dies {when}, and comes back from its disk"));
        let now = self.now;
        let local = Arc::make_mut(&mut self.local);
        local.core = local.restored();
        local.clock.go_on_from(now, local.core.clock());
        local.unsent = 1;
        let _ = self.local_step(Input::Tick, Die::Never);
    }

    /// Reads Git, if it has moved.
    pub(crate) fn local_fetch(&mut self, die: Die) -> bool {
        let Some(commit) = self.git.fetch(self.local.core.git()) else { return false };
        self.say(format!("LO reads commit {}", words::commit(&commit.revision)));
        let _ = self.local_step(Input::Commit(commit), die);
        true
    }

    pub(crate) fn local_receive(&mut self, node: usize, message: &Up, die: Die) {
        match message {
            Up::Hello => {
                let name = self.nodes[node].name.clone();
                let own = capabilities(name.as_str(), "amd64", "");
                self.say(format!("LO: node {name} says what it can do"));
                let _ = self.local_step(Input::Capabilities(name, Box::new(own)), die);
            }
            Up::Poll { have } => self.local_poll(node, *have, die),
            Up::Report(status) => {
                let name = self.nodes[node].name.clone();
                self.say(format!("LO: node {name} reports {}", words::status(status)));
                let number = status.colony.as_ref().and_then(|it| it.report);
                let deployment = status.deployment_id.parse();
                let input = Input::Status { node: name.clone(), status: status.clone() };
                let taken = self.local_step(input, die).is_some_and(|it| it.refused.is_none());
                if let (true, Some(report), Ok(deployment)) = (taken, number, deployment) {
                    self.say(format!("LO answers node {name}: report {report} is taken"));
                    self.send_down(node, Down::Taken { deployment, report });
                }
            }
        }
    }

    fn local_poll(&mut self, node: usize, have: Option<Have>, die: Die) {
        let name = self.nodes[node].name.clone();
        self.say(format!("LO: node {name} polls, holding {}", words::have(have)));
        let Some(step) = self.local_step(Input::Heard { node: name.clone(), have }, die) else {
            return;
        };
        if step.refused.is_some() {
            return self.say(format!("LO refuses it: {}", words::refused(&step)));
        }
        let core = &self.local.core;
        let asks = core.asks(&name);
        let Ok(manifest) = core.manifest(&name) else { return };
        let news = have.and_then(|it| it.etag) != Some(manifest.etag);
        if !news && asks.is_empty() {
            return;
        }
        self.observe_manifest(node, &manifest);
        let (version, etag, bytes) = (manifest.version, manifest.etag, manifest.bytes);
        let sheet = Sheet { version, etag, bytes, documents: manifest.documents };
        let sheet = news.then_some(sheet);
        self.say(format!("LO answers node {name}: {}", words::answer(sheet.as_ref(), &asks)));
        self.send_down(node, Down::Answer { sheet, asks });
    }

    /// The orchestrator would tell `node` to run something else.
    pub(crate) fn has_news(&self, node: usize) -> bool {
        let edge = &self.nodes[node];
        let manifest = self.local.core.manifest(&edge.name);
        let has = edge.have().and_then(|it| it.etag);
        manifest.is_ok_and(|it| has != Some(it.etag))
    }

    /// What the centre has not acknowledged, as far as this life knows.
    pub(crate) fn local_news(&self) -> Out {
        let local = &self.local;
        let from = local.unsent;
        let skip = usize::try_from(from - 1).unwrap_or(0);
        let events = local.log.iter().skip(skip).map(|it| it.0.clone()).collect();
        Out::Events { incarnation: local.incarnation(), from, events }
    }

    pub(crate) fn local_hear_centre(&mut self, message: &Back, die: Die) {
        match message {
            Back::Taken { incarnation, next } => {
                self.say(format!("LO learns that CO has all before event {incarnation}/{next}"));
                if *incarnation == self.local.incarnation() {
                    Arc::make_mut(&mut self.local).unsent = *next;
                }
            }
            Back::Fenced { by } => {
                self.say(format!("LO learns that incarnation {by} has taken over"));
                let _ = self.local_step(Input::Fenced { by: *by }, die);
            }
            Back::Commands(commands) => {
                for command in commands {
                    self.say(format!("LO is given command {:?}", command.number));
                    if self.local_step(Input::Command(command.clone()), die).is_none() {
                        return;
                    }
                }
            }
        }
    }
}
