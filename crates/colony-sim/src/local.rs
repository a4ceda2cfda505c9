//! The shell of a simulated LO: persist, then answer; die anywhere between.

use colony_core::event::{Event, Incarnation};
use colony_core::id::SiteName;
use colony_core::site::{Have, Input, Refused, Row, RowKey, Site, Step, Timing};
use colony_core::time::Now;
use colony_core::why;
use colony_testkit::capabilities;

use crate::answers::Answers;
use crate::backup::SavedLocal;
use crate::disk::{Disk, Write};
use crate::network::{Happening, ToEdge, ToLocal};
use crate::process::Process;
use crate::uplink::Uplink;
use crate::world::World;

const SYNC: u64 = 3_000;

/// One local orchestrator with its disk.
#[derive(Debug)]
pub(crate) struct Local {
    pub name: SiteName,
    /// As which it joined.
    pub incarnation: Incarnation,
    pub core: Site,
    pub process: Process,
    pub disk: Disk<RowKey, Row>,
    /// The persisted log of this incarnation.
    pub log: Vec<Event>,
    pub uplink: Uplink,
    pub answers: Answers,
    /// CO has told what it knows of the site.
    pub seeded: bool,
    /// Another LO has taken the site over; this one still runs.
    pub ghost: bool,
    pub backup: Option<Box<SavedLocal>>,
    /// Virtual time until which each fault lasts.
    pub cut_until: u64,
    pub wan_until: u64,
    pub git_until: u64,
    pub registry_until: u64,
    pub denied_until: u64,
    /// There is no room for its database.
    pub full_until: u64,
    /// How it counts time since it started.
    pub timing: Timing,
    /// The next fetch reads everything.
    full: bool,
}

impl Local {
    pub(crate) fn new(name: SiteName, incarnation: Incarnation, timing: Timing) -> Local {
        Local {
            core: Site::new(name.clone(), incarnation, timing),
            name,
            incarnation,
            seeded: false,
            process: Process::new(),
            disk: Disk::new(),
            log: Vec::new(),
            uplink: Uplink::default(),
            answers: Answers::default(),
            ghost: false,
            backup: None,
            cut_until: 0,
            wan_until: 0,
            git_until: 0,
            registry_until: 0,
            denied_until: 0,
            full_until: 0,
            timing,
            full: false,
        }
    }

    fn write(&self, step: &Step) -> Write<RowKey, Row> {
        step.changed.keys().map(|it| (it.clone(), self.core.row(&it))).collect()
    }

    /// What comes back from the disk, through the bytes it was stored as.
    pub(crate) fn restored(&self) -> Site {
        let rows: Vec<Row> = self.disk.read().map(through_bytes).collect();
        if rows.is_empty() {
            return Site::new(self.name.clone(), self.incarnation, self.timing);
        }
        Site::restore(rows, self.timing).expect("the rows make a site")
    }
}

/// It was seeded in an earlier life.
fn knows_its_site(core: &Site) -> bool {
    let frozen = why::site(core, Now::default());
    !frozen.iter().any(|it| matches!(it.cause, why::Cause::Site(why::SiteCause::SiteNotSeeded {})))
}

fn through_bytes(row: &Row) -> Row {
    let text = serde_json::to_string(row).expect("a row can be written");
    serde_json::from_str(&text).expect("a row can be read")
}

impl World {
    /// Takes one step; `None` if nothing follows from it: the LO died before it
    /// could act on it, or its disk refused it.
    pub(crate) fn local_step(&mut self, site: usize, input: Input) -> Option<Step> {
        let local = &mut self.sites[site];
        let now = local.process.now(self.now, &mut self.rng);
        let step = local.core.step(input, now);
        let write = local.write(&step);
        if !write.is_empty() && self.refuses(self.sites[site].full_until) {
            self.local_falls_back(site);
            return None;
        }
        if self.dies() {
            self.local_crash(site, "while it persisted");
            return None;
        }
        let local = &mut self.sites[site];
        local.disk.commit(write);
        local.log.extend(step.events.iter().cloned());
        self.local_answers(site, &step.changed, now);
        self.observe_site(site, &step, now);
        self.local_hurries(site, &step);
        if self.dies() {
            self.local_crash(site, "before it answered");
            return None;
        }
        let process = &mut self.sites[site].process;
        let life = process.life;
        if let Some(at) = process.plan_tick(step.wake) {
            self.at(at, Happening::LocalWake { site, life, at });
        }
        Some(step)
    }

    pub(crate) fn local_crash(&mut self, site: usize, when: &str) {
        let down = self.rng.range(500..60_000);
        self.note(|w| format!("LO {} dies {when}", w.sites[site].name));
        self.sites[site].process.die();
        self.after(down, Happening::LocalUp { site });
    }

    pub(crate) fn local_up(&mut self, site: usize) {
        let now = self.now;
        let local = &mut self.sites[site];
        if local.process.up || self.season.locals_off() {
            return;
        }
        local.timing = self.season.timing();
        local.core = local.restored();
        local.process.rise(now, local.core.clock());
        local.uplink.forget();
        local.answers.restart(local.process.life);
        local.seeded = knows_its_site(&local.core);
        self.note(|w| format!("LO {} is back", w.sites[site].name));
        self.local_step(site, Input::Tick);
    }

