//! One container: how long it runs, and its health.

use std::time::Duration;

use colony_core::code::Code;
use colony_core::margo::{ComponentName, DeploymentId, Digest};
use colony_core::node::{Container, Health, Status};

use crate::engine::behaviour::Behaviour;

/// How long a flapping health check keeps its result.
const FLAP: u64 = 25_000;

/// How quickly workloads show their behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// How long a workload runs that exits.
    pub exits_after: Duration,
    /// Versions with an even last digit have a health check.
    pub health_checks: bool,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { exits_after: Duration::from_secs(3), health_checks: true }
    }
}

/// The slot of a container: the active one, or the staged one beside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot {
    pub(super) deployment: DeploymentId,
    pub(super) component: ComponentName,
    pub(super) staged: bool,
}

impl Slot {
    pub(super) fn new(deployment: &DeploymentId, component: &ComponentName, staged: bool) -> Slot {
        Slot { deployment: deployment.clone(), component: component.clone(), staged }
    }
}

/// What was started in a slot.
#[derive(Debug, Clone)]
pub(super) struct Workload {
    pub(super) fingerprint: Digest,
    pub(super) version: String,
    /// The virtual time of its start.
    pub(super) started: u64,
    pub(super) run: u64,
    pub(super) killed: bool,
}

impl Workload {
    pub(super) fn behaviour(&self) -> Behaviour {
        Behaviour::of(&self.version)
    }

    pub(super) fn has_ended(&self, now: u64, pace: Pace) -> bool {
        let age = Duration::from_millis(now - self.started);
        self.killed || (self.behaviour() == Behaviour::Exits && age >= pace.exits_after)
    }

    pub(super) fn is_well(&self, now: u64, pace: Pace) -> bool {
        self.behaviour() == Behaviour::Good && !self.has_ended(now, pace)
    }

    pub(super) fn show(&self, slot: &Slot, now: u64, pace: Pace, flaps: bool) -> Container {
        let ended = self.has_ended(now, pace);
        Container {
            deployment: slot.deployment.clone(),
            component: slot.component.clone(),
            fingerprint: self.fingerprint,
            staged: slot.staged,
            service: "web".to_owned(),
            run: self.run.to_string(),
            status: if ended { Status::Exited { code: 1 } } else { Status::Running },
            health: self.health(now, pace, flaps),
            log: if ended { vec!["fatal: giving up".to_owned()] } else { Vec::new() },
        }
    }

    fn health(&self, now: u64, pace: Pace, flaps: bool) -> Health {
        let age = now - self.started;
        let bad = self.behaviour() == Behaviour::Unhealthy || flaps && (now / FLAP) % 2 == 1;
        let checked = pace.health_checks && Behaviour::has_check(&self.version);
        match age {
            _ if self.behaviour() == Behaviour::Undecided => Health::Starting,
            _ if !bad && !checked => Health::None,
            0..2_000 => Health::Starting,
            2_000..10_000 if bad => Health::Starting,
            _ if bad => Health::Unhealthy { code: Code::Unhealthy, detail: "GET / 500".to_owned() },
            _ => Health::Healthy,
        }
    }
}
