//! A container engine that fails in the ways engines fail.
//!
//! What a workload does depends on its version alone, so that a story can
//! choose good and bad revisions: see `Behaviour`.

use std::collections::{BTreeMap, BTreeSet};

use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::node::{Action, Container, Health, Prepared, Status, staged};
use colony_margo::{ComponentName, DeploymentId, Digest};

/// How long a health check that comes and goes keeps its mind.
const FLAP: u64 = 25_000;

/// What a revision does when it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    Good,
    /// Ends three seconds after its start.
    Exits,
    /// Runs, but its health check never passes.
    Unhealthy,
    /// Its image does not exist.
    Missing,
    /// Its compose file uses a key nobody supports.
    Unsupported,
    /// Its archive breaks the rules.
    Broken,
    /// Its configuration cannot be applied.
    Misconfigured,
    /// Its health check neither passes nor fails.
    Undecided,
}

impl Behaviour {
    /// The last number of the version decides.
    pub(crate) fn of(version: &str) -> Behaviour {
        let last = version.rsplit('.').next().and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
        match last {
            6 => Behaviour::Exits,
            7 => Behaviour::Unhealthy,
            8 => Behaviour::Missing,
            9 => Behaviour::Unsupported,
            10 => Behaviour::Broken,
            11 => Behaviour::Misconfigured,
            12 => Behaviour::Undecided,
            _ => Behaviour::Good,
        }
    }

    /// Why nothing of it can be prepared, if that is so.
    fn flaw(self) -> Option<Failure> {
        let (code, message) = match self {
            Behaviour::Missing => (Code::ImageMissing, "manifest unknown"),
            Behaviour::Unsupported => {
                (Code::UnsupportedKey, "compose.yaml:7:5: services.web.devices is not supported")
            }
            Behaviour::Broken => (Code::ArchiveInvalid, "the archive has no compose.yaml"),
            Behaviour::Misconfigured => (Code::InvalidConfig, "`PORT` is not a number"),
            Behaviour::Good | Behaviour::Exits | Behaviour::Unhealthy | Behaviour::Undecided => {
                return None;
            }
        };
        Some(Failure::new(code, message))
    }

    /// Versions with an even last number have a health check.
    fn has_check(version: &str) -> bool {
        version.as_bytes().last().is_some_and(|it| it % 2 == 0)
    }
}

/// Where a container stands; `true` is beside the active one.
type Place = (DeploymentId, ComponentName, bool);

/// How the registry of a site answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registry {
    Open,
    Away,
    Denies,
}

/// The engine of one device: containers and images outlive the node process.
#[derive(Debug, Default)]
pub(crate) struct Engine {
    boxes: BTreeMap<Place, Box>,
    images: BTreeMap<Digest, BTreeSet<String>>,
    runs: u64,
    /// Virtual time until which each fault lasts.
    pub down_until: u64,
    pub disk_full_until: u64,
    pub stubborn_until: u64,
    pub port_taken_until: u64,
    /// Health checks come and go.
    pub flaps_until: u64,
    /// The same of what runs on while something stands beside it.
    pub ails_until: u64,
    /// When a container was last killed from outside.
    pub killed_at: u64,
}

#[derive(Debug, Clone)]
struct Box {
    fingerprint: Digest,
    version: String,
    started: u64,
    run: u64,
    killed: bool,
}

/// What the shell knows of an action's subject.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub version: String,
}

impl Engine {
    /// Carries an action out at virtual time `now`.
    pub(crate) fn perform(
        &mut self,
        action: &Action,
        subject: Option<&Subject>,
        now: u64,
        registry: Registry,
    ) -> Result<Prepared, Failure> {
        if now < self.down_until {
            return Err(Failure::new(Code::EngineUnavailable, "the socket does not answer"));
        }
        match action {
            Action::Prepare { fingerprint, .. } => {
                self.prepare(*fingerprint, subject, now, registry)
            }
            Action::Start { deployment, component, fingerprint } => {
                let place = (deployment.clone(), component.clone(), false);
                self.start(place, *fingerprint, subject, now)
            }
            Action::Stage { deployment, component, fingerprint } => {
                let place = (deployment.clone(), component.clone(), true);
                self.start(place, staged(*fingerprint), subject, now)
            }
            Action::Unstage { deployment, component } => {
                self.clear(&(deployment.clone(), component.clone(), true), None, now)
            }
            Action::Clear { deployment, component, keep } => {
                self.clear(&(deployment.clone(), component.clone(), false), *keep, now)
            }
            Action::Remove { deployment } => self.remove(deployment, now),
        }
    }

