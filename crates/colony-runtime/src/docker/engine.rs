//! Docker and Podman as a container engine of the node.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use bollard::Docker;
use colony_core::attempt::Failure;
use colony_core::margo::{DeploymentId, Digest};
use colony_core::node::{Action, Container, Prepared};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::acting::Acting;
use crate::config::{Choice, Config, EngineInfo, EngineKind, Facts, PullProgress};
use crate::docker::api::{EngineApi, Info};
use crate::docker::connect::{self, Hints};
use crate::docker::health::watched::Watched;
use crate::docker::health::{Healths, watch};
use crate::docker::image::Use;
use crate::docker::pulls::Pulls;
use crate::docker::scope::Scope;
use crate::docker::survey::interference::Interference;
use crate::engine::Engine;
use crate::error::Error;
use crate::file;
use crate::job::Job;
use crate::logs::{LogPage, LogQuery};
use crate::news::News;
use crate::oci::archive::Archives;
use crate::oci::registry::Registry;

/// The Engine API of Docker or Podman. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Handle(Arc<DockerEngine>);

pub(crate) struct DockerEngine {
    pub(crate) config: Config,
    pub(crate) scope: Scope,
    pub(crate) docker: Docker,
    pub(crate) api: EngineApi,
    info: EngineInfo,
    pub(crate) facts: Facts,
    /// Where the engine keeps its images, if this process can see it.
    images_dir: String,
    pub(crate) rotate_logs: bool,
    pub(crate) registry: Arc<Registry>,
    pub(crate) archives: Archives,
    pub(crate) news: News,
    pub(crate) watched: Watched,
    pub(crate) health: Healths,
    pub(crate) acting: Acting,
    pub(crate) interference: Interference,
    pub(crate) pulls: Pulls,
    pub(crate) networking: Mutex<()>,
    pub(crate) noting: Mutex<()>,
}

/// Finds the engine and prepares the folder. Nothing on the engine changes.
pub(crate) async fn connect(
    choice: &Choice,
    config: Config,
    registry: Arc<Registry>,
) -> Result<Arc<dyn Engine>, Error> {
    let folder = |source| Error::Folder { path: config.dir.clone(), source };
    file::make_private(&config.dir).await.map_err(folder)?;
    let scope = Scope::open(config.node.clone(), &config.identity, &config.dir).await;
    let scope = scope.map_err(folder)?;
    let (docker, info) = connect::find(choice, &Hints::of_process()).await?;
    let api = EngineApi { socket: info.address.clone().into(), kind: info.kind };
    let described = api
        .info()
        .await
        .map_err(|it| Error::NoEngine { tried: vec![format!("{} ({it})", info.address)] })?;
    let archives = Archives::compose(registry.clone(), &config.dir);
    let engine = DockerEngine {
        docker,
        api,
        facts: facts(&described),
        rotate_logs: info.kind == EngineKind::Docker && described.logging_driver == "json-file",
        images_dir: described.docker_root_dir,
        info,
        config,
        scope,
        registry,
        archives,
        news: News::default(),
        watched: Watched::default(),
        health: Healths::default(),
        acting: Acting::default(),
        interference: Interference::default(),
        pulls: Pulls::default(),
        networking: Mutex::default(),
        noting: Mutex::default(),
    };
    Ok(Arc::new(Handle(Arc::new(engine))))
}

#[async_trait]
impl Engine for Handle {
    fn info(&self) -> &EngineInfo {
        &self.0.info
    }

    async fn ping(&self) -> Result<(), Error> {
        let address = &self.0.info.address;
        let answer = self.0.docker.ping().await;
        answer
            .map(|_| ())
            .map_err(|it| Error::Engine { address: address.clone(), source: Box::new(it) })
    }

    /// `Start` and `Stage` wait for what services depend on, so `run` must be
    /// running. Engine events of the deployment in the meantime cause no
    /// notification: the caller looks when the action has ended.
    async fn perform(&self, action: &Action, job: Option<&Job>) -> Result<Prepared, Failure> {
        let acting = self.0.acting.begin(action.deployment(), &self.0.news);
        let done = self.0.perform(action, job).await;
        acting.end();
        done
    }

    async fn observe(&self, known: &BTreeSet<DeploymentId>) -> Result<Vec<Container>, Failure> {
        self.0.scope.note(known);
        self.0.observe().await
    }

    async fn changed(&self) {
        self.0.news.since_look().await;
    }

    async fn run(&self, stop: CancellationToken) {
        watch::run(&self.0, stop).await;
    }

    async fn collect(&self, needed: &BTreeSet<Digest>) -> Result<(), Failure> {
        self.0.collect(needed).await
    }

    async fn logs(&self, deployment: &DeploymentId, query: &LogQuery) -> Result<LogPage, Failure> {
        self.0.logs(deployment, query).await
    }

    async fn facts(&self) -> Facts {
        let storage_bytes = self.0.storage().map_or(0, |it| it.1);
        Facts { storage_bytes, ..self.0.facts.clone() }
    }

    fn progress(&self) -> Vec<PullProgress> {
        self.0.pulls.shown()
    }

    async fn pulling(&self) {
        self.0.pulls.begun().await;
    }
}

impl DockerEngine {
    async fn perform(&self, action: &Action, job: Option<&Job>) -> Result<Prepared, Failure> {
        match (action, job) {
            (Action::Prepare { refresh, .. }, Some(job)) => {
                return self.prepare(job, *refresh).await;
            }
            (Action::Start { .. }, Some(job)) => self.start(job).await?,
            (Action::Clear { deployment, component, keep, .. }, _) => {
                self.clear(deployment, component, *keep).await?;
            }
            (Action::Stage { .. }, Some(job)) => self.stage(job).await?,
            (Action::Unstage { deployment, component }, _) => {
                self.unstage(deployment, component).await?;
            }
            (Action::Remove { deployment }, _) => self.remove(deployment).await?,
            // These have a job, or its absence was an error.
            (Action::Prepare { .. } | Action::Start { .. } | Action::Stage { .. }, None) => {}
        }
        Ok(Prepared::default())
    }

    /// Returns the services that should keep running, so without those that run
    /// to completion.
    async fn prepare(&self, job: &Job, refresh: bool) -> Result<Prepared, Failure> {
        if refresh {
            self.archives.refresh(job).await;
        }
        let project = self.archives.project(job).await?;
        let purpose = if refresh { Use::Refresh } else { Use::Prepare };
        self.images(&project, &job.deployment, purpose).await?;
        let outdated = refresh && self.is_outdated(job, &project).await?;
        let one_shots = project.one_shots();
        let lasting = project.services.keys().filter(|it| !one_shots.contains(it.as_str()));
        Ok(Prepared { services: lasting.cloned().collect(), outdated })
    }

    /// Free and total bytes where images are kept.
    pub(crate) fn storage(&self) -> Option<(u64, u64)> {
        let images = Path::new(&self.images_dir);
        let place = if images.is_dir() { images } else { &self.config.dir };
        let found = rustix::fs::statvfs(place).ok()?;
        Some((found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize))
    }
}

fn facts(info: &Info) -> Facts {
    let os = [&info.operating_system, &info.os_type].into_iter().find(|it| !it.is_empty());
    Facts {
        cpus: f64::from(info.cpus),
        architecture: info.architecture.clone(),
        memory_bytes: info.mem_total,
        storage_bytes: 0,
        os: os.cloned().unwrap_or_default(),
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for DockerEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DockerEngine")
            .field("node", &self.config.node)
            .field("engine", &self.info)
            .finish_non_exhaustive()
    }
}
