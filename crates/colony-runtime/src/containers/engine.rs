//! A container engine that runs the services of compose files.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use colony_core::attempt::Failure;
use colony_core::margo::{DeploymentId, Digest};
use colony_core::node::{Action, Container, Prepared};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::acting::Acting;
use crate::config::{Config, EngineInfo, Facts, PullProgress};
use crate::containers::api::ContainerApi;
use crate::containers::health::watched::Watched;
use crate::containers::health::{Healths, watch};
use crate::containers::image::Use;
use crate::containers::pulls::Pulls;
use crate::containers::redirect::Redirects;
use crate::containers::scope::Scope;
use crate::containers::survey::interference::Interference;
use crate::engine::Engine;
use crate::error::Error;
use crate::file;
use crate::job::Job;
use crate::logs::{LogPage, LogQuery};
use crate::news::News;
use crate::oci::archive::Archives;
use crate::oci::registry::Registry;

/// The engine with its tasks. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Handle(Arc<ContainerEngine>);

pub(crate) struct ContainerEngine {
    pub(crate) config: Config,
    pub(crate) scope: Scope,
    pub(crate) api: Arc<dyn ContainerApi>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) archives: Archives,
    pub(crate) news: News,
    pub(crate) watched: Watched,
    pub(crate) health: Healths,
    pub(crate) acting: Acting,
    pub(crate) interference: Interference,
    pub(crate) pulls: Pulls,
    pub(crate) redirects: Redirects,
    pub(crate) networking: Mutex<()>,
    pub(crate) noting: Mutex<()>,
}

/// Prepares the folder. Nothing on the engine changes.
pub(crate) async fn open(
    api: Arc<dyn ContainerApi>,
    config: Config,
    registry: Arc<Registry>,
) -> Result<Arc<dyn Engine>, Error> {
    let folder = |source| Error::Folder { path: config.dir.clone(), source };
    file::make_private(&config.dir).await.map_err(folder)?;
    let scope = Scope::open(config.node.clone(), &config.identity, &config.dir).await;
    let scope = scope.map_err(folder)?;
    let archives = Archives::compose(registry.clone(), &config, api.info().kind);
    let engine = ContainerEngine {
        api,
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
        redirects: Redirects::default(),
        networking: Mutex::default(),
        noting: Mutex::default(),
    };
    Ok(Arc::new(Handle(Arc::new(engine))))
}

#[async_trait]
impl Engine for Handle {
    fn info(&self) -> &EngineInfo {
        self.0.api.info()
    }

    async fn ping(&self) -> Result<(), Error> {
        let address = self.info().address.clone();
        self.0.api.ping().await.map_err(|it| Error::Engine { address, source: Box::new(it) })
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
        Facts { storage_bytes, ..self.0.api.facts().clone() }
    }

    fn problems(&self) -> Vec<String> {
        self.0.redirects.problem().into_iter().collect()
    }

    fn progress(&self) -> Vec<PullProgress> {
        self.0.pulls.shown()
    }

    async fn pulling(&self) {
        self.0.pulls.begun().await;
    }
}

impl ContainerEngine {
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
            (Action::Remove { deployment, purge, images }, _) => {
                self.remove(deployment, *purge).await?;
                if *images {
                    self.images_discard(deployment).await?;
                }
            }
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
        // A process in a container cannot see it.
        let images = self.api.images_dir();
        let place = if images.is_dir() { images } else { &self.config.dir };
        let found = rustix::fs::statvfs(place).ok()?;
        Some((found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize))
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ContainerEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContainerEngine")
            .field("node", &self.config.node)
            .field("engine", self.api.info())
            .finish_non_exhaustive()
    }
}
