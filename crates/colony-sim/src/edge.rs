//! The shell of a simulated EN: persist, then act; the engine outlives it.

use std::collections::BTreeSet;

use colony_core::id::{DeploymentId, NodeName};
use colony_core::node::{Action, Input, Key, Node, Phase, Plan, Policy, Row, Step};
use colony_core::site::Have;
use colony_margo::Digest;
use colony_testkit::capabilities;

use crate::coverage::Trial;
use crate::disk::Write;
use crate::engine::{Engine, Registry, Subject};
use crate::journal::Journal;
use crate::network::{Happening, ToEdge, ToLocal};
use crate::process::Process;
use crate::world::World;

const POLL: u64 = 4_000;
const LOOK: u64 = 3_000;

/// One execution node with its disk and its engine.
#[derive(Debug)]
pub(crate) struct Edge {
    pub name: NodeName,
    pub site: usize,
    pub architecture: String,
    pub core: Node,
    pub process: Process,
    pub engine: Engine,
    journal: Journal,
    /// Virtual time until which there is no room for its journal.
    pub full_until: u64,
    introduced: bool,
    pub cut_until: u64,
    /// Its polls get through, its reports do not.
    pub unheard_until: u64,
    /// The device is gone for good: its site was told so.
    pub retired: bool,
    /// It has the label some deployments ask for.
    pub labelled: bool,
    /// It says what it can do only from then on.
    pub mute_until: u64,
}

impl Edge {
    pub(crate) fn new(name: NodeName, site: usize, architecture: &str) -> Edge {
        Edge {
            core: empty(&name),
            name,
            site,
            architecture: architecture.to_owned(),
            process: Process::new(),
            engine: Engine::default(),
            journal: Journal::default(),
            full_until: 0,
            introduced: false,
            cut_until: 0,
            unheard_until: 0,
            retired: false,
            labelled: false,
            mute_until: 0,
        }
    }

    fn write(&self, step: &Step) -> Write<Key, Row> {
        step.changed.iter().map(|it| (it.clone(), self.core.row(it))).collect()
    }

    fn restored(&mut self) -> Result<Node, String> {
        let rows = self.journal.read()?;
        let device = self.name.as_str().parse().expect("a device id");
        Ok(Node::restore(device, Policy::default(), rows))
    }

    pub(crate) fn change_architecture(&mut self) {
        let is_arm = self.architecture == "arm64";
        self.architecture = if is_arm { "amd64" } else { "arm64" }.to_owned();
    }

    pub(crate) fn labels(&self) -> &'static str {
        if self.labelled { r#""zone":"wet""# } else { "" }
    }

    /// What the last accepted document of a deployment wants of its component.
    pub(crate) fn wanted_fingerprints(&self, id: &DeploymentId) -> BTreeSet<Digest> {
        let Some(Row::Deployment(record)) = self.journal.get(&Key::Deployment(id.clone())) else {
            return BTreeSet::new();
        };
        let device = self.name.as_str().parse().expect("a device id");
        let plan = Plan::read(id, &device, record.text.as_bytes());
        plan.map(|it| it.fingerprints()).unwrap_or_default()
    }

    /// The deployments that are installed and well, as the node believes.
    pub(crate) fn installed_ids(&self) -> BTreeSet<DeploymentId> {
        let well = |it: &&DeploymentId| {
            matches!(self.core.phase(it), Some(Phase::Installed { lost: None, .. }))
        };
        self.core.wanted().keys().filter(well).cloned().collect()
    }

    /// The device is set up anew: no disk, no containers.
    pub(crate) fn wipe(&mut self) {
        self.journal = Journal::default();
        self.full_until = 0;
        self.engine.wipe();
        self.core = empty(&self.name);
        self.introduced = false;
    }

    fn installed(&self) -> usize {
        self.installed_ids().len()
    }

