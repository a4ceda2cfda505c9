//! The state shared by all services of one start.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use colony_core::attempt::Failure;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::compose::{Attachment, Project, Service};
use crate::containers::api::Endpoint;
use crate::containers::component::twice;
use crate::containers::engine::ContainerEngine;
use crate::containers::survey::ObservedContainer;
use crate::job::Job;

/// How long services may wait for each other, if the component has no timeout.
const PATIENCE: Duration = Duration::from_secs(600);

/// The engine's names, by the names of a project.
pub(crate) type Names = BTreeMap<String, String>;

#[derive(Debug)]
pub(crate) struct Work<'a> {
    pub(crate) job: &'a Job,
    pub(crate) project: &'a Project,
    /// The engine's names of networks and volumes.
    networks: Names,
    pub(crate) volumes: Names,
    /// Containers that were there before, by service.
    pub(crate) before: BTreeMap<String, ObservedContainer>,
    still: BTreeSet<&'a str>,
    places: Mutex<BTreeMap<String, ServiceContainer>>,
    pub(crate) deadline: Instant,
}

/// The container of a service.
#[derive(Debug, Clone)]
pub(crate) struct ServiceContainer {
    pub(crate) id: String,
    pub(crate) state: State,
    /// It has a health check.
    pub(crate) checked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It is attached to its first network only.
    Made,
    Ended,
    /// It runs, has completed, or is not to be started.
    Done,
}

impl ContainerEngine {
    /// Looks at the existing containers, and ensures that the volumes exist.
    pub(crate) async fn work<'a>(
        &self,
        job: &'a Job,
        project: &'a Project,
        networks: &Names,
    ) -> Result<Work<'a>, Failure> {
        let survey = async {
            let seen = self.survey(Some(&job.deployment)).await;
            seen.map_err(|it| it.failed("look at the containers"))
        };
        let (volumes, seen) = tokio::try_join!(self.volumes(job, project), survey)?;
        let ours = seen
            .into_iter()
            .filter(|it| it.owner.component == job.component && it.owner.fingerprint == job.mark());
        let timeout = job.subject.component.properties.timeout.map(|it| it.duration());
        let still = if job.staged { twice::still(&project.services) } else { BTreeSet::new() };
        Ok(Work {
            job,
            project,
            networks: networks.clone(),
            volumes,
            before: ours.map(|it| (it.owner.service.clone(), it)).collect(),
            still,
            places: Mutex::default(),
            deadline: Instant::now() + timeout.unwrap_or(PATIENCE),
        })
    }
}

impl Work<'_> {
    pub(crate) fn note(&self, service: &str, place: ServiceContainer) {
        self.places.lock().insert(service.to_owned(), place);
    }

    pub(crate) fn place(&self, service: &str) -> Option<ServiceContainer> {
        self.places.lock().get(service).cloned()
    }

    /// The service's networks, the one with the highest priority first.
    pub(crate) fn networks_of(&self, name: &str, service: &Service) -> Vec<Endpoint> {
        let attachments = service.networks.iter().filter_map(|(network, attachment)| {
            let called = self.networks.get(network)?.clone();
            let mut aliases = vec![name.to_owned()];
            aliases.extend(attachment.aliases.iter().filter(|it| *it != name).cloned());
            let aliases = if self.is_foreign(network) { Vec::new() } else { aliases };
            let mut attachment = Attachment { aliases, ..attachment.clone() };
            if self.job.staged {
                // The active container has them.
                attachment.ipv4_address = None;
                attachment.ipv6_address = None;
                attachment.link_local_ips = Vec::new();
            }
            Some(Endpoint { network: called, attachment })
        });
        let mut endpoints: Vec<Endpoint> = attachments.collect();
        endpoints.sort_by_key(|it| std::cmp::Reverse(it.attachment.priority));
        endpoints
    }

    /// The engine's name of a network.
    pub(crate) fn network(&self, name: &str) -> Option<&str> {
        self.networks.get(name).map(String::as_str)
    }

    /// The network is shared with the active container, which must keep its
    /// names there: a staged one gets no aliases.
    fn is_foreign(&self, network: &str) -> bool {
        let external = self.project.networks.get(network).is_some_and(|it| it.external.is_some());
        self.job.staged && external
    }

    /// It is staged, and must not run a second time.
    pub(crate) fn must_not_start(&self, service: &str) -> bool {
        self.still.contains(service)
    }
}
