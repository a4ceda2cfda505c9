//! One component in the last observation, compared with its plan.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use colony_margo::{ComponentName, Digest};

use crate::attempt::Failure;
use crate::code::Code;
use crate::document::Side;
use crate::node::decision::plan::Part;
use crate::node::engine::{Container, Health, Status};
use crate::time::Monotonic;

/// Since when which run of a service has been healthy.
pub(in crate::node) type HealthySince =
    BTreeMap<(ComponentName, Digest, String), (String, Monotonic)>;

/// The observed containers of one component.
#[derive(Debug)]
pub(in crate::node) struct ComponentObservation<'a> {
    pub(in crate::node) part: &'a Part,
    /// Known once the component was prepared.
    services: Option<&'a BTreeSet<String>>,
    own: BTreeMap<&'a str, &'a Container>,
    has_other_containers: bool,
}

impl<'a> ComponentObservation<'a> {
    pub(in crate::node) fn of(
        side: Side,
        part: &'a Part,
        services: &'a BTreeMap<Digest, BTreeSet<String>>,
        containers: &'a [Container],
    ) -> ComponentObservation<'a> {
        let services = services.get(&part.fingerprint);
        let mut observation = ComponentObservation {
            part,
            services,
            own: BTreeMap::new(),
            has_other_containers: false,
        };
        let label = side.label(part);
        for container in side.of(containers).filter(|it| it.component == part.component) {
            if container.fingerprint == label {
                observation.keep_most_alive(container);
            } else {
                observation.has_other_containers = true;
            }
        }
        observation
    }

    fn keep_most_alive(&mut self, container: &'a Container) {
        let best = self.own.entry(&container.service).or_insert(container);
        if container.status < best.status {
            *best = container;
        }
    }

    /// There are containers with another fingerprint.
    pub(in crate::node) fn has_other_fingerprints(&self) -> bool {
        self.has_other_containers
    }

    /// Every service has a container that runs or is about to.
    pub(in crate::node) fn is_complete(&self) -> bool {
        self.services.is_some() && self.not_running().is_none()
    }

    /// A service that does not run, as a failure.
    pub(in crate::node) fn not_running(&self) -> Option<Failure> {
        self.ended().or_else(|| self.interfered())
    }

    /// A service whose container was stopped or removed from outside. A
    /// container that ended by itself stays until the node removes it, so a
    /// missing one was removed from outside.
    fn interfered(&self) -> Option<Failure> {
        let message = self.services().find_map(|it| match self.own.get(it) {
            None => Some(format!("the container of service `{it}` is gone")),
            Some(container) if container.status == Status::Stopped => {
                Some(format!("the container of service `{it}` was stopped from outside"))
            }
            Some(_) => None,
        })?;
        Some(self.failure(Code::Interference, message))
    }

    /// A service whose container has ended by itself, as a failure.
    pub(in crate::node) fn ended(&self) -> Option<Failure> {
        let container = self.expected().find(|it| it.has_ended())?;
        let service = &container.service;
        let message = match container.status {
            Status::Exited { code } => format!("service `{service}` exited with code {code}"),
            Status::Running | Status::Starting | Status::Stopped | Status::Dead => {
                format!("the engine gave up service `{service}`")
            }
        };
        let failure = self.failure(Code::Exited, message);
        Some(Failure { log: container.log.clone(), ..failure })
    }

    /// A service whose health check fails, as a failure.
    pub(in crate::node) fn unhealthy(&self) -> Option<Failure> {
        self.expected().find_map(|it| match &it.health {
            Health::Unhealthy { code, detail } => {
                let message = format!("service `{}`: {detail}", it.service);
                let failure = self.failure(code.clone(), message);
                Some(Failure { log: it.log.clone(), ..failure })
            }
            Health::None | Health::Starting | Health::Healthy => None,
        })
    }

    /// When every service has been healthy for the duration that `wait` returns
    /// for it, if nothing changes; `None` if something has to change first.
    pub(in crate::node) fn healthy_at(
        &self,
        healthy_since: &HealthySince,
        wait: impl Fn(&Container) -> Duration,
    ) -> Option<Monotonic> {
        self.services?;
        let each = self.services().map(|it| {
            let container = self.own.get(it).filter(|it| it.is_well())?;
            let (_, since) = healthy_since.get(&healthy_since_key(container))?;
            Some(since.after(wait(container)))
        });
        each.collect::<Option<Vec<Monotonic>>>().map(|it| it.into_iter().max().unwrap_or_default())
    }

    /// What a component that is not ready is waiting for.
    pub(in crate::node) fn lacks(&self) -> String {
        let each = self.services().filter_map(|it| Some((it, self.lack(it)?)));
        let texts: Vec<String> =
            each.map(|(name, lack)| format!("service `{name}` {lack}")).collect();
        texts.join(", ")
    }

    fn lack(&self, service: &str) -> Option<&'static str> {
        let Some(container) = self.own.get(service) else { return Some("has no container") };
        match (&container.status, &container.health) {
            (Status::Running, Health::None) => Some("keeps restarting"),
            (Status::Running, Health::Healthy) => None,
            (Status::Running, Health::Starting) => Some("is not healthy yet"),
            (Status::Running, Health::Unhealthy { .. }) => Some("is unhealthy"),
            (Status::Starting, _) => Some("is not running yet"),
            (Status::Stopped | Status::Exited { .. } | Status::Dead, _) => Some("has ended"),
        }
    }

    pub(in crate::node) fn failure(&self, code: Code, message: String) -> Failure {
        Failure { source: self.part.component.to_string(), ..Failure::new(code, message) }
    }

    fn services(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.services.into_iter().flatten().map(String::as_str)
    }

    /// The containers that belong to a service of the component.
    fn expected(&self) -> impl Iterator<Item = &'a Container> + use<'a, '_> {
        self.services().filter_map(|it| self.own.get(it).copied())
    }
}

/// Updates `steady` from an observation: a run that is still healthy keeps its
/// time.
pub(in crate::node) fn update_healthy_since(
    healthy_since: &mut HealthySince,
    containers: &[Container],
    now: Monotonic,
) {
    let well = containers.iter().filter(|it| it.is_well());
    let next = well.map(|it| {
        let key = healthy_since_key(it);
        let before = healthy_since.get(&key).filter(|(run, _)| *run == it.run);
        let since = before.map_or(now, |it| it.1);
        (key, (it.run.clone(), since))
    });
    *healthy_since = next.collect();
}

fn healthy_since_key(container: &Container) -> (ComponentName, Digest, String) {
    (container.component.clone(), container.fingerprint, container.service.clone())
}
