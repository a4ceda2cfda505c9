//! The runtime of a node: its engines.
//!
//! A document goes to the engine that runs profiles of its type. Actions on a
//! deployment whose document is gone go to all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::margo::{DeploymentId, Digest};
use colony_core::node::{Action, Container, Prepared};
use futures_util::future::{join_all, select_all, try_join_all};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::config::{Choice, Config, EngineInfo, Facts, PullProgress, Subject};
use crate::docker;
use crate::engine::Engine;
use crate::error::Error;
#[cfg(feature = "kubernetes")]
use crate::helm;
use crate::job::{self, Job};
use crate::logs::{LogPage, LogQuery};
use crate::oci::registry::Registry;

/// The engines of one node. Cheap to clone.
#[derive(Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

struct Inner {
    /// At least one.
    engines: Vec<Arc<dyn Engine>>,
    /// Which of them a deployment was last started or seen on.
    homes: Mutex<BTreeMap<DeploymentId, usize>>,
}

impl Runtime {
    /// Finds the engines and prepares the folder. Nothing on them changes.
    pub async fn connect(config: Config) -> Result<Runtime, Error> {
        let registry = Registry::new(config.registries.clone(), config.manager.clone());
        let registry = Arc::new(registry);
        let mut engines = Vec::new();
        for choice in &config.engines {
            engines.push(connect(choice, config.clone(), registry.clone()).await?);
        }
        let inner = Inner { engines, homes: Mutex::default() };
        Ok(Runtime { inner: Arc::new(inner) })
    }

    /// The engines, at least one.
    pub fn engines(&self) -> impl Iterator<Item = &EngineInfo> {
        self.each().map(|it| it.info())
    }

    fn each(&self) -> impl Iterator<Item = &Arc<dyn Engine>> {
        self.inner.engines.iter()
    }

    /// The types of profiles that the engines run.
    pub fn profile_types(&self) -> BTreeSet<&'static str> {
        self.engines().map(|it| it.kind.profile_type()).collect()
    }

    /// Whether all engines answer.
    pub async fn ping(&self) -> Result<(), Error> {
        try_join_all(self.each().map(|it| it.ping())).await.map(drop)
    }

    /// Reaches the goal of `action`. `Prepare`, `Start` and `Stage` need their
    /// subject, and `run` must be running.
    pub async fn perform(
        &self,
        action: &Action,
        subject: Option<Subject>,
    ) -> Result<Prepared, Failure> {
        let done = match Job::of(action, subject)? {
            Some(job) => self.engine_for(&job)?.perform(action, Some(&job)).await,
            None => {
                let all = self.each().map(|it| it.perform(action, None));
                try_join_all(all).await.map(|_| Prepared::default())
            }
        };
        done.map_err(|it| match it.source.is_empty() {
            true => Failure { source: job::source(action), ..it },
            false => it,
        })
    }

    fn engine_for(&self, job: &Job) -> Result<&Arc<dyn Engine>, Failure> {
        let wanted = &job.subject.document.spec.profile.kind;
        let found = self.each().enumerate().find(|it| it.1.info().kind.profile_type() == wanted);
        let (home, engine) = found.ok_or_else(|| {
            let message = format!("no engine of this node runs profiles of type `{wanted}`");
            Failure::new(Code::NotEligible, message)
        })?;
        self.inner.homes.lock().insert(job.deployment.clone(), home);
        Ok(engine)
    }

    /// All containers of this node. Fails if one of the engines does: without
    /// its answer its containers would look removed.
    pub async fn observe(&self, known: &BTreeSet<DeploymentId>) -> Result<Vec<Container>, Failure> {
        let all = try_join_all(self.each().map(|it| it.observe(known))).await?;
        let mut homes = self.inner.homes.lock();
        for (home, containers) in all.iter().enumerate() {
            homes.extend(containers.iter().map(|it| (it.deployment.clone(), home)));
        }
        homes.retain(|it, _| known.contains(it));
        Ok(all.into_iter().flatten().collect())
    }

    /// Resolves when an engine or a health check has reported something since
    /// the last observation.
    pub async fn changed(&self) {
        select_all(self.each().map(|it| it.changed())).await;
    }

    /// Listens to the engines and runs health checks until `stop`.
    pub async fn run(&self, stop: CancellationToken) {
        join_all(self.each().map(|it| it.run(stop.clone()))).await;
    }

    /// Removes archives, configurations and images that only fingerprints
    /// outside of `needed` use.
    pub async fn collect(&self, needed: &BTreeSet<Digest>) -> Result<(), Failure> {
        let all = join_all(self.each().map(|it| it.collect(needed))).await;
        all.into_iter().collect()
    }

    /// The logs of the services of a deployment.
    pub async fn logs(
        &self,
        deployment: &DeploymentId,
        query: &LogQuery,
    ) -> Result<LogPage, Failure> {
        let home = self.inner.homes.lock().get(deployment).copied().unwrap_or_default();
        match self.inner.engines.get(home) {
            Some(engine) => engine.logs(deployment, query).await,
            None => Ok(LogPage::default()),
        }
    }

    /// The resources of the machine, as the first engine sees them.
    pub async fn facts(&self) -> Facts {
        match self.inner.engines.first() {
            Some(engine) => engine.facts().await,
            None => Facts::default(),
        }
    }

    /// The images that are being fetched.
    pub fn progress(&self) -> Vec<PullProgress> {
        self.each().flat_map(|it| it.progress()).collect()
    }

    /// Resolves when the fetch of an image begins; one that began since the
    /// last call counts. For one waiter.
    pub async fn pulling(&self) {
        select_all(self.each().map(|it| it.pulling())).await;
    }
}

async fn connect(
    choice: &Choice,
    config: Config,
    registry: Arc<Registry>,
) -> Result<Arc<dyn Engine>, Error> {
    match choice {
        Choice::Auto | Choice::Docker | Choice::Podman | Choice::Socket(_) => {
            docker::engine::connect(choice, config, registry).await
        }
        #[cfg(feature = "kubernetes")]
        Choice::Kubernetes(kubeconfig) => {
            helm::engine::connect(kubeconfig.as_deref(), config, registry).await
        }
        #[cfg(not(feature = "kubernetes"))]
        Choice::Kubernetes(_) => Err(Error::NoEngine {
            tried: vec!["kubernetes (this build of colony does not contain it)".to_owned()],
        }),
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.engines()).finish()
    }
}