    fn prepare(
        &mut self,
        fingerprint: Digest,
        subject: Option<&Subject>,
        now: u64,
        registry: Registry,
    ) -> Result<Prepared, Failure> {
        if let Some(services) = self.images.get(&fingerprint) {
            return Ok(Prepared { services: services.clone(), ..Prepared::default() });
        }
        let Some(subject) = subject else { return Err(gone()) };
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
        if let Some(flaw) = Behaviour::of(&subject.version).flaw() {
            return Err(flaw);
        }
        let services = BTreeSet::from(["web".to_owned()]);
        self.images.insert(fingerprint, services.clone());
        Ok(Prepared { services, ..Prepared::default() })
    }

    fn start(
        &mut self,
        key: Place,
        fingerprint: Digest,
        subject: Option<&Subject>,
        now: u64,
    ) -> Result<Prepared, Failure> {
        let Some(subject) = subject else { return Err(gone()) };
        let runs = self
            .boxes
            .get(&key)
            .is_some_and(|it| it.fingerprint == fingerprint && !it.has_ended(now));
        if runs {
            return Ok(Prepared::default());
        }
        if now < self.port_taken_until {
            return Err(Failure::new(Code::PortInUse, "port 80 is taken"));
        }
        self.runs += 1;
        let (version, run) = (subject.version.clone(), self.runs);
        self.boxes.insert(key, Box { fingerprint, version, started: now, run, killed: false });
        Ok(Prepared::default())
    }

    fn clear(&mut self, key: &Place, keep: Option<Digest>, now: u64) -> Result<Prepared, Failure> {
        if now < self.stubborn_until {
            return Err(Failure::new(Code::EngineError, "device or resource busy"));
        }
        if self.boxes.get(key).is_some_and(|it| Some(it.fingerprint) != keep) {
            self.boxes.remove(key);
        }
        Ok(Prepared::default())
    }

    fn remove(&mut self, deployment: &DeploymentId, now: u64) -> Result<Prepared, Failure> {
        if now < self.stubborn_until {
            return Err(Failure::new(Code::EngineError, "device or resource busy"));
        }
        self.boxes.retain(|key, _| key.0 != *deployment);
        Ok(Prepared::default())
    }

    /// What the engine shows of this node's containers, if it answers.
    pub(crate) fn list(&self, now: u64) -> Option<Vec<Container>> {
        if now < self.down_until {
            return None;
        }
        let ails = |key: &Place| !key.2 && now < self.ails_until;
        let flaps = |key: &Place| now < self.flaps_until || ails(key);
        let show = |(key, it): (&Place, &Box)| it.show(key, now, flaps(key));
        Some(self.boxes.iter().map(show).collect())
    }

    /// Healthy containers, by deployment.
    pub(crate) fn running(&self, now: u64) -> BTreeMap<DeploymentId, String> {
        let well = self.boxes.iter().filter(|it| !it.0.2 && it.1.is_well(now));
        well.map(|(key, it)| (key.0.clone(), it.version.clone())).collect()
    }

    /// Which run of each deployment is there: changes with every restart.
    pub(crate) fn runs(&self) -> BTreeMap<DeploymentId, (Digest, u64)> {
        let active = self.boxes.iter().filter(|it| !it.0.2);
        active.map(|(key, it)| (key.0.clone(), (it.fingerprint, it.run))).collect()
    }

    /// Of which something stands beside.
    pub(crate) fn staged(&self) -> BTreeSet<DeploymentId> {
        self.boxes.keys().filter(|it| it.2).map(|it| it.0.clone()).collect()
    }

