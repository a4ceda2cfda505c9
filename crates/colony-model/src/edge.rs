//! The shell of an execution node: persist, then act; the engine outlives it.

use std::collections::BTreeMap;
use std::sync::Arc;

use colony_core::id::{DeploymentId, NodeName};
use colony_core::node::{Action, Input, Key, Node, Row, Step};
use colony_core::site::Have;
use colony_core::time::Mono;
use colony_margo::Digest;
use colony_testkit::capabilities;

use crate::disk::{Disk, through_bytes};
use crate::engine::Engine;
use crate::fate::Die;
use crate::message::{Down, Sheet, Up};
use crate::plan::Flaw;
use crate::print::{hash, print, relative};
use crate::time::{Clock, policy};
use crate::words;
use crate::world::World;

/// More looks than any sound step asks for.
const LOOKS: u32 = 8;

/// One execution node with its disk and its engine.
#[derive(Debug, Clone)]
pub(crate) struct Edge {
    pub(crate) name: NodeName,
    pub(crate) core: Node,
    pub(crate) clock: Clock,
    pub(crate) wake: Option<Mono>,
    disk: Arc<Disk<Key, Row, Node>>,
    pub(crate) engine: Engine,
    /// What the engine was told and has not finished.
    pub(crate) doing: Vec<Doing>,
    /// The versions that the accepted manifest lists.
    pub(crate) wants: BTreeMap<DeploymentId, String>,
    introduced: bool,
    /// Its process is there.
    pub(crate) up: bool,
    /// Absent while the role has changed since it was last computed.
    print: Option<u64>,
}

/// An action under way, with the version it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Doing {
    pub(crate) action: Action,
    pub(crate) version: Option<String>,
}

impl Edge {
    pub(crate) fn new(name: NodeName, now: u64) -> Edge {
        let mut clock = Clock::default();
        clock.go_on_from(now, Mono(now));
        Edge {
            core: Node::restore(name.as_str().parse().expect("a device id"), policy(), []),
            name,
            clock,
            wake: None,
            disk: Arc::default(),
            engine: Engine::default(),
            doing: Vec::new(),
            wants: BTreeMap::new(),
            introduced: false,
            up: true,
            print: None,
        }
    }

    fn persist(&mut self, step: &Step) {
        if !step.changed.is_empty() {
            let rows = step.changed.iter().map(|key| (key.clone(), self.core.row(key)));
            self.disk = Arc::new(self.disk.with(rows));
        }
    }

    fn restored(&self) -> Node {
        let id = || self.name.as_str().parse().expect("a device id");
        self.disk.restored(through_bytes!(), |rows| Node::restore(id(), policy(), rows))
    }

    pub(crate) fn have(&self) -> Option<Have> {
        let version = self.core.version()?.get();
        let etag = self.core.etag().and_then(|it| it.trim_matches('"').parse::<Digest>().ok());
        Some(Have { version, etag })
    }

    /// Begins what a step asks for; it replaces a preparation under way.
    fn begin(&mut self, action: Action) {
        let subject = self.core.subject(&action);
        let version = subject.map(|it| it.1.properties.revision.to_string());
        self.doing.retain(|it| it.action.deployment() != action.deployment());
        self.doing.push(Doing { action, version });
    }

    pub(crate) fn note(&mut self, now: u64) {
        let mono = self.clock.mono(now);
        let wake = self.wake.map(|it| relative(it.0, mono.0));
        let around = format!("{:?} {:?}", self.engine, self.doing);
        let print = print(&self.core, mono);
        let life = (self.up, self.introduced);
        self.print = Some(hash((print, around, wake, life, &self.wants)));
    }

    pub(crate) fn print(&self) -> Option<u64> {
        self.print
    }
}

impl World {
    /// A node that is about to change.
    pub(crate) fn edge(&mut self, node: usize) -> &mut Edge {
        let edge = Arc::make_mut(&mut self.nodes[node]);
        edge.print = None;
        edge
    }

    /// Takes one step and what follows from it at once; `false` if it died.
    pub(crate) fn edge_step(&mut self, node: usize, input: Input) -> bool {
        self.edge_step_looking(node, input, LOOKS)
    }

    fn edge_step_looking(&mut self, node: usize, input: Input, looks: u32) -> bool {
        let now = self.nodes[node].clock.at_node(self.now);
        let step = self.edge(node).core.step(input, now);
        let die = self.fated(!step.changed.is_empty());
        if die == Die::BeforePersist {
            self.edge_dies(node, "before it persisted");
            return false;
        }
        let edge = self.edge(node);
        edge.persist(&step);
        edge.wake = step.wake;
        self.observe_node(node, &step);
        if die == Die::BeforeAct {
            self.edge_dies(node, "after it persisted, before it acted");
            return false;
        }
        for action in step.actions {
            let edge = self.edge(node);
            edge.begin(action.clone());
            let line = format!("node {} begins to {}", edge.name, words::action(edge.doing.last()));
            self.say(line);
        }
        if step.observe && looks > 0 {
            let containers = self.nodes[node].engine.list();
            let look = Input::Observed { taken: now.mono, containers };
            return self.edge_step_looking(node, look, looks - 1);
        }
        true
    }

    /// Where nobody else can die it comes back at once.
    fn edge_dies(&mut self, node: usize, when: &str) {
        self.say(format!("node {} dies {when}", self.nodes[node].name));
        let edge = self.edge(node);
        edge.core = edge.restored();
        (edge.up, edge.introduced, edge.wake) = (false, false, None);
        edge.doing.clear();
        if self.left.deaths == 0 {
            self.edge_begin(node);
        }
    }

