//! Finds the container engine. Podman runs without a service until somebody
//! asks for one; if it is installed and nobody did, the node does.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use parking_lot::Mutex;
use tracing::{info, warn};

use colony_runtime::{Choice, Registries, Runtime};
use colony_task::Backoff;

use crate::manager::Manager;
use crate::service::Service;
use crate::{Config, Identity};

/// The longest pause between two looks for an engine.
const RETRY_LONGEST: Duration = Duration::from_secs(15);

/// The engine once it was found, and until then why it was not.
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
    /// Looks once. What was found is put into the slot, and also why nothing was.
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

    /// Looks until there is one: at boot it may be up later, and on a new
    /// machine it may be installed later. The node has its identity by then, and
    /// says meanwhile what it waits for.
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
        engine: config.engine.clone(),
        manager: Some(manager.clone()),
        environment: config.environment.clone(),
        registries: Registries {
            insecure: config.insecure_registries.clone(),
            ..Registries::default()
        },
    };
    let found = Runtime::connect(settings.clone()).await;
    let (error, podman) = match (found, podman(&config.engine)) {
        (Ok(runtime), _) => return Ok((runtime, None)),
        (Err(error), Some(podman)) => (error, podman),
        (Err(error), None) => return Err(error.into()),
    };
    info!("no engine listens ({error}); starting podman's service");
    let socket = config.data.join("podman.sock");
    let service = Service::start(podman, socket.clone()).await?;
    let engine = Choice::Socket(socket);
    let runtime = Runtime::connect(colony_runtime::Config { engine, ..settings }).await;
    Ok((runtime.context("podman's service does not answer")?, Some(service)))
}

/// Where podman is, if it may be used.
fn podman(choice: &Choice) -> Option<PathBuf> {
    if !matches!(choice, Choice::Auto | Choice::Podman) {
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
        let engine = Choice::Socket(socket.clone());
        let config = Config { engine, ..crate::sample::config(dir.path()) };
        let (identity, manager) = crate::sample::joined();
        let finder = Finder { config, identity, manager, slot: slot.clone() };
        let hour = Duration::from_secs(3_600);
        assert!(tokio::time::timeout(hour, finder.wait()).await.is_err(), "it is waited for");
        let why = slot.runtime().expect_err("there is none");
        assert!(why.contains(&socket.display().to_string()), "{why}");
    }
}
