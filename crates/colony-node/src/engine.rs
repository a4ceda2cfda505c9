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

pub(crate) async fn find(
    config: &Config,
    identity: &Identity,
    manager: &Arc<Manager>,
    returning: bool,
) -> anyhow::Result<(Runtime, Option<Service>)> {
    patiently(returning, async || connect(config, identity, manager).await).await
}

/// A node that was here before waits for its engine: at boot that may be up
/// later. A new one is told at once that there is none.
async fn patiently<T>(
    returning: bool,
    connect: impl AsyncFn() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut backoff = Backoff::default();
    loop {
        match connect().await {
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_was_here_before_waits_for_the_engine_and_who_is_new_does_not() {
        check(false, Err("no engine yet"), 1).await;
        check(true, Ok(()), 5).await;
    }

    /// The engine answers when it is asked for the fifth time.
    async fn check(returning: bool, expected: Result<(), &str>, tries: u32) {
        let tried = Cell::new(0);
        let connect = async || {
            tried.set(tried.get() + 1);
            if tried.get() < 5 { anyhow::bail!("no engine yet") } else { Ok(()) }
        };
        let found = patiently(returning, connect).await.map_err(|it| it.to_string());
        assert_eq!((found, tried.get()), (expected.map_err(str::to_owned), tries));
    }
}
