//! Creating and starting the services of a component that are missing or
//! have ended, in the order they depend on each other.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bollard::models::NetworkConnectRequest;
use bollard::query_parameters::{CreateContainerOptions, StartContainerOptions};
use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::node::Status;
use futures_util::future::join_all;
use tokio::time::Instant;

use crate::ask;
use crate::body::{Surroundings, body, endpoint};
use crate::check::Check;
use crate::compose::{Project, Service};
use crate::image::Use;
use crate::job::Job;
use crate::label::{self, Care};
use crate::order;
use crate::runtime::Inner;
use crate::survey::Seen;
use crate::trouble::Trouble;

/// How long services may wait for each other, if the component does not say.
const PATIENCE: Duration = Duration::from_secs(600);

/// What all services of one start share.
#[derive(Debug)]
pub(crate) struct Stage<'a> {
    pub(crate) job: &'a Job,
    pub(crate) project: &'a Project,
    networks: BTreeMap<String, String>,
    volumes: BTreeMap<String, String>,
    /// Containers that were there before, by service.
    before: BTreeMap<String, Seen>,
    /// Ids of the containers, by service.
    ids: Mutex<BTreeMap<String, String>>,
    pub(crate) deadline: Instant,
}

impl Inner {
    pub(crate) async fn start(&self, job: &Job) -> Result<(), Failure> {
        let project = self.project(job).await?;
        let waves = order::waves(&project.services).map_err(|it| {
            let message = format!("services depend on each other in a circle: {}", it.join(", "));
            Failure::new(Code::InvalidConfig, message)
        })?;
        let stage = self.stage(job, &project).await?;
        for (order, wave) in waves.iter().enumerate() {
            // All of a wave are brought to an end, so that no start is cut off.
            let wave = wave.iter().map(|it| self.start_service(&stage, it, order));
            join_all(wave).await.into_iter().collect::<Result<(), Failure>>()?;
        }
        Ok(())
    }

    async fn stage<'a>(&self, job: &'a Job, project: &'a Project) -> Result<Stage<'a>, Failure> {
        let survey = async {
            let seen = self.survey(Some(&job.deployment)).await;
            seen.map_err(|it| it.failed("look at the containers"))
        };
        let (networks, volumes) = (self.networks(job, project), self.volumes(job, project));
        let (networks, volumes, seen) = tokio::try_join!(networks, volumes, survey)?;
        let ours = seen.into_iter().filter(|it| {
            it.owner.component == job.component && it.owner.fingerprint == job.fingerprint
        });
        let timeout = job.subject.component.properties.timeout.map(|it| it.duration());
        Ok(Stage {
            job,
            project,
            networks,
            volumes,
            before: ours.map(|it| (it.owner.service.clone(), it)).collect(),
            ids: Mutex::default(),
            deadline: Instant::now() + timeout.unwrap_or(PATIENCE),
        })
    }

    async fn start_service(
        &self,
        stage: &Stage<'_>,
        name: &str,
        order: usize,
    ) -> Result<(), Failure> {
        let Some(service) = stage.project.services.get(name) else { return Ok(()) };
        for (other, condition) in &service.depends_on {
            self.await_condition(stage, other, *condition).await?;
        }
        let id = match self.usable(stage, name).await? {
            Found::Runs(id) => id,
            Found::Ended(id) => {
                self.start_container(&id, name).await?;
                id
            }
            Found::Nothing => {
                let id = self.create(stage, name, service, order).await?;
                self.start_container(&id, name).await?;
                id
            }
        };
        stage.note(name, id);
        Ok(())
    }