    pub(crate) fn local_wake(&mut self, site: usize, life: u64, at: u64) {
        if self.sites[site].process.ticks(at, life) {
            self.local_step(site, Input::Tick);
        }
    }

    /// Reads Git, sends events, asks for commands.
    pub(crate) fn local_sync(&mut self, site: usize) {
        let next = self.rng.range(SYNC / 2..SYNC * 2) * self.season.slowness();
        self.after(next, Happening::LocalSync { site });
        if !self.sites[site].process.up {
            return;
        }
        if !self.sites[site].seeded {
            self.local_seed(site);
        }
        let cut = self.now < self.sites[site].git_until;
        self.local_git_answers(site, !cut);
        if !cut && self.sites[site].process.up {
            self.local_fetch(site);
        }
        if self.sites[site].process.up {
            self.local_report(site);
        }
    }

    fn local_fetch(&mut self, site: usize) {
        let local = &self.sites[site];
        let Some(commit) = self.git.fetch(&local.name, local.core.git(), local.full) else {
            return;
        };
        let expected = self.expect_plan(site, &commit);
        let Some(step) = self.local_step(site, Input::Commit(commit)) else { return };
        if let Some(expected) = expected {
            self.check_plan(site, &expected, &step);
        }
        self.sites[site].full = matches!(step.refused, Some(Refused::OtherBase { .. }));
    }

    pub(crate) fn local_receive(&mut self, site: usize, message: ToLocal) {
        if !self.sites[site].process.up {
            return;
        }
        match message {
            ToLocal::Poll { node, have } => self.local_poll(site, node, have),
            ToLocal::Status { node, status } => {
                let name = self.nodes[node].name.clone();
                let number = status.colony.as_ref().and_then(|it| it.report);
                let deployment = status.deployment_id.parse();
                let step = self.local_step(site, Input::Status { node: name, status });
                let taken = step.is_some_and(|it| it.refused.is_none());
                if let (true, Some(report), Ok(deployment)) = (taken, number, deployment) {
                    let message = ToEdge::StatusTaken { deployment, report };
                    self.send_near(node, Happening::ToEdge { node, message });
                }
            }
            ToLocal::Capabilities { node } => self.local_capabilities(site, node),
            ToLocal::EventsTaken { incarnation, next, answers } => {
                self.local_answered(site, incarnation, answers);
                self.local_taken(site, incarnation, next);
            }
            ToLocal::Diverged { incarnation } => self.local_diverged(site, incarnation),
            ToLocal::Fenced { by } => {
                self.local_step(site, Input::Fenced { by });
            }
            ToLocal::Commands(commands) => self.local_obey(site, commands),
        }
    }

    fn local_capabilities(&mut self, site: usize, node: usize) {
        let edge = &self.nodes[node];
        let own = capabilities(edge.name.as_str(), &edge.architecture, edge.labels());
        let input = Input::Capabilities(edge.name.clone(), Box::new(own));
        if self.local_step(site, input).is_some_and(|it| it.refused.is_none()) {
            let message = ToEdge::CapabilitiesTaken;
            self.send_near(node, Happening::ToEdge { node, message });
        }
    }

    /// The role keeps what it served; here nine of ten polls trust the version.
    fn is_up_to_date(&mut self, site: usize, node: usize, have: Option<Have>) -> bool {
        let core = &self.sites[site].core;
        let name = &self.nodes[node].name;
        let version = core.member(name).map(|it| it.version());
        let served = self.checker.served(site, node);
        let same = served.is_some_and(|(number, etag)| {
            version == Some(number) && have == Some(Have { version: number, etag: Some(etag) })
        });
        same && core.asks(name).is_empty() && !self.rng.chance(10)
    }

    fn local_poll(&mut self, site: usize, node: usize, have: Option<Have>) {
        let name = self.nodes[node].name.clone();
        let Some(step) = self.local_step(site, Input::Heard { node: name.clone(), have }) else {
            return;
        };
        // A fenced LO goes on to serve the manifest it had.
        if step.refused.is_some_and(|it| !matches!(it, Refused::Fenced { .. })) {
            return;
        }
        if self.is_up_to_date(site, node, have) {
            return;
        }
        let core = &self.sites[site].core;
        let asks = core.asks(&name);
        let Ok(manifest) = core.manifest(&name) else { return };
        if have.and_then(|it| it.etag) != Some(manifest.etag) {
            self.observe_manifest(site, node, &manifest);
            let documents = manifest.documents.into_iter().map(|it| (it.1, it.2)).collect();
            let (bytes, etag) = (manifest.bytes, manifest.etag);
            let message = ToEdge::Manifest { bytes, etag, documents };
            self.send_near(node, Happening::ToEdge { node, message });
        }
        if !asks.is_empty() {
            self.send_near(node, Happening::ToEdge { node, message: ToEdge::Asked(asks) });
        }
    }
}
