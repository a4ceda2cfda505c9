//! The four calls of CRI that a container takes, for benchmarks alone: the
//! least that any caller of containerd has to do.

use std::path::{Path, PathBuf};

use crate::containerd::folder::OUTPUT;
use crate::containerd::grpc::{ANSWER, Grpc};
use crate::containerd::wire::{
    ContainerConfig, ContainerMetadata, ContainerRequest, CreateContainerRequest,
    CreateContainerResponse, Empty, ExecRequest, ExecResponse, ImageRequest, ImageSpec,
    ImageStatusResponse, KeyValue, LinuxContainerConfig, LinuxPodConfig, PodConfig, PodMetadata,
    PodRequest, PortMapping, Protocol, RunPodRequest, RunPodResponse,
};
use crate::containers::engine_error::EngineError;

/// How long one call may take.
const CALL: std::time::Duration = ANSWER;

/// A containerd, called without anything around it.
#[derive(Debug)]
pub struct BareContainerd {
    grpc: Grpc,
    /// Where containers write their output.
    logs: PathBuf,
}

/// What to run: an image that is there, with a port of the host for one of its
/// own.
#[derive(Debug, Clone, Copy)]
pub struct BareContainer<'a> {
    pub name: &'a str,
    pub image: &'a str,
    pub variable: (&'a str, &'a str),
    /// Of the container and of the host.
    pub port: (u16, u16),
}

/// A pod and its container.
#[derive(Debug, Clone)]
pub struct BarePod {
    pod: String,
    container: String,
}

/// A call that failed.
#[derive(Debug, thiserror::Error)]
#[error("could not {doing}")]
pub struct BareError {
    doing: &'static str,
    #[source]
    source: EngineError,
}

impl BareContainerd {
    pub fn new(socket: &Path, logs: &Path) -> BareContainerd {
        BareContainerd { grpc: Grpc::new(socket), logs: logs.to_owned() }
    }

    /// RunPodSandbox, CreateContainer and StartContainer.
    pub async fn run(&self, of: BareContainer<'_>) -> Result<BarePod, BareError> {
        let sandbox = self.sandbox(of);
        let request = RunPodRequest { config: Some(sandbox.clone()) };
        let run: RunPodResponse = self.call("run the pod", "RunPodSandbox", &request).await?;
        let pod = run.pod_sandbox_id;
        let request = CreateContainerRequest {
            pod_sandbox_id: pod.clone(),
            config: Some(container(of)),
            sandbox_config: Some(sandbox),
        };
        let created: CreateContainerResponse =
            self.call("create the container", "CreateContainer", &request).await?;
        let container = created.container_id;
        let request = ContainerRequest { container_id: container.clone() };
        let _: Empty = self.call("start the container", "StartContainer", &request).await?;
        Ok(BarePod { pod, container })
    }

    /// Whether a command in the container succeeds (ExecSync).
    pub async fn check(&self, of: &BarePod, command: &[&str]) -> Result<bool, BareError> {
        let cmd = command.iter().map(|it| (*it).to_owned()).collect();
        let request = ExecRequest { container_id: of.container.clone(), cmd, timeout: 10 };
        let end: ExecResponse = self.call("execute the check", "ExecSync", &request).await?;
        Ok(end.exit_code == 0)
    }

    pub async fn remove(&self, of: &BarePod) -> Result<(), BareError> {
        let request = PodRequest { pod_sandbox_id: of.pod.clone() };
        let _: Empty = self.call("stop the pod", "StopPodSandbox", &request).await?;
        let _: Empty = self.call("remove the pod", "RemovePodSandbox", &request).await?;
        Ok(())
    }

    pub async fn has_image(&self, name: &str) -> Result<bool, BareError> {
        let request = ImageRequest { image: Some(ImageSpec { image: name.to_owned() }) };
        let method = "/runtime.v1.ImageService/ImageStatus";
        let answer = self.grpc.call::<ImageStatusResponse>(method, &request, CALL).await;
        let answer = answer.map_err(|source| BareError { doing: "look for the image", source })?;
        Ok(answer.image.is_some())
    }

    fn sandbox(&self, of: BareContainer<'_>) -> PodConfig {
        let (container, host) = of.port;
        let metadata = PodMetadata {
            name: of.name.to_owned(),
            uid: of.name.to_owned(),
            namespace: "colony-bench".to_owned(),
        };
        PodConfig {
            metadata: Some(metadata),
            hostname: of.name.to_owned(),
            log_directory: self.logs.to_string_lossy().into_owned(),
            port_mappings: vec![PortMapping {
                protocol: Protocol::Tcp as i32,
                container_port: container.into(),
                host_port: host.into(),
                ..PortMapping::default()
            }],
            linux: Some(LinuxPodConfig::default()),
            ..PodConfig::default()
        }
    }

    async fn call<T: prost::Message + Default>(
        &self,
        doing: &'static str,
        method: &str,
        request: &impl prost::Message,
    ) -> Result<T, BareError> {
        let method = format!("/runtime.v1.RuntimeService/{method}");
        let answer = self.grpc.call(&method, request, CALL).await;
        answer.map_err(|source| BareError { doing, source })
    }
}

fn container(of: BareContainer<'_>) -> ContainerConfig {
    let (key, value) = (of.variable.0.to_owned(), of.variable.1.to_owned());
    ContainerConfig {
        metadata: Some(ContainerMetadata { name: "main".to_owned() }),
        image: Some(ImageSpec { image: of.image.to_owned() }),
        envs: vec![KeyValue { key, value }],
        log_path: OUTPUT.to_owned(),
        linux: Some(LinuxContainerConfig::default()),
        ..ContainerConfig::default()
    }
}