    /// What of the service is there that can be used.
    async fn usable(&self, stage: &Stage<'_>, name: &str) -> Result<Found, Failure> {
        let Some(seen) = stage.before.get(name) else { return Ok(Found::Nothing) };
        let done = stage.project.one_shots().contains(name);
        match seen.status {
            Status::Running => Ok(Found::Runs(seen.id.clone())),
            Status::Starting if !seen.unborn => Ok(Found::Runs(seen.id.clone())),
            Status::Exited { code: 0 } if done => Ok(Found::Runs(seen.id.clone())),
            Status::Exited { .. } => Ok(Found::Ended(seen.id.clone())),
            // It may lack networks: nobody knows where its making was cut off.
            Status::Starting | Status::Dead => {
                let removed = self.remove_container(&seen.id).await;
                removed.map_err(|it| it.failed(&format!("replace the container of `{name}`")))?;
                Ok(Found::Nothing)
            }
        }
    }

    async fn create(
        &self,
        stage: &Stage<'_>,
        name: &str,
        service: &Service,
        order: usize,
    ) -> Result<String, Failure> {
        let image = self.image(service, Use::Start, &stage.job.deployment).await?;
        let check = Check::of(service.healthcheck.as_ref(), image.check());
        let healthcheck = ask::config(self.engine.kind, check.as_ref());
        let care = Care::new(order, service.stop_grace_period, check);
        let networks = stage.networks_of(name, service);
        let around = Surroundings {
            environment: &self.config.environment,
            labels: stage.job.owner(name).labels(&self.config.node, &care),
            networks: &networks,
            volumes: &stage.volumes,
            configs: &self.configs(stage, name, service).await?,
            rotate_logs: self.rotate_logs,
            healthcheck,
        };
        let body = body(service, around);
        let made = self.create_named(stage, name, service, body).await;
        let id = made.map_err(|it| it.failed(&format!("create the container of `{name}`")))?;
        for (network, aliases) in networks.iter().skip(1) {
            let request = NetworkConnectRequest {
                container: id.clone(),
                endpoint_config: Some(endpoint(aliases)),
            };
            let joined = self.docker.connect_network(network, request).await;
            joined.map_err(|it| {
                Trouble::from(it).failed(&format!("connect `{name}` to the network `{network}`"))
            })?;
        }
        Ok(id)
    }

    /// Two deployments may have one name for people; then the second is
    /// called by its id as well.
    async fn create_named(
        &self,
        stage: &Stage<'_>,
        name: &str,
        service: &Service,
        body: bollard::models::ContainerCreateBody,
    ) -> Result<String, Trouble> {
        let job = stage.job;
        let plain = [job.name(), job.component.as_str(), name];
        let full = [job.name(), job.component.as_str(), name, job.deployment.as_str()];
        let platform = service.platform.clone().unwrap_or_default();
        let create = |parts: &[&str]| {
            let name = Some(label::name(&self.config.node, parts));
            let options = CreateContainerOptions { name, platform: platform.clone() };
            self.docker.create_container(Some(options), body.clone())
        };
        match create(&plain).await.map_err(Trouble::from) {
            Err(trouble) if trouble.is_conflict() => Ok(create(&full).await?.id),
            made => Ok(made?.id),
        }
    }

    /// A container that does not start is taken away again: a port that is in
    /// use today must not stay in the way of a new start.
    async fn start_container(&self, id: &str, name: &str) -> Result<(), Failure> {
        let started = self.docker.start_container(id, None::<StartContainerOptions>).await;
        let Err(error) = started else {
            self.stir();
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
}

enum Found {
    Runs(String),
    Ended(String),
    Nothing,
}

impl Stage<'_> {
    fn note(&self, service: &str, id: String) {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.insert(service.to_owned(), id);
    }

    pub(crate) fn id(&self, service: &str) -> Option<String> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).get(service).cloned()
    }

    /// The engine's names of the service's networks, with its aliases there.
    fn networks_of(&self, name: &str, service: &Service) -> Vec<(String, Vec<String>)> {
        let attachments = service.networks.iter().filter_map(|(network, attachment)| {
            let called = self.networks.get(network)?.clone();
            let mut aliases = vec![name.to_owned()];
            aliases.extend(attachment.aliases.iter().filter(|it| *it != name).cloned());
            Some((called, aliases))
        });
        attachments.collect()
    }
}
