//! Creates the missing containers of a component. None is started.

use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::node::Status;
use futures_util::future::join_all;

use crate::compose::{Project, Service};
use crate::containers::api::NewContainer;
use crate::containers::component::work::{ServiceContainer, State, Work};
use crate::containers::engine::ContainerEngine;
use crate::containers::engine_error::EngineError;
use crate::containers::health::check::Check;
use crate::containers::image::Use;
use crate::containers::label::{self, Care, Owner, StartCondition};
use crate::containers::survey::ObservedContainer;
use crate::job::Job;

impl ContainerEngine {
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
        if self.api.abilities().network_first {
            let (_, work) = tokio::try_join!(self.networks(job, project, names), work())?;
            return self.containers(&work, waves).await.map(|()| work);
        }
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
            // One that was ended from outside can be removed, but not started.
            Status::Exited { .. } | Status::Stopped if !self.api.abilities().starts_again => {
                self.keep_log(seen).await;
                self.make_room(name, seen).await
            }
            Status::Exited { .. } => Ok(Some(seen.place(State::Ended))),
            // A container that waits for its start was created completely.
            Status::Starting if seen.care.waits != StartCondition::No => {
                Ok(Some(seen.place(State::Made)))
            }
            // It may lack networks: its creation was interrupted at an unknown
            // point.
            Status::Starting | Status::Stopped | Status::Dead => self.make_room(name, seen).await,
        }
    }

    /// Removes a container that is to be replaced.
    async fn make_room(
        &self,
        name: &str,
        seen: &ObservedContainer,
    ) -> Result<Option<ServiceContainer>, Failure> {
        let removed = self.remove_container(&seen.id).await;
        let failed = |it: EngineError| it.failed(&format!("replace the container of `{name}`"));
        removed.map_err(failed).map(|()| None)
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
        let check = Check::of(service.healthcheck.as_ref(), image.check.as_ref());
        let ports = work.project.services.get(name).map(|it| it.ports.clone());
        let care = Care {
            waits,
            ports: ports.unwrap_or_default(),
            drain: work.job.drain(),
            ..Care::new(order, service.stop_grace_period, check.clone())
        };
        let mut labels = self.scope.container(&Owner::of(work.job, name), &care);
        let archive = self.archives.digest(&work.job.fingerprint).await;
        labels.extend(archive.map(|it| (label::ARCHIVE.to_owned(), it)));
        let new = NewContainer {
            names: self.names(work.job, name, service),
            service,
            environment: &self.config.environment,
            labels,
            networks: &work.networks_of(name, service),
            volumes: &work.volumes,
            configs: &self.configs(work, name, service).await?,
            copy_up: !work.job.staged,
            check: check.as_ref(),
        };
        let made = self.api.create(&new).await;
        let id = made.map_err(|it| not_created(name, service, &it))?;
        Ok(ServiceContainer { id, state: State::Made, checked: check.is_some() })
    }

    /// Two deployments may have the same display name; then the second name
    /// contains the id as well. A container that is to take over is created
    /// while the active one has either name; its name also contains a mark of
    /// its fingerprint. A name that the file gives is the only one.
    fn names(&self, job: &Job, service: &str, of: &Service) -> [String; 3] {
        if let Some(name) = &of.container_name {
            return [0, 1, 2].map(|_| name.clone());
        }
        let (prefix, made_from) = (job.prefix(), self.scope.mark(&job.mark().to_string()));
        let deployment = job.deployment.as_str();
        let parts = [&prefix, job.component.as_str(), service, deployment, made_from.as_str()];
        [3, 4, 5].map(|it| self.scope.name(&parts[..it]))
    }
}

/// A name that another container has is not the author's mistake: the container
/// may go.
fn not_created(name: &str, service: &Service, trouble: &EngineError) -> Failure {
    let failure = trouble.failed(&format!("create the container of `{name}`"));
    match &service.container_name {
        Some(taken) if trouble.is_conflict() => {
            let why = format!("another container of the engine has the name `{taken}`");
            Failure { message: format!("{why}: {}", failure.message), ..failure }
        }
        Some(_) | None => failure,
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
