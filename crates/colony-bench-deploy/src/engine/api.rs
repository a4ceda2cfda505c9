//! The baseline on Docker and Podman: the same container through the bare Engine
//! API.
//!
//! It is made as the node makes it (image, published port, label, signal to
//! stop, no check of the engine's own), and asked as the node asks: the same command by exec, at
//! once and then after pauses that begin at 50 ms and double.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, ensure};
use bollard::exec::{StartExecOptions, StartExecResults};
use bollard::models::{
    ContainerCreateBody, ContainerSummary, ExecConfig, HealthConfig, HostConfig,
    NetworkCreateRequest, PortBinding,
};
use bollard::query_parameters::{
    CreateContainerOptions, ListContainersOptions, RemoveContainerOptions, StartContainerOptions,
    StopContainerOptions,
};
use bollard::{API_DEFAULT_VERSION, Docker};
use futures_util::StreamExt;

use super::{CHECK, IMAGE};

/// The network of containers that need none of their own; it is made once.
pub(crate) const NETWORK: &str = "colony-bench";
/// The network that is made for one container.
pub(crate) const OWN_NETWORK: &str = "colony-bench-own";
const ANSWER: u64 = 60;

#[derive(Debug, Clone)]
pub(crate) struct EngineApi {
    docker: Docker,
}

impl EngineApi {
    pub(crate) async fn connect(socket: &Path) -> anyhow::Result<EngineApi> {
        let docker =
            Docker::connect_with_unix(&socket.to_string_lossy(), ANSWER, API_DEFAULT_VERSION)?;
        Ok(EngineApi { docker: docker.negotiate_version().await? })
    }

    /// Has the network that baselines run in.
    pub(crate) async fn ready(self) -> anyhow::Result<EngineApi> {
        self.clear().await;
        self.network_add(NETWORK).await?;
        Ok(self)
    }

    /// Creates and starts a container of `hello`; returns its id.
    pub(crate) async fn start(
        &self,
        name: &str,
        version: &str,
        network: &str,
    ) -> anyhow::Result<String> {
        let id = self.create(name, version, network).await?;
        self.start_made(&id).await?;
        Ok(id)
    }

    pub(crate) async fn create(
        &self,
        name: &str,
        version: &str,
        network: &str,
    ) -> anyhow::Result<String> {
        let options = CreateContainerOptions { name: Some(name.to_owned()), ..Default::default() };
        let made = self.docker.create_container(Some(options), body(version, network)).await;
        Ok(made.context("could not create the container")?.id)
    }

    pub(crate) async fn start_made(&self, id: &str) -> anyhow::Result<()> {
        let started = self.docker.start_container(id, None::<StartContainerOptions>).await;
        started.context("could not start the container")
    }

    pub(crate) async fn stop(&self, id: &str) -> anyhow::Result<()> {
        let stopped = self.docker.stop_container(id, None::<StopContainerOptions>).await;
        stopped.context("could not stop the container")
    }

    pub(crate) async fn check(&self, id: &str) -> anyhow::Result<bool> {
        let config = ExecConfig {
            cmd: Some(CHECK.map(str::to_owned).to_vec()),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            ..ExecConfig::default()
        };
        let exec = self.docker.create_exec(id, config).await?.id;
        let started = self.docker.start_exec(&exec, None::<StartExecOptions>).await?;
        if let StartExecResults::Attached { mut output, .. } = started {
            while output.next().await.is_some() {}
        }
        Ok(self.docker.inspect_exec(&exec).await?.exit_code == Some(0))
    }

    pub(crate) async fn remove(&self, id: &str) -> anyhow::Result<()> {
        let options = RemoveContainerOptions { force: true, ..RemoveContainerOptions::default() };
        let removed = self.docker.remove_container(id, Some(options)).await;
        removed.context("could not remove the container")
    }

    pub(crate) async fn network_add(&self, name: &str) -> anyhow::Result<()> {
        let request = NetworkCreateRequest {
            name: name.to_owned(),
            driver: Some("bridge".to_owned()),
            ..NetworkCreateRequest::default()
        };
        let made = self.docker.create_network(request).await;
        made.map(|_| ()).context("could not create the network")
    }

    pub(crate) async fn network_remove(&self, name: &str) -> anyhow::Result<()> {
        let removed = self.docker.remove_network(name).await;
        removed.context("could not remove the network")
    }

    /// Removes what a run that was cut off left: podman keeps networks where
    /// every instance on the machine sees them.
    pub(crate) async fn clear(&self) {
        for name in [NETWORK, OWN_NETWORK] {
            let _ = self.docker.remove_network(name).await;
        }
    }

    /// The published ports of running containers whose name holds `part`, the
    /// youngest container first.
    pub(crate) async fn ports(&self, part: &str) -> anyhow::Result<Vec<u16>> {
        let mut found = self.containers(part).await?;
        found.sort_by_key(|it| std::cmp::Reverse(it.created));
        Ok(found.iter().flat_map(published).collect())
    }

    /// How many of them run.
    pub(crate) async fn count(&self, part: &str) -> anyhow::Result<usize> {
        Ok(self.containers(part).await?.len())
    }

    async fn containers(&self, part: &str) -> anyhow::Result<Vec<ContainerSummary>> {
        let filters = HashMap::from([("name".to_owned(), vec![part.to_owned()])]);
        let options = ListContainersOptions { filters: Some(filters), ..Default::default() };
        Ok(self.docker.list_containers(Some(options)).await?)
    }

    pub(crate) async fn has_image(&self, version: &str) -> anyhow::Result<()> {
        let found = self.docker.inspect_image(&format!("{IMAGE}:{version}")).await;
        ensure!(found.is_ok(), "the image {version} is not local yet");
        Ok(())
    }
}

fn published(it: &ContainerSummary) -> Option<u16> {
    it.ports.iter().flatten().find_map(|it| it.public_port)
}

fn body(version: &str, network: &str) -> ContainerCreateBody {
    let port = "8080/tcp".to_owned();
    let binding = PortBinding { host_ip: Some(String::new()), host_port: Some(String::new()) };
    ContainerCreateBody {
        image: Some(format!("{IMAGE}:{version}")),
        env: Some(vec!["HELLO_GREETING=Good day".to_owned()]),
        labels: Some(HashMap::from([("colony.bench".to_owned(), "baseline".to_owned())])),
        exposed_ports: Some(vec![port.clone()]),
        stop_signal: Some("SIGKILL".to_owned()),
        healthcheck: Some(HealthConfig {
            test: Some(vec!["NONE".to_owned()]),
            ..HealthConfig::default()
        }),
        host_config: Some(HostConfig {
            port_bindings: Some(HashMap::from([(port, Some(vec![binding]))])),
            network_mode: Some(network.to_owned()),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    }
}