    /// The number of the report of `deployment` that was not acknowledged yet.
    fn owes(&self, deployment: &DeploymentId) -> Option<u64> {
        let id = deployment.to_string();
        let open = self.core.reports().into_iter().find(|it| it.deployment_id == id)?;
        open.colony.and_then(|it| it.report)
    }

    fn have(&self) -> Option<Have> {
        let version = self.core.version()?.get();
        let etag = self.core.etag().and_then(|it| it.trim_matches('"').parse::<Digest>().ok());
        Some(Have { version, etag })
    }
}

fn empty(name: &NodeName) -> Node {
    Node::restore(name.as_str().parse().expect("a device id"), Policy::default(), [])
}

impl World {
    pub(crate) fn edge_step(&mut self, node: usize, input: Input) {
        let edge = &mut self.nodes[node];
        if !edge.process.up {
            return;
        }
        let now = edge.process.now(self.now, &mut self.rng);
        let step = edge.core.step(input, now);
        let write = edge.write(&step);
        if !write.is_empty() && self.refuses(self.nodes[node].full_until) {
            return self.edge_falls_back(node);
        }
        if self.dies() {
            return self.edge_tears(node, write);
        }
        self.nodes[node].journal.commit(write);
        self.observe_node(node, &step);
        if self.dies() {
            return self.edge_crash(node, "before it acted");
        }
        let process = &mut self.nodes[node].process;
        let life = process.life;
        if let Some(at) = process.plan_tick(step.wake) {
            self.at(at, Happening::EdgeWake { node, life, at });
        }
        if step.observe {
            let soon = self.rng.range(10..300);
            self.after(soon, Happening::EdgeLook { node, again: false });
        }
        self.edge_hurries(node, &step);
        for action in step.actions {
            self.edge_act(node, life, action);
        }
    }

    /// Power fails while the line of a step is on its way to the disk.
    fn edge_tears(&mut self, node: usize, write: Write<Key, Row>) {
        if self.nodes[node].journal.tear(write, &mut self.rng) {
            self.coverage.trial(Trial::TornLine);
        }
        self.edge_crash(node, "while it persisted");
    }

    /// What is on disk is what counts.
    pub(crate) fn edge_restore(&mut self, node: usize) {
        match self.nodes[node].restored() {
            Ok(core) => self.nodes[node].core = core,
            Err(what) => self.violate(format!("EN {}: {what}", self.nodes[node].name)),
        }
    }

    fn edge_act(&mut self, node: usize, life: u64, action: Action) {
        let takes = match self.rng.range(0..100) {
            0..90 => self.rng.range(50..2_000),
            90..99 => self.rng.range(2_000..20_000),
            _ => self.rng.range(20_000..200_000),
        };
        let subject = self.nodes[node]
            .core
            .subject(&action)
            .map(|(_, component)| Subject { version: component.properties.revision.to_string() });
        self.after(takes, Happening::EngineDone { node, life, action, subject });
    }

    /// The engine finishes what it was told, also if the node process is gone.
    pub(crate) fn engine_done(
        &mut self,
        node: usize,
        life: u64,
        action: Action,
        subject: Option<Subject>,
    ) {
        let now = self.now;
        let lost = self.nodes[node].process.life != life;
        if lost && self.rng.chance(50) {
            return;
        }
        let registry = self.registry_of(node);
        let edge = &mut self.nodes[node];
        let result = edge.engine.perform(&action, subject.as_ref(), now, registry);
        self.engine_speaks(node);
        if !lost {
            self.edge_step(node, Input::Done { action, result });
        }
    }

    fn registry_of(&self, node: usize) -> Registry {
        let local = &self.sites[self.nodes[node].site];
        match self.now {
            now if now < local.registry_until => Registry::Away,
            now if now < local.denied_until => Registry::Denies,
            _ => Registry::Open,
        }
    }

