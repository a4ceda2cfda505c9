//! Creates the missing containers of a component. None is started.

use bollard::query_parameters::CreateContainerOptions;
use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::node::Status;
use futures_util::future::join_all;

use crate::compose::{Project, Service};
use crate::config::EngineKind;
use crate::docker::container::body::{Surroundings, body};
use crate::docker::container::work::{ServiceContainer, State, Work};
use crate::docker::engine::DockerEngine;
use crate::docker::engine_error::EngineError;
use crate::docker::health::ask;
use crate::docker::health::check::Check;
use crate::docker::image::Use;
use crate::docker::label::{self, Care, Owner, StartCondition};
use crate::docker::survey::ObservedContainer;
use crate::job::Job;

impl DockerEngine {
    /// Ensures that the networks, the volumes and a container for every service
    /// exist.
    pub(crate) async fn make<'a>(
        &self,
        job: &'a Job,
        project: &'a Project,
        waves: &[Vec<&str>],
    ) -> Result<Work<'a>, Failure> {
        let names = &self.network_names(job, project).await?;
        let work = || self.work(job, project, names);
        if self.api.kind == EngineKind::Podman {
            // Podman needs the network before the container, and creates it
            // quickly.
            let (_, work) = tokio::try_join!(self.networks(job, project, names), work())?;
            return self.containers(&work, waves).await.map(|()| work);
        }
        // Docker looks up the network when the container starts, and creates it
        // slowly: networks and containers are created concurrently.
        let beside = async {
            let work = work().await?;
            self.containers(&work, waves).await.map(|()| work)
        };
        match tokio::join!(self.networks(job, project, names), beside) {
            (Err(failure), _) => Err(failure),
            // The container may have failed because its network was missing.
            (Ok(true), Err(_)) => {
                let work = work().await?;
                self.containers(&work, waves).await.map(|()| work)
            }
            (Ok(_), made) => made,
        }
    }

    async fn containers(&self, work: &Work<'_>, waves: &[Vec<&str>]) -> Result<(), Failure> {
        let all = waves.iter().enumerate();
        let all = all.flat_map(|(order, wave)| wave.iter().map(move |it| (*it, order)));
        // Waits for all of them, so that no creation is interrupted.
        let all = join_all(all.map(|(name, order)| self.container(work, name, order))).await;
        all.into_iter().collect()
    }

    async fn container(&self, work: &Work<'_>, name: &str, order: usize) -> Result<(), Failure> {
        let still = work.must_not_start(name);
        let waits = if still { StartCondition::Turn } else { StartCondition::No };
        let place = match self.usable(work, name).await? {
            Some(place) => place,
            None => self.create(work, name, order, waits).await?,
        };
        let state = if still { State::Done } else { place.state };
        work.note(name, ServiceContainer { state, ..place });
        Ok(())
    }

    /// The existing container of the service, if it can be used.
    async fn usable(
        &self,
        work: &Work<'_>,
        name: &str,
    ) -> Result<Option<ServiceContainer>, Failure> {
        let Some(seen) = work.before.get(name) else { return Ok(None) };
        let done = work.project.one_shots().contains(name);
        match seen.status {
            Status::Running => Ok(Some(seen.place(State::Done))),
            Status::Starting if !seen.unborn => Ok(Some(seen.place(State::Done))),
            Status::Exited { code: 0 } if done => Ok(Some(seen.place(State::Done))),
            Status::Exited { .. } => Ok(Some(seen.place(State::Ended))),
            // A container that waits for its start was created completely.
            Status::Starting if seen.care.waits != StartCondition::No => {
                Ok(Some(seen.place(State::Made)))
            }
            // It may lack networks: its creation was interrupted at an unknown
            // point.
            Status::Starting | Status::Stopped | Status::Dead => {
                let removed = self.remove_container(&seen.id).await;
                removed.map_err(|it| it.failed(&format!("replace the container of `{name}`")))?;
                Ok(None)
            }
        }
    }

    pub(crate) async fn create(
        &self,
        work: &Work<'_>,
        name: &str,
        order: usize,
        waits: StartCondition,
    ) -> Result<ServiceContainer, Failure> {
        let service = &work.service(name)?;
        let image = self.image(service, Use::Start, &work.job.deployment).await?;
        let check = Check::of(service.healthcheck.as_ref(), image.check());
        let checked = check.is_some();
        let healthcheck = ask::config(self.api.kind, check.as_ref());
        let care = Care { waits, ..Care::new(order, service.stop_grace_period, check) };
        let mut labels = self.scope.container(&Owner::of(work.job, name), &care);
        let archive = self.archives.digest(&work.job.fingerprint).await;
        labels.extend(archive.map(|it| (label::ARCHIVE.to_owned(), it)));
        let around = Surroundings {
            environment: &self.config.environment,
            labels,
            networks: &work.networks_of(name, service),
            volumes: &work.volumes,
            configs: &self.configs(work, name, service).await?,
            rotate_logs: self.rotate_logs,
            copy_up: !work.job.staged,
            healthcheck,
        };
        let made = self.create_named(work.job, name, service, body(service, around)).await;
        let id = made.map_err(|it| it.failed(&format!("create the container of `{name}`")))?;
        Ok(ServiceContainer { id, state: State::Made, checked })
    }

    /// Two deployments may have the same display name; then the second name
    /// contains the id as well. A container that is to take over is created
    /// while the active one has either name; its name also contains a mark of
    /// its fingerprint.
    async fn create_named(
        &self,
        job: &Job,
        name: &str,
        service: &Service,
        body: bollard::models::ContainerCreateBody,
    ) -> Result<String, EngineError> {
        let (prefix, made_from) = (job.prefix(), self.scope.mark(&job.mark().to_string()));
        let parts =
            [&prefix, job.component.as_str(), name, job.deployment.as_str(), made_from.as_str()];
        let platform = service.platform.clone().unwrap_or_default();
        let create = |parts: &[&str]| {
            let name = Some(self.scope.name(parts));
            let options = CreateContainerOptions { name, platform: platform.clone() };
            self.docker.create_container(Some(options), body.clone())
        };
        for few in [&parts[..3], &parts[..4]] {
            match create(few).await.map_err(EngineError::from) {
                Err(trouble) if trouble.is_conflict() => {}
                made => return Ok(made?.id),
            }
        }
        Ok(create(&parts).await?.id)
    }
}

impl ObservedContainer {
    pub(crate) fn place(&self, state: State) -> ServiceContainer {
        ServiceContainer { id: self.id.clone(), state, checked: self.care.check.is_some() }
    }
}

impl Work<'_> {
    /// The service as created here: a staged one publishes no ports of the
    /// host.
    fn service(&self, name: &str) -> Result<Service, Failure> {
        let service = self.project.services.get(name).cloned().ok_or_else(|| {
            Failure::new(Code::InvalidConfig, format!("there is no service `{name}`"))
        })?;
        let ports = if self.job.staged { Vec::new() } else { service.ports.clone() };
        Ok(Service { ports, ..service })
    }
}
