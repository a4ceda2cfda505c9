//! A container engine with the faults of real engines.
//!
//! Its containers and images survive the process of the node. The behaviour of
//! a workload depends on its version alone, see `Behaviour`.

mod behaviour;
mod container;

use std::collections::{BTreeMap, BTreeSet};

use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::margo::{ComponentName, DeploymentId, Digest};
use colony_core::node::{Action, Container, Prepared, staged};

pub use behaviour::Behaviour;
pub use container::Pace;
use container::{Slot, Workload};

/// How the registry of a site responds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    Open,
    Away,
    Denies,
}

/// The engine of one device.
#[derive(Debug, Clone, Default)]
pub struct Engine {
    workloads: BTreeMap<Slot, Workload>,
    images: BTreeMap<Digest, BTreeSet<String>>,
    /// The deployments that have a volume.
    volumes: BTreeSet<DeploymentId>,
    runs: u64,
    pace: Pace,
    /// Virtual time until which each fault lasts.
    pub down_until: u64,
    pub disk_full_until: u64,
    pub stubborn_until: u64,
    pub port_taken_until: u64,
    /// Health checks flap.
    pub flaps_until: u64,
    /// The health checks of active containers flap.
    pub ails_until: u64,
    /// When a container was last killed from outside.
    pub killed_at: u64,
}

type Done = Result<Prepared, Failure>;

impl Engine {
    pub fn new(pace: Pace) -> Engine {
        Engine { pace, ..Engine::default() }
    }

    /// Executes an action at virtual time `now`; `version` is that of the
    /// component it is about.
    pub fn perform(
        &mut self,
        action: &Action,
        version: Option<&str>,
        now: u64,
        registry: Registry,
    ) -> Done {
        if now < self.down_until {
            return Err(Failure::new(Code::EngineUnavailable, "the socket does not answer"));
        }
        match action {
            Action::Prepare { fingerprint, .. } => {
                self.prepare(*fingerprint, version, now, registry)
            }
            Action::Start { deployment, component, fingerprint } => {
                self.start(Slot::new(deployment, component, false), *fingerprint, version, now)
            }
            Action::Stage { deployment, component, fingerprint } => {
                let slot = Slot::new(deployment, component, true);
                self.start(slot, staged(*fingerprint), version, now)
            }
            Action::Unstage { deployment, component } => {
                self.clear(&Slot::new(deployment, component, true), None, now)
            }
            Action::Clear { deployment, component, keep, .. } => {
                self.clear(&Slot::new(deployment, component, false), *keep, now)
            }
            Action::Remove { deployment, purge, .. } => self.remove(deployment, *purge, now),
        }
    }

    fn prepare(
        &mut self,
        fingerprint: Digest,
        version: Option<&str>,
        now: u64,
        registry: Registry,
    ) -> Done {
        if let Some(services) = self.images.get(&fingerprint) {
            return Ok(Prepared { services: services.clone(), ..Prepared::default() });
        }
        let Some(version) = version else { return Err(superseded_failure()) };
        match registry {
            Registry::Open => {}
            Registry::Denies => {
                return Err(Failure::new(Code::RegistryDenied, "401: the token is refused"));
            }
            Registry::Away => {
                let slow = now.is_multiple_of(2);
                let code = if slow { Code::PullTimeout } else { Code::RegistryUnavailable };
                return Err(Failure::new(code, "no answer from the registry"));
            }
        }
        if now < self.disk_full_until {
            return Err(Failure::new(Code::DiskFull, "12 MiB free, 80 MiB needed"));
        }
        if let Some(flaw) = Behaviour::of(version).flaw() {
            return Err(flaw);
        }
        let services = BTreeSet::from(["web".to_owned()]);
        self.images.insert(fingerprint, services.clone());
        Ok(Prepared { services, ..Prepared::default() })
    }

    fn start(&mut self, slot: Slot, fingerprint: Digest, version: Option<&str>, now: u64) -> Done {
        let Some(version) = version else { return Err(superseded_failure()) };
        let runs = |it: &Workload| it.fingerprint == fingerprint && !it.has_ended(now, self.pace);
        if self.workloads.get(&slot).is_some_and(runs) {
            return Ok(Prepared::default());
        }
        if now < self.port_taken_until {
            return Err(Failure::new(Code::PortInUse, "port 80 is taken"));
        }
        self.runs += 1;
        self.volumes.insert(slot.deployment.clone());
        let (version, run) = (version.to_owned(), self.runs);
        let workload = Workload { fingerprint, version, started: now, run, killed: false };
        self.workloads.insert(slot, workload);
        Ok(Prepared::default())
    }

    fn clear(&mut self, slot: &Slot, keep: Option<Digest>, now: u64) -> Done {
        if now < self.stubborn_until {
            return Err(Failure::new(Code::EngineError, "device or resource busy"));
        }
        if self.workloads.get(slot).is_some_and(|it| Some(it.fingerprint) != keep) {
            self.workloads.remove(slot);
        }
        Ok(Prepared::default())
    }

