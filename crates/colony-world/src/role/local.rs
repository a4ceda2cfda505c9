//! The shell of a local orchestrator: persist, then answer; it may crash at any
//! point.

use std::sync::Arc;

use colony_core::event::{Event, Incarnation};
use colony_core::id::SiteName;
use colony_core::margo::DeploymentStatus;
use colony_core::site::{Have, Input, Refused, Row, RowKey, Site, Step, Timing};
use colony_core::time::Monotonic;

use crate::answers::Answers;
use crate::disk::{Disk, Write};
use crate::host::{Host, Outcome, Role, Transaction};
use crate::message::{ToLocal, ToNode};
use crate::process::Process;
use crate::role::join::knows_its_site;
use crate::role::uplink::{Uplink, UplinkShell};
use crate::words;

/// The rows of a site.
pub type SiteDisk = Disk<RowKey, Row, Site>;

/// One local orchestrator with its disk.
#[derive(Debug, Clone)]
pub struct Local {
    pub name: SiteName,
    /// The incarnation as which it joined.
    pub incarnation: Incarnation,
    pub core: Site,
    pub process: Process,
    pub disk: SiteDisk,
    /// The persisted log of this incarnation.
    pub log: Vec<Arc<Event>>,
    pub uplink: Uplink,
    pub answers: Answers,
    /// The value of its clock when that was last persisted.
    pub saved: Monotonic,
    /// It has received the seed of its site.
    pub seeded: bool,
    /// Another orchestrator has taken the site over; this one still runs.
    pub ghost: bool,
    /// A backup of its disk and log.
    pub backup: Option<Box<(SiteDisk, Vec<Arc<Event>>)>>,
    /// Virtual time until which each fault lasts.
    pub cut_until: u64,
    pub wan_until: u64,
    pub git_until: u64,
    pub registry_until: u64,
    pub denied_until: u64,
    /// Its disk is full.
    pub full_until: u64,
    timing: Timing,
    /// The next fetch reads all files.
    full: bool,
}