    pub(crate) fn edge_begin(&mut self, node: usize) {
        self.say(format!("node {} comes back from its disk", self.nodes[node].name));
        let now = self.now;
        let edge = self.edge(node);
        edge.clock.go_on_from(now, edge.core.clock());
        edge.up = true;
        self.edge_introduce(node);
    }

    /// A process that has just begun looks at its device.
    pub(crate) fn edge_introduce(&mut self, node: usize) {
        let edge = self.edge(node);
        edge.introduced = false;
        let own = capabilities(edge.name.as_str(), "amd64", "");
        if self.edge_step(node, Input::Capabilities(Box::new(own))) {
            self.edge_look(node);
        }
    }

    pub(crate) fn edge_look(&mut self, node: usize) {
        let edge = &self.nodes[node];
        let taken = edge.clock.mono(self.now);
        let containers = edge.engine.list();
        self.edge_step(node, Input::Observed { taken, containers });
    }

    /// Asks for the manifest; a process that has just begun says what it can do.
    pub(crate) fn edge_poll(&mut self, node: usize) -> Up {
        let edge = self.edge(node);
        if edge.core.version().is_some() {
            let needed = edge.core.needed();
            edge.engine.collect(&needed);
        }
        let introduced = std::mem::replace(&mut edge.introduced, true);
        let call = if introduced { Up::Poll { have: edge.have() } } else { Up::Hello };
        let line = format!("node {} sends {}", edge.name, words::call(&call));
        self.say(line);
        call
    }

    /// Says what was not acknowledged yet.
    pub(crate) fn edge_reports(&mut self, node: usize) -> Vec<Up> {
        let edge = &self.nodes[node];
        let open = edge.core.reports().into_iter();
        let reports: Vec<Up> = open.map(|it| Up::Report(Box::new(it))).collect();
        for report in &reports {
            self.say(format!("node {} sends {}", self.nodes[node].name, words::call(report)));
        }
        reports
    }

    pub(crate) fn edge_receive(&mut self, node: usize, message: &Down) {
        match message {
            Down::Answer { sheet, asks } => {
                let alive = sheet.as_ref().is_none_or(|it| self.edge_manifest(node, it));
                self.edge(node).introduced &= !asks.capabilities;
                if alive && !asks.deployments.is_empty() {
                    let name = &self.nodes[node].name;
                    self.say(format!("node {name} is asked what it knows"));
                    self.edge_step(node, Input::Asked(asks.deployments.clone()));
                }
            }
            Down::Taken { deployment, report } => {
                let line = format!("node {} learns: report {report} taken", self.nodes[node].name);
                self.say(line);
                let input = Input::Acked { deployment: deployment.clone(), report: *report };
                self.edge_step(node, input);
            }
        }
    }

    fn edge_manifest(&mut self, node: usize, sheet: &Sheet) -> bool {
        let (name, etag) = (self.nodes[node].name.clone(), Some(sheet.etag.to_string()));
        let check = self.nodes[node].core.check(&sheet.bytes, etag.as_deref());
        if let Err(rejection) = &check {
            self.say(format!("node {name} refuses the answer: {rejection}"));
        }
        if !matches!(check, Ok(Some(_))) {
            return true;
        }
        self.say(format!("node {name} takes manifest {}", words::version(sheet.version)));
        self.check_obedience(node, sheet);
        let before = std::mem::replace(&mut self.edge(node).wants, words::listed(sheet));
        let documents = sheet.documents.iter().map(|it| (it.1, it.2.clone())).collect();
        let bytes = sheet.bytes.clone();
        let alive = self.edge_step(node, Input::Manifest { bytes, etag, documents });
        if self.nodes[node].core.version().map(|it| it.get()) != Some(sheet.version) {
            self.edge(node).wants = before;
        }
        alive
    }

    /// The engine has finished something.
    pub(crate) fn engine_done(&mut self, node: usize, index: usize) {
        let hasty = self.plan.flaw == Flaw::TakesStaged;
        let edge = self.edge(node);
        let doing = edge.doing.remove(index);
        let action = if hasty { unstaged(&doing.action) } else { doing.action.clone() };
        let result = edge.engine.perform(&action, doing.version.as_deref());
        let what = words::action(Some(&doing));
        let how = result.as_ref().err().map(|it| format!(": {}", it.code)).unwrap_or_default();
        let end = if result.is_ok() { "is done" } else { "fails" };
        let line = format!("node {}'s engine {end}: {what}{how}", edge.name);
        self.say(line);
        self.check_stage();
        self.edge_step(node, Input::Done { action: doing.action, result });
    }

    /// The device loses power while its engine works.
    pub(crate) fn power_cut(&mut self, node: usize, finished: bool) {
        let edge = self.edge(node);
        let doing = std::mem::take(&mut edge.doing);
        for it in doing.iter().filter(|_| finished) {
            let _ = edge.engine.perform(&it.action, it.version.as_deref());
        }
        let what = words::action(doing.first());
        let when = if finished { "as it had just finished" } else { "before it could" };
        self.check_stage();
        self.edge_dies(node, &format!("{when} to {what}"));
    }
}

/// The mistake of a node that makes no difference between beside and instead.
fn unstaged(action: &Action) -> Action {
    match action.clone() {
        Action::Stage { deployment, component, fingerprint } => {
            Action::Start { deployment, component, fingerprint }
        }
        other @ (Action::Prepare { .. }
        | Action::Start { .. }
        | Action::Unstage { .. }
        | Action::Clear { .. }
        | Action::Remove { .. }) => other,
    }
}
