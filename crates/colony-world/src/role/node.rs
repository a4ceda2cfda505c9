//! The shell of a node: persist, then act; the engine survives its crashes.

use std::collections::BTreeSet;

use colony_core::id::{DeploymentId, NodeName};
use colony_core::margo::{Capabilities, Digest};
use colony_core::node::{Action, Input, Key, Node, Phase, Plan, Policy, Row, Step};
use colony_core::site::{Have, NodeManifest};
use colony_testkit::capabilities;

use crate::disk::Write;
use crate::engine::{Engine, Pace};
use crate::host::{Breach, Host, Outcome, Role, Transaction};
use crate::journal::Journal;
use crate::message::{ToLocal, ToNode};
use crate::process::Process;
use crate::words;

/// A device: the node, its disk and its engine.
#[derive(Debug, Clone)]
pub struct Device {
    pub name: NodeName,
    /// The orchestrator that it is connected to.
    pub site: usize,
    pub architecture: String,
    pub core: Node,
    pub process: Process,
    pub engine: Engine,
    pub journal: Journal,
    policy: Policy,
    /// The site has confirmed that it received the capabilities.
    pub introduced: bool,
    /// It has the label that some deployments require.
    pub labelled: bool,
    /// The device is gone permanently, and its site has been informed.
    pub retired: bool,
    /// Virtual time until which the disk of its journal is full.
    pub full_until: u64,
    pub cut_until: u64,
    /// Until then its polls get through, its reports do not.
    pub unheard_until: u64,
    /// It reports its capabilities only after this time.
    pub mute_until: u64,
}

impl Device {
    pub fn new(name: NodeName, site: usize, policy: Policy, pace: Pace) -> Device {
        Device {
            core: empty(&name, &policy),
            name,
            site,
            architecture: "amd64".to_owned(),
            process: Process::default(),
            engine: Engine::new(pace),
            journal: Journal::default(),
            policy,
            introduced: false,
            labelled: false,
            retired: false,
            full_until: 0,
            cut_until: 0,
            unheard_until: 0,
            mute_until: 0,
        }
    }

    fn write(&self, step: &Step) -> Write<Key, Row> {
        step.changed.iter().map(|it| (it.clone(), self.core.row(it))).collect()
    }

    /// Reloads the node from its journal.
    pub fn restore(&mut self) -> Result<(), String> {
        let rows = self.journal.read()?;
        let device = self.name.as_str().parse().expect("a device id");
        self.core = Node::restore(device, self.policy.clone(), rows);
        Ok(())
    }

    pub fn change_architecture(&mut self) {
        let is_arm = self.architecture == "arm64";
        self.architecture = if is_arm { "amd64" } else { "arm64" }.to_owned();
    }

    pub fn capabilities(&self) -> Capabilities {
        let labels = if self.labelled { r#""zone":"wet""# } else { "" };
        capabilities(self.name.as_str(), &self.architecture, labels)
    }

    /// The last accepted document of a deployment.
    pub fn document(&self, id: &DeploymentId) -> Option<&[u8]> {
        match self.journal.get(&Key::Deployment(id.clone()))? {
            Row::Deployment(record) => Some(record.text.as_bytes()),
            Row::Meta(_) => None,
        }
    }

    /// The fingerprints in the last accepted document of a deployment.
    pub fn wanted_fingerprints(&self, id: &DeploymentId) -> BTreeSet<Digest> {
        let device = self.name.as_str().parse().expect("a device id");
        let plan = self.document(id).map(|it| Plan::read(id, &device, it));
        plan.and_then(Result::ok).map(|it| it.fingerprints()).unwrap_or_default()
    }

    /// The version of the component that an action is about.
    pub fn version_of(&self, action: &Action) -> Option<String> {
        self.core.subject(action).map(|it| it.1.properties.revision.to_string())
    }

    /// The deployments that are installed and healthy, according to the node.
    pub fn installed_ids(&self) -> BTreeSet<DeploymentId> {
        let well = |it: &&DeploymentId| {
            matches!(self.core.phase(it), Some(Phase::Installed { current_failure: None, .. }))
        };
        self.core.wanted().keys().filter(well).cloned().collect()
    }

    /// The device is reinstalled: no disk, no containers.
    pub fn wipe(&mut self) {
        self.journal = Journal::default();
        self.full_until = 0;
        self.engine.wipe();
        self.core = empty(&self.name, &self.policy);
        self.introduced = false;
    }

    /// The number of the report of `deployment` that is not acknowledged yet.
    pub fn owes(&self, deployment: &DeploymentId) -> Option<u64> {
        let id = deployment.to_string();
        let open = self.core.reports().into_iter().find(|it| it.deployment_id == id)?;
        open.colony.and_then(|it| it.report)
    }

    /// The manifest that it has.
    pub fn have(&self) -> Option<Have> {
        let version = self.core.version()?.get();
        let etag = self.core.etag().and_then(|it| it.trim_matches('"').parse::<Digest>().ok());
        Some(Have { version, etag })
    }
}

fn empty(name: &NodeName, policy: &Policy) -> Node {
    Node::restore(name.as_str().parse().expect("a device id"), policy.clone(), [])
}

/// The steps of a node, in the order of `colony-node/src/{brain,poll}.rs`.
pub trait NodeShell: Host {
    /// Executes one step; `false` if the process is dead after it.
    fn node_step(&mut self, node: usize, input: Input) -> bool {
        if !self.roles().nodes[node].process.up {
            return false;
        }
        let (role, transaction) = (Role::Node(node), Transaction::Node(node));
        let now = self.present(role);
        let device = &mut *self.roles_mut().nodes[node];
        let step = device.core.step(input, now);
        let write = device.write(&step);
        match self.commit(transaction, !write.is_empty()) {
            Outcome::Stored => {}
            Outcome::Refused => {
                self.fall_back(role);
                return true;
            }
            Outcome::Dies => {
                self.tear(node, write);
                self.die(role, "before it persisted");
                return false;
            }
        }
        let device = &mut *self.roles_mut().nodes[node];
        device.journal.commit(write);
        device.process.wake = step.wake;
        self.observe_node(node, &step);
        if !self.survives(transaction) {
            self.die(role, "after it persisted, before it acted");
            return false;
        }
        self.node_acts(node, step)
    }

