//! Finds the container engine. Podman runs without a service until somebody
//! asks for one; if it is installed and nobody did, the node does.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use tracing::{info, warn};

use colony_runtime::{Choice, Registries, Runtime};
use colony_task::Backoff;

use crate::manager::Manager;
use crate::service::Service;
use crate::{Config, Identity};

/// A node that was here before waits for its engine: at boot that may be up later.
pub(crate) async fn find(
    config: &Config,
    identity: &Identity,
    manager: &Arc<Manager>,
    returning: bool,
) -> anyhow::Result<(Runtime, Option<Service>)> {
    let mut backoff = Backoff::default();
    loop {
        match connect(config, identity, manager).await {
            Err(error) if returning => warn!("waiting for the engine: {error:#}"),
            found => return found,
        }
        tokio::time::sleep(backoff.next_delay()).await;
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
        (Err(error), None) => return Err(error).context("there is no container engine"),
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