    fn remove(&mut self, deployment: &DeploymentId, purge: bool, now: u64) -> Done {
        if now < self.stubborn_until {
            return Err(Failure::new(Code::EngineError, "device or resource busy"));
        }
        self.workloads.retain(|slot, _| slot.deployment != *deployment);
        if purge {
            self.volumes.remove(deployment);
        }
        Ok(Prepared::default())
    }

    /// The containers of this node, if the engine answers.
    pub fn list(&self, now: u64) -> Option<Vec<Container>> {
        if now < self.down_until {
            return None;
        }
        let ails = |slot: &Slot| !slot.staged && now < self.ails_until;
        let flaps = |slot: &Slot| now < self.flaps_until || ails(slot);
        let show = |(slot, it): (&Slot, &Workload)| it.show(slot, now, self.pace, flaps(slot));
        Some(self.workloads.iter().map(show).collect())
    }

    /// Healthy containers, by deployment.
    pub fn running(&self, now: u64) -> BTreeMap<DeploymentId, String> {
        let well = self.workloads.iter().filter(|it| !it.0.staged && it.1.is_well(now, self.pace));
        well.map(|(slot, it)| (slot.deployment.clone(), it.version.clone())).collect()
    }

    /// The version in the active or in the staged slot, healthy or not.
    pub fn version(&self, deployment: &DeploymentId, staged: bool) -> Option<&str> {
        let mut all = self.workloads.iter();
        let own = all.find(|it| it.0.deployment == *deployment && it.0.staged == staged);
        own.map(|it| it.1.version.as_str())
    }

    /// The current run of each deployment: changes with every restart.
    pub fn runs(&self) -> BTreeMap<DeploymentId, (Digest, u64)> {
        let active = self.workloads.iter().filter(|it| !it.0.staged);
        active.map(|(slot, it)| (slot.deployment.clone(), (it.fingerprint, it.run))).collect()
    }

    /// The deployments with a staged container.
    pub fn staged(&self) -> BTreeSet<DeploymentId> {
        self.workloads.keys().filter(|it| it.staged).map(|it| it.deployment.clone()).collect()
    }

    pub fn deployments(&self) -> BTreeSet<DeploymentId> {
        self.workloads.keys().map(|it| it.deployment.clone()).collect()
    }

    pub fn has_volume(&self, deployment: &DeploymentId) -> bool {
        self.volumes.contains(deployment)
    }

    /// A healthy container made from one of `wanted`.
    pub fn runs_well(
        &self,
        deployment: &DeploymentId,
        component: &ComponentName,
        wanted: &BTreeSet<Digest>,
        now: u64,
    ) -> Option<Digest> {
        let it = self.workloads.get(&Slot::new(deployment, component, false))?;
        (it.is_well(now, self.pace) && wanted.contains(&it.fingerprint)).then_some(it.fingerprint)
    }

    /// No fault of the engine existed at `since` or later.
    pub fn sound_since(&self, since: u64) -> bool {
        let faults = [self.down_until, self.disk_full_until, self.stubborn_until];
        let more = [self.port_taken_until, self.flaps_until, self.ails_until];
        faults.iter().chain(&more).all(|it| *it <= since)
    }

    /// Every fault ends.
    pub fn mend(&mut self, now: u64) {
        (self.down_until, self.disk_full_until, self.stubborn_until) = (now, now, now);
        (self.port_taken_until, self.flaps_until, self.ails_until) = (now, now, now);
    }

    /// The device or its engine restarts: every container has ended.
    pub fn power_cycle(&mut self) {
        self.workloads.values_mut().for_each(|it| it.killed = true);
    }

    /// All containers of the deployment have a version that stays healthy.
    pub fn is_good(&self, deployment: &DeploymentId) -> bool {
        let mut own = self.workloads.iter().filter(|it| it.0.deployment == *deployment);
        own.all(|it| it.1.behaviour() == Behaviour::Good)
    }

    /// A container is killed from outside.
    pub fn kill(&mut self, index: u64, now: u64) -> bool {
        self.killed_at = now;
        let count = self.workloads.len() as u64;
        let nth = usize::try_from(index.checked_rem(count).unwrap_or(0)).unwrap_or(0);
        self.workloads.values_mut().nth(nth).map(|it| it.killed = true).is_some()
    }

    /// A container has not ended.
    pub fn is_busy(&self, now: u64) -> bool {
        self.workloads.values().any(|it| !it.has_ended(now, self.pace))
    }

    /// The device is reinstalled.
    pub fn wipe(&mut self) {
        self.workloads.clear();
        self.images.clear();
        self.volumes.clear();
    }

    /// Removes images that are not needed.
    pub fn collect(&mut self, needed: &BTreeSet<Digest>) {
        self.images.retain(|it, _| needed.contains(it));
    }
}

fn superseded_failure() -> Failure {
    Failure::new(Code::EngineError, "the document is no longer wanted")
}
