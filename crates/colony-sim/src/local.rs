//! The shell of a simulated LO: persist, then answer; die anywhere between.

use std::collections::BTreeMap;

use colony_core::event::{Event, Incarnation, Seq};
use colony_core::id::SiteName;
use colony_core::site::{Have, Input, Refused, Row, RowKey, Site, Step, Timing};
use colony_testkit::capabilities;

use crate::network::{Happening, ToCentral, ToEdge, ToLocal};
use crate::process::Process;
use crate::world::World;

const SYNC: u64 = 3_000;
const BATCH: usize = 40;

/// One local orchestrator with its disk.
#[derive(Debug)]
pub(crate) struct Local {
    pub name: SiteName,
    pub core: Site,
    pub process: Process,
    rows: BTreeMap<RowKey, Row>,
    /// The persisted log of this incarnation.
    pub log: Vec<Event>,
    /// The first event CO has not acknowledged, as far as this life knows.
    unsent: Seq,
    pub cut_until: u64,
    pub wan_until: u64,
    pub git_until: u64,
    pub registry_until: u64,
    /// The next fetch reads everything.
    full: bool,
}

impl Local {
    pub(crate) fn new(name: SiteName, incarnation: Incarnation) -> Local {
        Local {
            core: Site::new(name.clone(), incarnation, Timing::default()),
            name,
            process: Process::new(),
            rows: BTreeMap::new(),
            log: Vec::new(),
            unsent: 1,
            cut_until: 0,
            wan_until: 0,
            git_until: 0,
            registry_until: 0,
            full: false,
        }
    }

    fn persist(&mut self, step: &Step) {
        for key in step.changed.keys() {
            match self.core.row(&key) {
                Some(row) => self.rows.insert(key, row),
                None => self.rows.remove(&key),
            };
        }
        self.log.extend(step.events.iter().cloned());
    }

    /// What comes back from the disk, through the bytes it was stored as.
    fn restored(&self) -> Site {
        let rows = self.rows.values().map(|it| {
            let text = serde_json::to_string(it).expect("a row can be written");
            serde_json::from_str::<Row>(&text).expect("a row can be read")
        });
        Site::restore(rows, Timing::default()).expect("the rows make a site")
    }
}

impl World {
    /// Takes one step; `None` if the LO died before it could act on it.
    pub(crate) fn local_step(&mut self, site: usize, input: Input) -> Option<Step> {
        let local = &mut self.sites[site];
        let now = local.process.now(self.now, &mut self.rng);
        let step = local.core.step(input, now);
        if self.dies() {
            self.local_crash(site, "before it persisted");
            return None;
        }
        let local = &mut self.sites[site];
        local.persist(&step);
        self.observe_site(site, &step, now);
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
        if local.process.up {
            return;
        }
        local.core = local.restored();
        local.process.rise(now, local.core.clock());
        local.unsent = 1;
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
        let next = self.rng.range(SYNC / 2..SYNC * 2);
        self.after(next, Happening::LocalSync { site });
        if !self.sites[site].process.up {
            return;
        }
        if self.now >= self.sites[site].git_until {
            self.local_fetch(site);
        }
        if !self.sites[site].process.up {
            return;
        }
        self.local_send_events(site);
        self.send_far(site, Happening::ToCentral { site, message: ToCentral::CommandsPlease });
    }

    fn local_fetch(&mut self, site: usize) {
        let local = &self.sites[site];
        let Some(commit) = self.git.fetch(&local.name, local.core.git(), local.full) else {
            return;
        };
        let Some(step) = self.local_step(site, Input::Commit(commit)) else { return };
        self.sites[site].full = matches!(step.refused, Some(Refused::OtherBase { .. }));
    }

    fn local_send_events(&mut self, site: usize) {
        let local = &self.sites[site];
        let from = usize::try_from(local.unsent - 1).unwrap_or(0);
        let events: Vec<Event> = local.log.iter().skip(from).take(BATCH).cloned().collect();
        let incarnation = local.core.log().incarnation;
        let message = ToCentral::Events { incarnation, events };
        self.send_far(site, Happening::ToCentral { site, message });
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
            ToLocal::EventsTaken { incarnation, next } => {
                let local = &mut self.sites[site];
                if incarnation == local.core.log().incarnation {
                    local.unsent = next;
                }
            }
            ToLocal::Fenced { by } => {
                self.local_step(site, Input::Fenced { by });
            }
            ToLocal::Commands(commands) => {
                for command in commands {
                    self.local_step(site, Input::Command(command));
                    if !self.sites[site].process.up {
                        return;
                    }
                }
            }
        }
    }

    fn local_capabilities(&mut self, site: usize, node: usize) {
        let edge = &self.nodes[node];
        let own = capabilities(edge.name.as_str(), &edge.architecture, "");
        let input = Input::Capabilities(edge.name.clone(), Box::new(own));
        if self.local_step(site, input).is_some_and(|it| it.refused.is_none()) {
            let message = ToEdge::CapabilitiesTaken;
            self.send_near(node, Happening::ToEdge { node, message });
        }
    }

    fn local_poll(&mut self, site: usize, node: usize, have: Option<Have>) {
        let name = self.nodes[node].name.clone();
        let Some(step) = self.local_step(site, Input::Heard { node: name.clone(), have }) else {
            return;
        };
        if step.refused.is_some() {
            return;
        }
        let core = &self.sites[site].core;
        let asks = core.asks(&name);
        let Ok(manifest) = core.manifest(&name) else { return };
        if have.and_then(|it| it.etag) != Some(manifest.etag) {
            self.observe_manifest(node, &manifest);
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