    pub(crate) fn edge_look(&mut self, node: usize, again: bool) {
        if again {
            let next = self.rng.range(LOOK / 2..LOOK * 2) * self.season.slowness();
            self.after(next, Happening::EdgeLook { node, again: true });
        }
        let edge = &self.nodes[node];
        if !edge.process.up {
            return;
        }
        if let Some(containers) = edge.engine.list(self.now) {
            let taken = edge.process.now(self.now, &mut self.rng).mono;
            self.edge_step(node, Input::Observed { taken, containers });
        }
    }

    pub(crate) fn edge_wake(&mut self, node: usize, life: u64, at: u64) {
        if !self.nodes[node].process.ticks(at, life) {
            return;
        }
        let before = self.nodes[node].installed();
        self.edge_step(node, Input::Tick);
        if self.nodes[node].installed() > before {
            self.violate("the clock alone made a workload INSTALLED".to_owned());
        }
    }

    /// Asks for the manifest, and says what was not acknowledged yet.
    pub(crate) fn edge_poll(&mut self, node: usize, again: bool) {
        if again {
            let next = self.rng.range(POLL / 2..POLL * 3 / 2) * self.season.slowness();
            self.after(next, Happening::EdgePoll { node, again });
        }
        let edge = &mut self.nodes[node];
        if !edge.process.up || edge.retired {
            return;
        }
        let needed = edge.core.needed();
        edge.engine.collect(&needed);
        let site = edge.site;
        if !edge.introduced && self.now >= edge.mute_until {
            let message = ToLocal::Capabilities { node };
            self.send_near(node, Happening::ToLocal { site, message });
        }
        let edge = &self.nodes[node];
        let (have, reports) = (edge.have(), edge.core.reports());
        self.send_near(node, Happening::ToLocal { site, message: ToLocal::Poll { node, have } });
        for status in reports {
            let message = ToLocal::Status { node, status: Box::new(status) };
            self.send_near(node, Happening::ToLocal { site, message });
        }
    }

    pub(crate) fn edge_receive(&mut self, node: usize, message: ToEdge) {
        if !self.nodes[node].process.up {
            return;
        }
        match message {
            ToEdge::Manifest { bytes, etag, documents } => {
                let etag = Some(etag.to_string());
                if matches!(self.nodes[node].core.check(&bytes, etag.as_deref()), Ok(Some(_))) {
                    self.edge_step(node, Input::Manifest { bytes, etag, documents });
                }
            }
            ToEdge::Asked(asks) => {
                self.nodes[node].introduced &= !asks.capabilities;
                self.edge_step(node, Input::Asked(asks.deployments));
            }
            ToEdge::StatusTaken { deployment, report } => {
                let newer = self.nodes[node].owes(&deployment).filter(|it| *it > report);
                self.edge_step(node, Input::Acked { deployment: deployment.clone(), report });
                let forgot = newer.is_some() && self.nodes[node].owes(&deployment).is_none();
                if forgot && self.nodes[node].process.up {
                    self.violate("the answer to an old report silenced a newer one".to_owned());
                }
            }
            ToEdge::CapabilitiesTaken => self.nodes[node].introduced = true,
        }
    }

    pub(crate) fn edge_crash(&mut self, node: usize, when: &str) {
        let down = self.rng.range(500..90_000);
        self.note(|w| format!("EN {} dies {when}", w.nodes[node].name));
        self.nodes[node].process.die();
        self.after(down, Happening::EdgeUp { node });
    }

    pub(crate) fn edge_up(&mut self, node: usize) {
        let now = self.now;
        let edge = &self.nodes[node];
        if edge.process.up || edge.retired || self.season.nodes_off() {
            return;
        }
        self.edge_restore(node);
        let edge = &mut self.nodes[node];
        edge.process.rise(now, edge.core.clock());
        edge.introduced = false;
        let own = capabilities(edge.name.as_str(), &edge.architecture, edge.labels());
        self.note(|w| format!("EN {} is back", w.nodes[node].name));
        self.edge_step(node, Input::Capabilities(Box::new(own)));
        self.edge_look(node, false);
    }
}
