//! The shell of a local orchestrator: persist, then answer; die anywhere between.

use std::sync::Arc;

use colony_core::event::{Event, Incarnation};
use colony_core::site::{Have, Input, Row, RowKey, Site, Step};
use colony_core::time::Mono;
use colony_testkit::capabilities;

use crate::disk::{Disk, through_bytes};
use crate::fate::Die;
use crate::message::{Down, Sheet, Up};
use crate::print::{hash, print, relative};
use crate::time::{Clock, timing};
use crate::uplink::Uplink;
use crate::words;
use crate::world::World;

/// One local orchestrator with its disk.
#[derive(Debug, Clone)]
pub(crate) struct Local {
    pub(crate) core: Site,
    pub(crate) clock: Clock,
    pub(crate) wake: Option<Mono>,
    disk: Arc<Disk<RowKey, Row, Site>>,
    /// The persisted log of this incarnation, each event with its digest.
    pub(crate) log: Vec<(Arc<Event>, u64)>,
    pub(crate) uplink: Uplink,
    /// Its process is there.
    pub(crate) up: bool,
    /// What the persisted clock shows.
    saved: Mono,
    /// Absent while the role has changed since it was last computed.
    print: Option<u64>,
}

impl Local {
    pub(crate) fn new(core: Site, now: u64) -> Local {
        let mut clock = Clock::default();
        clock.go_on_from(now, Mono(now));
        Local {
            core,
            clock,
            wake: None,
            disk: Arc::default(),
            log: Vec::new(),
            uplink: Uplink::default(),
            up: true,
            saved: Mono(now),
            print: None,
        }
    }

    pub(crate) fn incarnation(&self) -> Incarnation {
        self.core.log().incarnation
    }

    fn persist(&mut self, step: &Step, now: Mono) {
        if !step.changed.is_empty() {
            let row = |key: RowKey| (self.core.row(&key), key);
            let rows = step.changed.keys().map(row).map(|(row, key)| (key, row));
            self.disk = Arc::new(self.disk.with(rows));
        }
        if step.changed.meta {
            self.saved = now;
        }
        self.print = None;
        let digest = |it: &Event| hash(format!("{:?} {:?}", it.actor, it.body));
        self.log.extend(step.events.iter().map(|it| (Arc::new(it.clone()), digest(it))));
    }

    /// What comes back from the disk, through the bytes it was stored as; who
    /// has joined and has no records is as new.
    fn restored(&self) -> Site {
        let fresh = || Site::new(self.core.name().clone(), self.incarnation(), timing());
        self.disk.restored(through_bytes!(), |rows| match rows.is_empty() {
            true => fresh(),
            false => Site::restore(rows, timing()).expect("the rows make a site"),
        })
    }

    /// Brings the digest up to what is known at `now`.
    pub(crate) fn note(&mut self, now: u64) {
        let mono = self.clock.mono(now);
        let relative = |it: Mono| relative(it.0, mono.0);
        let times = (self.wake.map(relative), relative(self.saved));
        let life = (self.up, self.uplink.away);
        self.print = Some(hash((print(&self.core, mono), self.incarnation(), times, life)));
    }

    pub(crate) fn print(&self) -> Option<u64> {
        self.print
    }

    pub(crate) fn forget_print(&mut self) {
        self.print = None;
    }
}

impl World {
    /// Takes one step; `None` if the orchestrator died before it could act on it.
    pub(crate) fn local_step(&mut self, input: Input) -> Option<Step> {
        let before = Arc::clone(&self.local);
        let now = before.clock.at_site(self.now);
        let step = Arc::make_mut(&mut self.local).core.step(input, now);
        let die = self.fated(!step.changed.is_empty() || !step.events.is_empty());
        if die == Die::BeforePersist {
            self.local = before;
            self.local_dies("before it persisted");
            return None;
        }
        let local = Arc::make_mut(&mut self.local);
        local.persist(&step, now.mono);
        local.wake = step.wake;
        self.observe_site(&before, &step, now);
        if die == Die::BeforeAct {
            self.local_dies("after it persisted, before it answered");
            return None;
        }
        if self.is_prompt() {
            self.central_take_all();
        }
        Some(step)
    }

    /// Where nobody else can die it comes back at once.
    fn local_dies(&mut self, when: &str) {
        self.say(format!("LO dies {when}"));
        self.seeded.clear();
        let local = Arc::make_mut(&mut self.local);
        local.core = local.restored();
        (local.up, local.wake, local.print) = (false, None, None);
        local.uplink = Uplink::default();
        if self.left.deaths == 0 {
            self.local_begin();
        }
    }

    pub(crate) fn local_begin(&mut self) {
        self.say("LO comes back from its disk".to_owned());
        let now = self.now;
        let local = Arc::make_mut(&mut self.local);
        local.clock.go_on_from(now, local.core.clock());
        local.up = true;
        let _ = self.local_step(Input::Tick);
    }

    /// Reads Git, if it has moved.
    pub(crate) fn local_fetch(&mut self) {
        let Some(commit) = self.git.fetch(self.local.core.git()) else { return };
        self.say(format!("LO reads commit {}", words::commit(&commit.revision)));
        let _ = self.local_step(Input::Commit(commit));
    }

    pub(crate) fn local_receive(&mut self, node: usize, message: &Up) {
        match message {
            Up::Hello => {
                let name = self.nodes[node].name.clone();
                let own = capabilities(name.as_str(), "amd64", "");
                self.say(format!("LO: node {name} says what it can do"));
                let _ = self.local_step(Input::Capabilities(name, Box::new(own)));
            }
            Up::Poll { have } => self.local_poll(node, *have),
            Up::Report(status) => {
                let name = self.nodes[node].name.clone();
                self.say(format!("LO: node {name} reports {}", words::status(status)));
                let number = status.colony.as_ref().and_then(|it| it.report);
                let deployment = status.deployment_id.parse();
                let input = Input::Status { node: name.clone(), status: status.clone() };
                let taken = self.local_step(input).is_some_and(|it| it.refused.is_none());
                if let (true, Some(report), Ok(deployment)) = (taken, number, deployment) {
                    self.say(format!("LO answers node {name}: report {report} is taken"));
                    self.send_down(node, Down::Taken { deployment, report });
                }
            }
        }
    }

    fn local_poll(&mut self, node: usize, have: Option<Have>) {
        let name = self.nodes[node].name.clone();
        self.say(format!("LO: node {name} polls, holding {}", words::have(have)));
        let Some(step) = self.local_step(Input::Heard { node: name.clone(), have }) else {
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
}
