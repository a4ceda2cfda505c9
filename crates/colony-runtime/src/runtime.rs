//! The runtime of a node: its engines.
//!
//! A document goes to the engine that runs profiles of its type. Actions on a
//! deployment whose document is gone go to all of them. An engine that is away
//! holds up nothing on another one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::margo::{DeploymentId, Digest};
use colony_core::node::{Action, Container, Prepared};
use futures_util::future::{join_all, select_all, try_join_all};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::config::{Choice, Config, EngineInfo, EngineKind, Facts, PullProgress, Subject};
#[cfg(feature = "containerd")]
use crate::containerd;
use crate::containers;
use crate::docker;
use crate::docker::connect::Hints;
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
    /// Which of them a deployment was started or seen on, the last start last.
    homes: Mutex<BTreeMap<DeploymentId, Vec<usize>>>,
}

/// How long one engine may take to show its containers.
const OBSERVE_TIME: Duration = Duration::from_secs(20);

/// What the engines show.
#[derive(Debug, Clone, Default)]
pub struct Observation {
    pub containers: Vec<Container>,
    /// The types of profiles whose engine did not answer: what it runs is not
    /// known.
    pub away: BTreeSet<String>,
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
            None => self.perform_on_all(action).await,
        };
        done.map_err(|it| match it.source.is_empty() {
            true => Failure { source: job::source(action), ..it },
            false => it,
        })
    }

    /// An engine that is away does not count if the deployment was never there.
    /// Before it was seen anywhere, it may be on any engine.
    async fn perform_on_all(&self, action: &Action) -> Result<Prepared, Failure> {
        let all = join_all(self.each().map(|it| it.perform(action, None))).await;
        let homes = self.inner.homes.lock().get(action.deployment()).cloned().unwrap_or_default();
        for (engine, done) in all.into_iter().enumerate() {
            let elsewhere = !homes.is_empty() && !homes.contains(&engine);
            match done {
                Err(failure) if elsewhere && failure.code == Code::EngineUnavailable => {
                    let address = self.inner.engines.get(engine).map(|it| &it.info().address);
                    debug!(?address, "an engine is away: {}", failure.message);
                }
                done => _ = done?,
            }
        }
        Ok(Prepared::default())
    }

    fn engine_for(&self, job: &Job) -> Result<&Arc<dyn Engine>, Failure> {
        let wanted = &job.subject.document.spec.profile.kind;
        let found = self.each().enumerate().find(|it| it.1.info().kind.profile_type() == wanted);
        let (home, engine) = found.ok_or_else(|| {
            let message = format!("no engine of this node runs profiles of type `{wanted}`");
            Failure::new(Code::NotEligible, message)
        })?;
        let mut homes = self.inner.homes.lock();
        let homes = homes.entry(job.deployment.clone()).or_default();
        homes.retain(|it| *it != home);
        homes.push(home);
        Ok(engine)
    }

    /// The containers of this node. Fails if no engine answers.
    pub async fn observe(&self, known: &BTreeSet<DeploymentId>) -> Result<Observation, Failure> {
        let late = || Failure::new(Code::EngineUnavailable, "the engine did not answer in time");
        let all = join_all(self.each().map(|it| async {
            let seen = tokio::time::timeout(OBSERVE_TIME, it.observe(known)).await;
            seen.unwrap_or_else(|_| Err(late()))
        }));
        let (mut observation, mut failures) = (Observation::default(), Vec::new());
        for (home, (engine, seen)) in self.each().zip(all.await).enumerate() {
            match seen {
                Ok(containers) => {
                    self.note_homes(home, &containers);
                    observation.containers.extend(containers);
                }
                Err(failure) => {
                    let info = engine.info();
                    observation.away.insert(info.kind.profile_type().to_owned());
                    failures.push((info, failure));
                }
            }
        }
        let is_seen =
            |id: &DeploymentId| observation.containers.iter().any(|it| it.deployment == *id);
        self.inner.homes.lock().retain(|it, _| known.contains(it) || is_seen(it));
        if failures.len() == self.inner.engines.len()
            && let Some((_, failure)) = failures.pop()
        {
            return Err(failure);
        }
        for (engine, failure) in failures {
            warn!(engine = %engine.kind, code = %failure.code, "could not look at an engine: {}", failure.message);
        }
        Ok(observation)
    }

    fn note_homes(&self, home: usize, containers: &[Container]) {
        let mut homes = self.inner.homes.lock();
        for container in containers {
            let homes = homes.entry(container.deployment.clone()).or_default();
            if !homes.contains(&home) {
                homes.insert(0, home);
            }
        }
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
        let home = self.inner.homes.lock().get(deployment).and_then(|it| it.last().copied());
        let home = home.unwrap_or_default();
        match self.inner.engines.get(home) {
            Some(engine) => engine.logs(deployment, query).await,
            None => Ok(LogPage::default()),
        }
    }

    /// The resources of the machine. An engine of the machine shows them; a
    /// cluster shows those of all its machines, and is asked only if it is alone.
    pub async fn facts(&self) -> Facts {
        let is_here = |it: &&Arc<dyn Engine>| it.info().kind != EngineKind::Kubernetes;
        match self.each().find(is_here).or(self.each().next()) {
            Some(engine) => engine.facts().await,
            None => Facts::default(),
        }
    }

    /// What works worse than it could on this machine, as sentences.
    pub fn problems(&self) -> Vec<String> {
        self.each().flat_map(|it| it.problems()).collect()
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
        #[cfg(feature = "containerd")]
        Choice::Containerd(socket) => {
            let api = containerd::connect::find(socket.as_deref(), &config.dir).await?;
            containers::engine::open(Arc::new(api), config, registry).await
        }
        #[cfg(not(feature = "containerd"))]
        Choice::Containerd(_) => Err(not_built("containerd")),
        Choice::Auto | Choice::Docker | Choice::Podman | Choice::Socket(_) => {
            let api = docker::connect::find(choice, &Hints::of_process()).await?;
            containers::engine::open(Arc::new(api), config, registry).await
        }
        #[cfg(feature = "kubernetes")]
        Choice::Kubernetes(kubeconfig) => {
            helm::engine::connect(kubeconfig.as_deref(), config, registry).await
        }
        #[cfg(not(feature = "kubernetes"))]
        Choice::Kubernetes(_) => Err(not_built("kubernetes")),
    }
}

#[cfg(not(all(feature = "kubernetes", feature = "containerd")))]
fn not_built(engine: &str) -> Error {
    Error::NoEngine { tried: vec![format!("{engine} (this build of colony does not contain it)")] }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.engines()).finish()
    }
}

#[cfg(test)]
mod tests;
