//! The baselines: what a person has to do on each engine to get the same as
//! colony's node makes.

pub(crate) mod api;
pub(crate) mod cluster;
pub(crate) mod containerd;

use std::path::Path;
use std::time::Duration;

use anyhow::bail;

use api::EngineApi;
use cluster::Cluster;
use containerd::Containerd;

/// The image of `hello`, and its check.
const IMAGE: &str = "colony.builtin/hello-server";
const CHECK: [&str; 2] = ["/hello", "check"];
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const TRIES: u32 = 10;

/// An engine, called without colony.
#[derive(Debug)]
pub(crate) enum Engine {
    /// Docker and Podman.
    Api(EngineApi),
    Containerd(Containerd),
    Kubernetes(Cluster),
}

impl Engine {
    /// `place` is a socket, `containerd:<socket>` or `kubernetes:<kubeconfig>`;
    /// `data` is the folder of the node on this engine.
    pub(crate) async fn connect(place: &str, data: &Path) -> anyhow::Result<Engine> {
        Ok(match place.split_once(':') {
            Some(("containerd", socket)) => {
                Engine::Containerd(Containerd::new(Path::new(socket), data)?)
            }
            Some(("kubernetes", file)) => Engine::Kubernetes(Cluster::new(Path::new(file), data)),
            Some(_) | None => {
                Engine::Api(EngineApi::connect(Path::new(place)).await?.ready().await?)
            }
        })
    }

    /// What the baseline consists of.
    pub(crate) fn steps(&self) -> [&'static str; 3] {
        match self {
            Engine::Api(_) => {
                ["create, start, first passing check", "create and start", "the check"]
            }
            Engine::Containerd(_) => [
                "RunPodSandbox, CreateContainer, StartContainer, first passing check",
                "pod, create and start",
                "the check",
            ],
            Engine::Kubernetes(_) => ["`helm upgrade --install --wait`", "", ""],
        }
    }

    /// The goal for the ratio of colony's time to that of the baseline.
    pub(crate) fn goal(&self) -> &'static str {
        match self {
            Engine::Api(_) | Engine::Containerd(_) => "1.35×",
            Engine::Kubernetes(_) => "1.25×",
        }
    }

    /// Starts a container of `hello`; returns what the other calls need.
    pub(crate) async fn start(&self, version: &str) -> anyhow::Result<Started> {
        Ok(match self {
            Engine::Api(it) => Started::Id(it.start("bench-bare", version, api::NETWORK).await?),
            Engine::Containerd(it) => Started::Pod(it.start(version).await?),
            Engine::Kubernetes(it) => {
                it.install().await?;
                Started::Release
            }
        })
    }

    /// Returns when the health check has passed, which a release waits for by
    /// itself.
    pub(crate) async fn healthy(&self, started: &Started) -> anyhow::Result<()> {
        until_healthy(async || self.check(started).await).await
    }

    async fn check(&self, started: &Started) -> anyhow::Result<bool> {
        match (self, started) {
            (Engine::Api(it), Started::Id(id)) => it.check(id).await,
            (Engine::Containerd(it), Started::Pod(pod)) => it.check(pod).await,
            (Engine::Kubernetes(_), Started::Release) => Ok(true),
            (_, started) => bail!("{started:?} is of another engine"),
        }
    }

    pub(crate) async fn remove(&self, started: &Started) -> anyhow::Result<()> {
        match (self, started) {
            (Engine::Api(it), Started::Id(id)) => it.remove(id).await,
            (Engine::Containerd(it), Started::Pod(pod)) => it.remove(pod).await,
            (Engine::Kubernetes(it), Started::Release) => it.uninstall().await,
            (_, started) => bail!("{started:?} is of another engine"),
        }
    }

    /// Whether the image is there already, so that no measured start pulls it.
    pub(crate) async fn has_image(&self, version: &str) -> anyhow::Result<()> {
        match self {
            Engine::Api(it) => it.has_image(version).await,
            Engine::Containerd(it) => it.has_image(version).await,
            // The deployment before the first baseline had it pulled.
            Engine::Kubernetes(_) => Ok(()),
        }
    }

    /// The Engine API, which some of what is measured needs.
    pub(crate) fn api(&self) -> Option<&EngineApi> {
        match self {
            Engine::Api(it) => Some(it),
            Engine::Containerd(_) | Engine::Kubernetes(_) => None,
        }
    }

    /// Removes what is not removed with each container.
    pub(crate) async fn clear(&self) {
        if let Some(it) = self.api() {
            it.clear().await;
        }
    }
}

/// What was started, as its engine calls it.
#[derive(Debug)]
pub(crate) enum Started {
    Id(String),
    Pod(colony_runtime::BarePod),
    Release,
}

/// Checks as a node does: at once, and then after pauses that double.
pub(crate) async fn until_healthy(
    mut check: impl AsyncFnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let mut pause = FIRST_PAUSE;
    for _ in 0..TRIES {
        if check().await? {
            return Ok(());
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
    bail!("the container does not become healthy")
}