    /// Restores the node from its disk.
    fn node_restore(&mut self, node: usize) {
        let device = &mut *self.roles_mut().nodes[node];
        if let Err(what) = device.restore() {
            let what = format!("node {}: {what}", device.name);
            self.breach(Breach::Journal, what);
        }
    }

    /// The process starts: it has only its disk.
    fn node_start(&mut self, node: usize) {
        let time = self.time();
        self.node_restore(node);
        let device = &mut *self.roles_mut().nodes[node];
        let clock = device.core.clock();
        device.process.rise(time, clock);
        device.introduced = false;
        self.node_begin(node);
    }

    /// Sends the core the capabilities and the present containers.
    fn node_begin(&mut self, node: usize) {
        let own = self.roles().nodes[node].capabilities();
        if self.node_step(node, Input::Capabilities(Box::new(own))) {
            self.node_look(node);
        }
    }

    /// Looks at the containers; `false` if the process is dead after it.
    fn node_look(&mut self, node: usize) -> bool {
        let device = &self.roles().nodes[node];
        if !device.process.up {
            return false;
        }
        let Some(containers) = device.engine.list(self.engine_time()) else { return true };
        let taken = self.present(Role::Node(node)).mono;
        self.node_step(node, Input::Observed { taken, containers })
    }

    /// Removes the images that are not needed, once there is a manifest.
    fn node_collect(&mut self, node: usize) {
        let device = &self.roles().nodes[node];
        if device.core.version().is_some() {
            let needed = device.core.needed();
            self.roles_mut().nodes[node].engine.collect(&needed);
        }
    }

    /// The poll to send.
    fn node_poll(&self, node: usize) -> ToLocal {
        ToLocal::Poll { node, have: self.roles().nodes[node].have() }
    }

    /// The reports that are not acknowledged.
    fn node_reports(&self, node: usize) -> Vec<ToLocal> {
        let reports = self.roles().nodes[node].core.reports().into_iter();
        reports.map(|it| ToLocal::Status { node, status: Box::new(it) }).collect()
    }

    fn node_receive(&mut self, node: usize, message: ToNode) {
        if !self.roles().nodes[node].process.up {
            return;
        }
        match message {
            ToNode::Answer { manifest, asks } => {
                // First, because a manifest may be refused, or not be stored.
                if asks.as_ref().is_some_and(|it| it.capabilities) {
                    self.roles_mut().nodes[node].introduced = false;
                }
                let alive = manifest.is_none_or(|it| self.node_manifest(node, &it));
                // Last, because it may refer to deployments of this manifest.
                if let Some(asks) = asks.filter(|_| alive) {
                    self.say(|it| {
                        format!("node {} is asked what it knows", it.roles().nodes[node].name)
                    });
                    self.node_step(node, Input::ReportsRequested(asks.deployments));
                }
            }
            ToNode::StatusTaken { deployment, report } => {
                self.say(|it| {
                    format!("node {} learns: report {report} taken", it.roles().nodes[node].name)
                });
                self.node_step(node, Input::Acked { deployment, report });
            }
            ToNode::CapabilitiesTaken => self.roles_mut().nodes[node].introduced = true,
        }
    }

    /// Accepts a manifest; `false` if the process died.
    fn node_manifest(&mut self, node: usize, manifest: &NodeManifest) -> bool {
        let etag = Some(manifest.etag.to_string());
        let check = self.roles().nodes[node].core.check(&manifest.bytes, etag.as_deref());
        let name = self.roles().nodes[node].name.clone();
        if let Err(rejection) = &check {
            self.say(|_| format!("node {name} refuses the answer: {rejection}"));
        }
        if !matches!(check, Ok(Some(_))) {
            return true;
        }
        self.say(|_| format!("node {name} takes manifest {}", words::version(manifest.version)));
        self.before_manifest(node, manifest);
        let documents = manifest.documents.iter().map(|it| (it.1, it.2.clone())).collect();
        let bytes = manifest.bytes.clone();
        self.node_step(node, Input::Manifest { bytes, etag, documents })
    }
}

impl<H: Host> NodeShell for H {}
