//! Finds the container engine. Podman runs without a service unless one is
//! started; if it is installed and has no service, the node starts one
//! (`service`). `capabilities` describes the device with its engine.

pub(crate) mod capabilities;
pub(crate) mod service;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use parking_lot::Mutex;
use tracing::{info, warn};

use colony_process::Backoff;
use colony_runtime::{Choice, Registries, Runtime};

use crate::engine::service::Service;
use crate::manager::Manager;
use crate::{Config, Identity};

/// The longest pause between two searches for an engine.
const RETRY_LONGEST: Duration = Duration::from_secs(15);

/// The engine, or the reason why it was not found yet.
#[derive(Debug, Clone)]
pub(crate) struct Slot(Arc<Mutex<Result<Runtime, String>>>);

impl Default for Slot {
    fn default() -> Slot {
        Slot(Arc::new(Mutex::new(Err("it was not asked yet".to_owned()))))
    }
}

impl Slot {
    pub(crate) fn runtime(&self) -> Result<Runtime, String> {
        self.0.lock().clone()
    }
}

/// How an engine is found, and where it is put.
#[derive(Debug)]
pub(crate) struct Finder {
    pub(crate) config: Config,
    pub(crate) identity: Identity,
    pub(crate) manager: Arc<Manager>,
    pub(crate) slot: Slot,
}

impl Finder {
    /// Searches once, and puts the engine or the reason of the failure into the
    /// slot.
    pub(crate) async fn look(&self) -> Option<(Runtime, Option<Service>)> {
        match connect(&self.config, &self.identity, &self.manager).await {
            Ok(found) => {
                *self.slot.0.lock() = Ok(found.0.clone());
                Some(found)
            }
            Err(error) => {
                let why = format!("{error:#}");
                warn!("waiting for the container engine: {why}");
                *self.slot.0.lock() = Err(why);
                None
            }
        }
    }

    /// Searches until an engine is found: it may start after the node, or be
    /// installed later. The node already has its identity and reports what it
    /// waits for.
    pub(crate) async fn wait(&self) -> (Runtime, Option<Service>) {
        let mut backoff = Backoff::default();
        loop {
            if let Some(found) = self.look().await {
                return found;
            }
            tokio::time::sleep(backoff.next_delay().min(RETRY_LONGEST)).await;
        }
    }
}

async fn connect(
    config: &Config,
    identity: &Identity,
    manager: &Arc<Manager>,
) -> anyhow::Result<(Runtime, Option<Service>)> {
    let settings = colony_runtime::Config {
        node: identity.device()?,
        identity: identity.world()?,
        dir: config.data.join("engine"),
        engines: config.engines.clone(),
        helm: config.helm.clone(),
        manager: Some(manager.clone()),
        environment: config.environment.clone(),
        registries: Registries {
            insecure: config.insecure_registries.clone(),
            credentials: config.credentials.clone(),
        },
        images: config.images,
        policy: config.documents.clone(),
    };
    let found = Runtime::connect(settings.clone()).await;
    let (error, podman) = match (found, podman(&config.engines)) {
        (Ok(runtime), _) => return Ok((runtime, None)),
        (Err(error), Some(podman)) => (error, podman),
        (Err(error), None) => return Err(error.into()),
    };
    info!("no engine listens ({error}); starting podman's service");
    let socket = config.data.join("podman.sock");
    let service = Service::start(podman, socket.clone()).await?;
    let own = |it: &Choice| match may_be_podman(it) {
        true => Choice::Socket(socket.clone()),
        false => it.clone(),
    };
    let engines = settings.engines.iter().map(own).collect();
    let runtime = Runtime::connect(colony_runtime::Config { engines, ..settings }).await;
    Ok((runtime.context("podman's service does not answer")?, Some(service)))
}

fn may_be_podman(choice: &Choice) -> bool {
    matches!(choice, Choice::Auto | Choice::Podman)
}

/// The path of podman, if it may be used.
fn podman(choices: &[Choice]) -> Option<PathBuf> {
    if !choices.iter().any(may_be_podman) {
        return None;
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|it| it.join("podman")).find(|it| it.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_engine_is_waited_for_and_why_there_is_none_is_known() {
        let dir = tempfile::tempdir().expect("a directory");
        let slot = Slot::default();
        assert!(slot.runtime().is_err());
        let socket = dir.path().join("none.sock");
        let engines = vec![Choice::Socket(socket.clone())];
        let config = Config { engines, ..crate::kit::sample::config(dir.path()) };
        let (identity, manager) = crate::kit::sample::joined();
        let finder = Finder { config, identity, manager, slot: slot.clone() };
        let hour = Duration::from_secs(3_600);
        assert!(tokio::time::timeout(hour, finder.wait()).await.is_err(), "it is waited for");
        let why = slot.runtime().expect_err("there is none");
        assert!(why.contains(&socket.display().to_string()), "{why}");
    }
}