    pub(crate) fn deployments(&self) -> BTreeSet<DeploymentId> {
        self.boxes.keys().map(|it| it.0.clone()).collect()
    }

    /// A container that is well and made from one of `wanted`.
    pub(crate) fn runs_well(
        &self,
        deployment: &DeploymentId,
        component: &ComponentName,
        wanted: &BTreeSet<Digest>,
        now: u64,
    ) -> Option<Digest> {
        let it = self.boxes.get(&(deployment.clone(), component.clone(), false))?;
        (it.is_well(now) && wanted.contains(&it.fingerprint)).then_some(it.fingerprint)
    }

    /// No fault of the engine was there at `since` or later.
    pub(crate) fn sound_since(&self, since: u64) -> bool {
        let faults = [self.down_until, self.disk_full_until, self.stubborn_until];
        let more = [self.port_taken_until, self.flaps_until, self.ails_until];
        faults.iter().chain(&more).all(|it| *it <= since)
    }

    /// Every fault ends.
    pub(crate) fn mend(&mut self, now: u64) {
        (self.down_until, self.disk_full_until, self.stubborn_until) = (now, now, now);
        (self.port_taken_until, self.flaps_until, self.ails_until) = (now, now, now);
    }

    /// The device or its engine restarts: every container has ended.
    pub(crate) fn power_cycle(&mut self) {
        self.boxes.values_mut().for_each(|it| it.killed = true);
    }

    /// The deployment is one that stays well.
    pub(crate) fn is_good(&self, deployment: &DeploymentId) -> bool {
        let mut own = self.boxes.iter().filter(|it| it.0.0 == *deployment);
        own.all(|it| Behaviour::of(&it.1.version) == Behaviour::Good)
    }

    /// Something outside kills a container.
    pub(crate) fn kill(&mut self, index: u64, now: u64) -> bool {
        self.killed_at = now;
        let count = self.boxes.len() as u64;
        let nth = usize::try_from(index.checked_rem(count).unwrap_or(0)).unwrap_or(0);
        self.boxes.values_mut().nth(nth).map(|it| it.killed = true).is_some()
    }

    /// The device is set up anew.
    pub(crate) fn wipe(&mut self) {
        self.boxes.clear();
        self.images.clear();
    }

    /// Forgets images nothing needs.
    pub(crate) fn collect(&mut self, needed: &BTreeSet<Digest>) {
        self.images.retain(|it, _| needed.contains(it));
    }
}

impl Box {
    fn has_ended(&self, now: u64) -> bool {
        let exits = Behaviour::of(&self.version) == Behaviour::Exits;
        self.killed || (exits && now >= self.started + 3_000)
    }

    fn is_well(&self, now: u64) -> bool {
        Behaviour::of(&self.version) == Behaviour::Good && !self.has_ended(now)
    }

    fn show(&self, key: &Place, now: u64, flaps: bool) -> Container {
        let ended = self.has_ended(now);
        Container {
            deployment: key.0.clone(),
            component: key.1.clone(),
            fingerprint: self.fingerprint,
            staged: key.2,
            service: "web".to_owned(),
            run: self.run.to_string(),
            status: if ended { Status::Exited { code: 1 } } else { Status::Running },
            health: self.health(now, flaps),
            log: if ended { vec!["fatal: giving up".to_owned()] } else { Vec::new() },
        }
    }

    fn health(&self, now: u64, flaps: bool) -> Health {
        let age = now - self.started;
        let behaviour = Behaviour::of(&self.version);
        let bad = behaviour == Behaviour::Unhealthy || flaps && (now / FLAP) % 2 == 1;
        match age {
            _ if behaviour == Behaviour::Undecided => Health::Starting,
            _ if !bad && !Behaviour::has_check(&self.version) => Health::None,
            0..2_000 => Health::Starting,
            2_000..10_000 if bad => Health::Starting,
            _ if bad => Health::Unhealthy { detail: "GET / 500".to_owned() },
            _ => Health::Healthy,
        }
    }
}

fn gone() -> Failure {
    Failure::new(Code::EngineError, "the document is not wanted any more")
}