impl Local {
    pub fn new(name: SiteName, incarnation: Incarnation, timing: Timing) -> Local {
        Local {
            core: Site::new(name.clone(), incarnation, timing),
            name,
            incarnation,
            seeded: false,
            process: Process::default(),
            disk: Disk::default(),
            log: Vec::new(),
            uplink: Uplink::default(),
            answers: Answers::default(),
            saved: Monotonic(0),
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

    /// Reloads the site from its database. An orchestrator that has joined and
    /// has no rows starts empty.
    pub fn restore(&mut self) {
        let fresh = || Site::new(self.name.clone(), self.incarnation, self.timing);
        self.core = self.disk.restored(|rows| match rows.is_empty() {
            true => fresh(),
            false => Site::restore(rows, self.timing).expect("the rows make a site"),
        });
    }

    /// The timing of its next start.
    pub fn set_timing(&mut self, timing: Timing) {
        self.timing = timing;
        self.disk.forget_restored();
    }
}

/// The steps of a local orchestrator, in the order of
/// `colony-local/src/brain/writer.rs`.
pub trait LocalShell: Host {
    /// Executes one step; `None` if it has no effect: the orchestrator crashed
    /// before it could act on it, or its disk refused the commit.
    fn local_step(&mut self, site: usize, input: Input) -> Option<Step> {
        let (role, transaction) = (Role::Local(site), Transaction::Local(site));
        self.before_local_step(site);
        let now = self.present(role);
        let local = &mut *self.roles_mut().sites[site];
        let step = local.core.step(input, now);
        let write = local.write(&step);
        match self.commit(transaction, !write.is_empty() || !step.events.is_empty()) {
            Outcome::Stored => {}
            Outcome::Refused => {
                self.fall_back(role);
                return None;
            }
            Outcome::Dies => {
                self.die(role, "before it persisted");
                return None;
            }
        }
        let local = &mut *self.roles_mut().sites[site];
        local.disk.commit(write);
        local.log.extend(step.events.iter().cloned().map(Arc::new));
        local.process.wake = step.wake;
        if step.changed.meta {
            local.saved = now.mono;
        }
        self.observe_local(site, &step, now);
        if !self.survives(transaction) {
            self.die(role, "after it persisted, before it answered");
            return None;
        }
        self.local_acts(site, &step);
        Some(step)
    }

    /// The process starts: it has only its disk.
    fn local_start(&mut self, site: usize) {
        let time = self.time();
        let local = &mut *self.roles_mut().sites[site];
        local.restore();
        local.process.rise(time, local.core.clock());
        local.uplink.forget();
        local.answers.restart(local.process.life);
        local.seeded = knows_its_site(&local.core);
        self.local_step(site, Input::Tick);
    }

    /// Reads Git, if there is a commit to read.
    fn local_fetch(&mut self, site: usize) {
        let roles = self.roles();
        let local = &roles.sites[site];
        let Some(commit) = roles.git.fetch(&local.name, local.core.git(), local.full) else {
            return;
        };
        self.say(|_| format!("LO reads commit {}", words::commit(&commit.revision)));
        self.before_fetch(site, &commit);
        let Some(step) = self.local_step(site, Input::Commit(commit)) else { return };
        self.after_fetch(site, &step);
        let full = matches!(step.refused, Some(Refused::OtherBase { .. }));
        if self.roles().sites[site].full != full {
            self.roles_mut().sites[site].full = full;
        }
    }

    fn local_receive(&mut self, site: usize, message: ToLocal) {
        if !self.roles().sites[site].process.up {
            return;
        }
        match message {
            ToLocal::Poll { node, have } => self.local_poll(site, node, have),
            ToLocal::Status { node, status } => self.local_status(site, node, status),
            ToLocal::Capabilities { node } => self.local_capabilities(site, node),
            ToLocal::EventsTaken { incarnation, next, .. } => {
                self.local_taken(site, incarnation, next);
            }
            ToLocal::Diverged { incarnation } => self.local_diverged(site, incarnation),
            ToLocal::Fenced { by } => {
                self.say(|_| format!("LO learns that incarnation {by} has taken over"));
                self.local_step(site, Input::Fenced { by });
            }
            ToLocal::Commands(commands) => self.local_obey(site, commands),
        }
    }

    fn local_status(&mut self, site: usize, node: usize, status: Box<DeploymentStatus>) {
        let name = self.roles().nodes[node].name.clone();
        self.say(|_| format!("LO: node {name} reports {}", words::status(&status)));
        let number = status.colony.as_ref().and_then(|it| it.report);
        let deployment = status.deployment_id.parse();
        let step = self.local_step(site, Input::Status { node: name.clone(), status });
        let taken = step.is_some_and(|it| it.refused.is_none());
        if let (true, Some(report), Ok(deployment)) = (taken, number, deployment) {
            self.say(|_| format!("LO answers node {name}: report {report} is taken"));
            self.send_to_node(node, ToNode::StatusTaken { deployment, report });
        }
    }

    fn local_capabilities(&mut self, site: usize, node: usize) {
        let device = &self.roles().nodes[node];
        let (name, own) = (device.name.clone(), device.capabilities());
        self.say(|_| format!("LO: node {name} says what it can do"));
        let step = self.local_step(site, Input::Capabilities(name, Box::new(own)));
        if step.is_some_and(|it| it.refused.is_none()) {
            self.send_to_node(node, ToNode::CapabilitiesTaken);
        }
    }

    fn local_poll(&mut self, site: usize, node: usize, have: Option<Have>) {
        let name = self.roles().nodes[node].name.clone();
        self.say(|_| format!("LO: node {name} polls, holding {}", words::have(have)));
        let Some(step) = self.local_step(site, Input::Heard { node: name.clone(), have }) else {
            return;
        };
        // A fenced orchestrator continues to serve its last manifest.
        if let Some(refused) = step.refused.filter(|it| !matches!(it, Refused::Fenced { .. })) {
            return self.say(|_| format!("LO refuses it: {refused}"));
        }
        if self.is_up_to_date(site, node, have) {
            return;
        }
        let core = &self.roles().sites[site].core;
        let asks = Some(core.report_requests(&name)).filter(|it| !it.is_empty());
        let Ok(manifest) = core.manifest(&name) else { return };
        let news = have.and_then(|it| it.etag) != Some(manifest.etag);
        if news {
            self.observe_manifest(site, node, &manifest);
        }
        let manifest = news.then(|| Arc::new(manifest));
        if manifest.is_none() && asks.is_none() {
            return;
        }
        let answer = words::answer(manifest.as_deref(), asks.as_ref());
        self.say(|_| format!("LO answers node {name}: {answer}"));
        self.send_to_node(node, ToNode::Answer { manifest, asks });
    }
}

impl<H: Host> LocalShell for H {}
