//! Starts the services of a component that do not run, in dependency order. All
//! containers are created before the first one is started, so that a dependent
//! service starts as soon as its dependency is ready.

use colony_core::attempt::Failure;
use colony_core::code::Code;
use futures_util::future::join_all;

use crate::compose::{Project, Service};
use crate::containers::component::order;
use crate::containers::component::work::{ServiceContainer, State, Work};
use crate::containers::engine::ContainerEngine;
use crate::containers::engine_error::EngineError;
use crate::containers::survey::ObservedContainer;
use crate::job::Job;

impl ContainerEngine {
    pub(crate) async fn start(&self, job: &Job) -> Result<(), Failure> {
        let project = self.archives.project(job).await?;
        let waves = waves(&project)?;
        self.start_all(job, &project, &waves).await
    }

    pub(crate) async fn start_all(
        &self,
        job: &Job,
        project: &Project,
        waves: &[Vec<&str>],
    ) -> Result<(), Failure> {
        let work = self.make(job, project, waves).await?;
        for wave in waves {
            // Waits for the whole wave, so that no start is interrupted.
            let wave = wave.iter().map(|it| self.start_service(&work, it));
            join_all(wave).await.into_iter().collect::<Result<(), Failure>>()?;
        }
        Ok(())
    }

    async fn start_service(&self, work: &Work<'_>, name: &str) -> Result<(), Failure> {
        let Some(service) = work.project.services.get(name) else { return Ok(()) };
        let Some(place) = work.place(name) else { return Ok(()) };
        if work.must_not_start(name) {
            return Ok(());
        }
        for (other, condition) in &service.depends_on {
            self.await_condition(work, other, *condition).await?;
        }
        match place.state {
            State::Done => Ok(()),
            State::Ended => self.start_container(&place, name).await,
            State::Made => {
                self.connect(work, name, service, &place.id).await?;
                self.start_container(&place, name).await
            }
        }
    }

    /// Attaches the container to all of its networks except the first, which
    /// was attached at its creation.
    async fn connect(
        &self,
        work: &Work<'_>,
        name: &str,
        service: &Service,
        id: &str,
    ) -> Result<(), Failure> {
        for endpoint in work.networks_of(name, service).iter().skip(1) {
            let joined = self.api.attach(id, endpoint).await;
            let doing = || format!("connect `{name}` to the network `{}`", endpoint.network);
            joined.map_err(|it| it.failed(&doing()))?;
        }
        Ok(())
    }

    /// A container that does not start is removed again: a port that was in use
    /// must not block a later start.
    pub(crate) async fn start_container(
        &self,
        place: &ServiceContainer,
        name: &str,
    ) -> Result<(), Failure> {
        let id = place.id.as_str();
        let Err(trouble) = self.api.start(id).await else {
            self.start_health_check(place).await;
            return Ok(());
        };
        let failure = trouble.failed(&format!("start `{name}`"));
        if !matches!(trouble, EngineError::Unavailable(_)) {
            let log = self.tail(id, 20).await.unwrap_or_default();
            let _ = self.remove_container(id).await;
            return Err(Failure { log, ..failure });
        }
        Err(failure)
    }

    /// Adds a started container to the health checks now, not at the next
    /// survey. Inspects it first, because only the engine knows the id of this
    /// run.
    async fn start_health_check(&self, place: &ServiceContainer) {
        if !place.checked {
            return;
        }
        let inspected = self.api.inspect(&place.id).await.ok().flatten();
        inspected.and_then(ObservedContainer::of).inspect(|it| self.watched.add(it));
    }
}

pub(crate) fn waves(project: &Project) -> Result<Vec<Vec<&str>>, Failure> {
    order::waves(&project.services).map_err(|it| {
        let message = format!("services depend on each other in a circle: {}", it.join(", "));
        Failure::new(Code::InvalidConfig, message)
    })
}
