//! The container engine of one device: it outlives the node's process.
//!
//! What a workload does depends on its version alone: see `Behaviour`.

use std::collections::{BTreeMap, BTreeSet};

use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::node::{Action, Container, Health, Prepared, Status, staged};
use colony_margo::{ComponentName, DeploymentId, Digest};

/// What a revision does when it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behaviour {
    Good,
    /// Ends as soon as it is started.
    Exits,
    /// Its image does not exist.
    Missing,
}

impl Behaviour {
    /// The last digit of the version decides.
    fn of(version: &str) -> Behaviour {
        match version.bytes().last() {
            Some(b'6') => Behaviour::Exits,
            Some(b'8') => Behaviour::Missing,
            _ => Behaviour::Good,
        }
    }
}

/// Containers and images of one device.
#[derive(Debug, Clone, Default)]
pub(crate) struct Engine {
    boxes: BTreeMap<Slot, Running>,
    images: BTreeSet<Digest>,
    runs: u64,
}

/// Where a container stands; what is staged stands beside what is active.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Slot {
    deployment: DeploymentId,
    component: ComponentName,
    staged: bool,
}

impl Slot {
    fn new(deployment: &DeploymentId, component: &ComponentName, staged: bool) -> Slot {
        Slot { deployment: deployment.clone(), component: component.clone(), staged }
    }
}

#[derive(Debug, Clone)]
struct Running {
    fingerprint: Digest,
    version: String,
    run: u64,
    ended: bool,
}

type Done = Result<Prepared, Failure>;

impl Engine {
    /// Carries an action out; `version` is that of the component it is about.
    pub(crate) fn perform(&mut self, action: &Action, version: Option<&str>) -> Done {
        match action {
            Action::Prepare { fingerprint, .. } => self.prepare(*fingerprint, version),
            Action::Start { deployment, component, fingerprint } => {
                self.start(Slot::new(deployment, component, false), *fingerprint, version)
            }
            Action::Stage { deployment, component, fingerprint } => {
                self.start(Slot::new(deployment, component, true), staged(*fingerprint), version)
            }
            Action::Unstage { deployment, component } => {
                self.clear(&Slot::new(deployment, component, true), None)
            }
            Action::Clear { deployment, component, keep } => {
                self.clear(&Slot::new(deployment, component, false), *keep)
            }
            Action::Remove { deployment } => {
                self.boxes.retain(|slot, _| slot.deployment != *deployment);
                Ok(Prepared::default())
            }
        }
    }

    fn prepare(&mut self, fingerprint: Digest, version: Option<&str>) -> Done {
        let version = version.ok_or_else(gone)?;
        if Behaviour::of(version) == Behaviour::Missing {
            return Err(Failure::new(Code::ImageMissing, "manifest unknown"));
        }
        self.images.insert(fingerprint);
        Ok(Prepared { services: BTreeSet::from(["web".to_owned()]), ..Prepared::default() })
    }

    fn clear(&mut self, slot: &Slot, keep: Option<Digest>) -> Done {
        if self.boxes.get(slot).is_some_and(|it| Some(it.fingerprint) != keep) {
            self.boxes.remove(slot);
        }
        Ok(Prepared::default())
    }

    fn start(&mut self, slot: Slot, fingerprint: Digest, version: Option<&str>) -> Done {
        let version = version.ok_or_else(gone)?.to_owned();
        let runs = |it: &Running| it.fingerprint == fingerprint && !it.ended;
        if self.boxes.get(&slot).is_some_and(runs) {
            return Ok(Prepared::default());
        }
        self.runs += 1;
        let ended = Behaviour::of(&version) == Behaviour::Exits;
        self.boxes.insert(slot, Running { fingerprint, version, run: self.runs, ended });
        Ok(Prepared::default())
    }

    /// What the engine shows of this node's containers.
    pub(crate) fn list(&self) -> Vec<Container> {
        self.boxes.iter().map(|(slot, it)| it.show(slot)).collect()
    }

    /// The version of a deployment that is active and runs well.
    pub(crate) fn running(&self, deployment: &DeploymentId) -> Option<&str> {
        let is_active = |it: &Slot| it.deployment == *deployment && !it.staged;
        let own = self.boxes.iter().find(|it| is_active(it.0) && !it.1.ended);
        own.map(|it| it.1.version.as_str())
    }

    /// The version of a deployment that stands in its place, well or not.
    pub(crate) fn active(&self, deployment: &DeploymentId) -> Option<&str> {
        let own = self.boxes.iter().find(|it| it.0.deployment == *deployment && !it.0.staged);
        own.map(|it| it.1.version.as_str())
    }

    /// The version of a deployment that stands beside what is active.
    pub(crate) fn staged(&self, deployment: &DeploymentId) -> Option<&str> {
        let own = self.boxes.iter().find(|it| it.0.deployment == *deployment && it.0.staged);
        own.map(|it| it.1.version.as_str())
    }

    pub(crate) fn has(&self, deployment: &DeploymentId) -> bool {
        self.boxes.keys().any(|it| it.deployment == *deployment)
    }

    /// Something outside ends every container; `false` if none ran.
    pub(crate) fn kill(&mut self) -> bool {
        let ran = self.boxes.values().any(|it| !it.ended);
        self.boxes.values_mut().for_each(|it| it.ended = true);
        ran
    }

    /// Forgets images nothing needs.
    pub(crate) fn collect(&mut self, needed: &BTreeSet<Digest>) {
        self.images.retain(|it| needed.contains(it));
    }
}

impl Running {
    fn show(&self, slot: &Slot) -> Container {
        Container {
            deployment: slot.deployment.clone(),
            component: slot.component.clone(),
            staged: slot.staged,
            fingerprint: self.fingerprint,
            service: "web".to_owned(),
            run: self.run.to_string(),
            status: if self.ended { Status::Exited { code: 1 } } else { Status::Running },
            health: Health::None,
            log: Vec::new(),
        }
    }
}

fn gone() -> Failure {
    Failure::new(Code::EngineError, "the document is not wanted any more")
}
