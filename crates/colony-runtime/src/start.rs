//! Starting the services of a component that do not run, in the order they
//! depend on each other. All are made first, so that a later one does not wait
//! for its making when its time has come.

use bollard::models::NetworkConnectRequest;
use bollard::query_parameters::StartContainerOptions;
use colony_core::attempt::Failure;
use colony_core::code::Code;
use futures_util::future::join_all;

use crate::body::endpoint;
use crate::compose::{Project, Service};
use crate::job::Job;
use crate::order;
use crate::runtime::Inner;
use crate::survey::Seen;
use crate::trouble::Trouble;
use crate::work::{Place, State, Work};

impl Inner {
    pub(crate) async fn start(&self, job: &Job) -> Result<(), Failure> {
        let project = self.project(job).await?;
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
            // All of a wave are brought to an end, so that no start is cut off.
            let wave = wave.iter().map(|it| self.start_service(&work, it));
            join_all(wave).await.into_iter().collect::<Result<(), Failure>>()?;
        }
        Ok(())
    }

    async fn start_service(&self, work: &Work<'_>, name: &str) -> Result<(), Failure> {
        let Some(service) = work.project.services.get(name) else { return Ok(()) };
        let Some(place) = work.place(name) else { return Ok(()) };
        if work.is_still(name) {
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

    /// Has the container in all of its networks but the first, which it was
    /// given at its creation.
    async fn connect(
        &self,
        work: &Work<'_>,
        name: &str,
        service: &Service,
        id: &str,
    ) -> Result<(), Failure> {
        for (network, aliases) in work.networks_of(name, service).iter().skip(1) {
            let request = NetworkConnectRequest {
                container: id.to_owned(),
                endpoint_config: Some(endpoint(aliases)),
            };
            let joined = self.docker.connect_network(network, request).await;
            joined.map_err(|it| {
                Trouble::from(it).failed(&format!("connect `{name}` to the network `{network}`"))
            })?;
        }
        Ok(())
    }

    /// A container that does not start is taken away again: a port that is in
    /// use today must not stay in the way of a new start.
    pub(crate) async fn start_container(&self, place: &Place, name: &str) -> Result<(), Failure> {
        let id = place.id.as_str();
        let started = self.docker.start_container(id, None::<StartContainerOptions>).await;
        let Err(error) = started else {
            self.welcome(place).await;
            return Ok(());
        };
        let trouble = Trouble::from(error);
        let failure = trouble.failed(&format!("start `{name}`"));
        if !matches!(trouble, Trouble::Down(_)) {
            let log = self.tail(id, 20).await.unwrap_or_default();
            let _ = self.remove_container(id).await;
            return Err(Failure { log, ..failure });
        }
        Err(failure)
    }

    /// Has it asked how it is, without waiting for a look. Which run it is
    /// only the engine can say.
    async fn welcome(&self, place: &Place) {
        if !place.checked {
            return;
        }
        let inspected = self.engine.inspect(&place.id).await.ok().flatten();
        inspected.and_then(Seen::of).inspect(|it| self.watched.add(it));
    }
}

pub(crate) fn waves(project: &Project) -> Result<Vec<Vec<&str>>, Failure> {
    order::waves(&project.services).map_err(|it| {
        let message = format!("services depend on each other in a circle: {}", it.join(", "));
        Failure::new(Code::InvalidConfig, message)
    })
}
