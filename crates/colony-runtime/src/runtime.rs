//! The runtime: one engine, one node.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use bollard::Docker;
use colony_core::attempt::Failure;
use colony_core::margo::{DeploymentId, Digest};
use colony_core::node::{Action, Container, Prepared};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::acting::Acting;
use crate::config::{Config, EngineInfo, Facts, PullProgress, Subject};
use crate::docker::connect::{self, Hints};
use crate::docker::engine::{Engine, Info};
use crate::docker::health::watched::Watched;
use crate::docker::health::{Healths, watch};
use crate::docker::image::Use;
use crate::docker::label;
use crate::docker::logs::{LogPage, LogQuery};
use crate::docker::pulls::Pulls;
use crate::docker::scope::Scope;
use crate::docker::survey::interference::Interference;
use crate::error::Error;
use crate::file;
use crate::job::Job;
use crate::news::News;
use crate::oci::registry::Registry;

/// The containers of one node on one engine. Cheap to clone.
#[derive(Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) scope: Scope,
    pub(crate) docker: Docker,
    pub(crate) engine: Engine,
    info: EngineInfo,
    pub(crate) facts: Facts,
    /// Where the engine keeps its images, if this process can see it.
    images_dir: String,
    pub(crate) rotate_logs: bool,
    pub(crate) registry: Registry,
    pub(crate) news: News,
    pub(crate) watched: Watched,
    pub(crate) health: Healths,
    pub(crate) acting: Acting,
    pub(crate) interference: Interference,
    pub(crate) pulls: Pulls,
    pub(crate) networking: Mutex<()>,
    pub(crate) noting: Mutex<()>,
}

impl Runtime {
    /// Finds the engine and prepares the folder. Nothing on the engine changes.
    pub async fn connect(config: Config) -> Result<Runtime, Error> {
        let folder = |source| Error::Folder { path: config.dir.clone(), source };
        file::make_private(&config.dir).await.map_err(folder)?;
        let scope = Scope::open(config.node.clone(), &config.identity, &config.dir).await;
        let scope = scope.map_err(folder)?;
        let (docker, info) = connect::find(&config.engine, &Hints::of_process()).await?;
        let engine = Engine { socket: info.socket.clone(), kind: info.kind };
        let told = engine.info().await.map_err(|it| Error::NoEngine {
            tried: vec![format!("{} ({it})", info.socket.display())],
        })?;
        let registry = Registry::new(config.registries.clone(), config.manager.clone());
        let inner = Inner {
            docker,
            engine,
            facts: facts(&told),
            rotate_logs: info.kind == "docker" && told.logging_driver == "json-file",
            images_dir: told.docker_root_dir,
            info,
            config,
            scope,
            registry,
            news: News::default(),
            watched: Watched::default(),
            health: Healths::default(),
            acting: Acting::default(),
            interference: Interference::default(),
            pulls: Pulls::default(),
            networking: Mutex::default(),
            noting: Mutex::default(),
        };
        Ok(Runtime { inner: Arc::new(inner) })
    }

    pub fn engine(&self) -> &EngineInfo {
        &self.inner.info
    }

    pub async fn ping(&self) -> Result<(), Error> {
        let socket = &self.inner.info.socket;
        let answer = self.inner.docker.ping().await;
        answer.map(|_| ()).map_err(|source| Error::Engine { socket: socket.clone(), source })
    }

    /// Reaches the goal of `action`. `Prepare`, `Start` and `Stage` need their
    /// subject. `Start` and `Stage` wait for what services depend on, so `run`
    /// must be running.
    /// Engine events of the deployment in the meantime cause no notification:
    /// the caller looks when the action has ended.
    pub async fn perform(
        &self,
        action: &Action,
        subject: Option<Subject>,
    ) -> Result<Prepared, Failure> {
        let acting = self.inner.acting.begin(action.deployment(), &self.inner.news);
        let done = self.inner.perform(action, subject).await;
        acting.end();
        done.map_err(|it| match it.source.is_empty() {
            true => Failure { source: label::place(action), ..it },
            false => it,
        })
    }

    /// All containers of this node. A container without an identity counts if
    /// its deployment is in `known`.
    pub async fn observe(&self, known: &BTreeSet<DeploymentId>) -> Result<Vec<Container>, Failure> {
        self.inner.scope.note(known);
        self.inner.observe().await
    }

    /// Resolves when the engine or a health check has reported something since
    /// the last look.
    pub async fn changed(&self) {
        self.inner.news.since_look().await;
    }

    /// Listens to the engine and runs health checks until `stop`.
    pub async fn run(&self, stop: CancellationToken) {
        watch::run(&self.inner, stop).await;
    }

    /// Removes archives, configurations and images that only fingerprints
    /// outside of `needed` use.
    pub async fn collect(&self, needed: &BTreeSet<Digest>) -> Result<(), Failure> {
        self.inner.collect(needed).await
    }

    /// The logs of the services of a deployment.
    pub async fn logs(
        &self,
        deployment: &DeploymentId,
        query: &LogQuery,
    ) -> Result<LogPage, Failure> {
        self.inner.logs(deployment, query).await
    }

    pub async fn facts(&self) -> Facts {
        let storage_bytes = self.inner.storage().map_or(0, |it| it.1);
        Facts { storage_bytes, ..self.inner.facts.clone() }
    }

    /// The images that are being fetched.
    pub fn progress(&self) -> Vec<PullProgress> {
        self.inner.pulls.shown()
    }

    /// Resolves when an image pull begins; one that began since the last call
    /// counts. For one waiter.
    pub async fn pulling(&self) {
        self.inner.pulls.begun().await;
    }
}

impl Inner {
    async fn perform(
        &self,
        action: &Action,
        subject: Option<Subject>,
    ) -> Result<Prepared, Failure> {
        let job = Job::of(action, subject)?;
        match (action, job) {
            (Action::Prepare { refresh, .. }, Some(job)) => {
                return self.prepare(&job, *refresh).await;
            }
            (Action::Start { .. }, Some(job)) => self.start(&job).await?,
            (Action::Clear { deployment, component, keep }, _) => {
                self.clear(deployment, component, *keep).await?;
            }
            (Action::Stage { .. }, Some(job)) => self.stage(&job).await?,
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
            self.archive_refresh(job).await;
        }
        let project = self.project(job).await?;
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

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("node", &self.config.node)
            .field("engine", &self.info)
            .finish_non_exhaustive()
    }
}
