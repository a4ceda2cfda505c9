//! containerd as a container engine. A container of colony is a pod with one
//! container; its id is that of the pod.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use colony_core::node::Status;
use parking_lot::Mutex;
use prost::Message;
use tracing::{info, warn};

use crate::compose::Port;
use crate::config::{EngineInfo, Facts};
use crate::containerd::connect::refuse_kubelet;
use crate::containerd::folder::Folder;
use crate::containerd::grpc::{ANSWER, Grpc};
use crate::containerd::pod::host_ports;
use crate::containerd::pod::hosts::{self, Neighbour};
use crate::containerd::pod::refusal;
use crate::containerd::pod::{self, Files};
use crate::containerd::wire::{
    Container, ContainerFilter, ContainerRequest, ContainerState, ContainerStatusResponse,
    CreateContainerRequest, CreateContainerResponse, ListContainersRequest, ListContainersResponse,
    ListPodsRequest, ListPodsResponse, Pod, PodConfig, PodFilter, PodRequest, PodState, PodStatus,
    PodStatusResponse, RunPodRequest, RunPodResponse,
};
use crate::containers::api::{Answer, ContainerInfo, Labels, NewContainer};
use crate::containers::engine_error::EngineError;
use crate::containers::label;

/// How long a pod may take to start or to stop.
pub(super) const POD: Duration = Duration::from_secs(120);

/// The code of a container that signal 9 ended.
const KILLED: i32 = 128 + 9;
/// CRI's reason for one that the kernel ended for its memory.
const OUT_OF_MEMORY: &str = "OOMKilled";

/// A client of one containerd. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct ContainerdClient {
    pub(super) grpc: Arc<Grpc>,
    pub(super) folder: Folder,
    pub(super) info: EngineInfo,
    pub(super) facts: Facts,
    pub(super) images_dir: PathBuf,
    /// The pods of containers, with their labels, for events.
    pub(super) pods: Arc<Mutex<HashMap<String, (String, Labels)>>>,
    /// Addresses of pods, which do not change, by id.
    pub(super) addresses: Arc<Mutex<HashMap<String, String>>>,
    /// Pods are created one after the other: two may want the same port.
    creating: Arc<tokio::sync::Mutex<()>>,
}

impl ContainerdClient {
    pub(super) fn new(
        grpc: Grpc,
        folder: Folder,
        info: EngineInfo,
        facts: Facts,
        images_dir: PathBuf,
    ) -> ContainerdClient {
        ContainerdClient {
            grpc: Arc::new(grpc),
            folder,
            info,
            facts,
            images_dir,
            pods: Arc::default(),
            addresses: Arc::default(),
            creating: Arc::default(),
        }
    }

    /// A call of the runtime service that is answered at once.
    pub(super) async fn runtime<T: Message + Default>(
        &self,
        method: &str,
        request: &impl Message,
    ) -> Answer<T> {
        self.runtime_within(method, request, ANSWER).await
    }

    pub(super) async fn runtime_within<T: Message + Default>(
        &self,
        method: &str,
        request: &impl Message,
        time: Duration,
    ) -> Answer<T> {
        self.grpc.call(&format!("/runtime.v1.RuntimeService/{method}"), request, time).await
    }

    pub(super) async fn pods_with(&self, labels: Labels) -> Answer<Vec<Pod>> {
        let filter = Some(PodFilter { label_selector: labels });
        let answer: ListPodsResponse =
            self.runtime("ListPodSandbox", &ListPodsRequest { filter }).await?;
        Ok(answer.items)
    }

    pub(super) async fn pod_status(&self, id: &str) -> Answer<Option<PodStatus>> {
        let request = PodRequest { pod_sandbox_id: id.to_owned() };
        let answer: Answer<PodStatusResponse> = self.runtime("PodSandboxStatus", &request).await;
        Ok(there(answer)?.and_then(|it| it.status))
    }

    /// All containers, of anybody.
    pub(super) async fn containers(&self) -> Answer<Vec<Container>> {
        let request = ListContainersRequest { filter: None };
        let answer: ListContainersResponse = self.runtime("ListContainers", &request).await?;
        Ok(answer.containers)
    }

    /// The container of a pod, if it was created.
    pub(super) async fn container_of(&self, pod: &str) -> Answer<Option<Container>> {
        let filter = Some(ContainerFilter { pod_sandbox_id: pod.to_owned() });
        let answer: ListContainersResponse =
            self.runtime("ListContainers", &ListContainersRequest { filter }).await?;
        Ok(answer.containers.into_iter().max_by_key(|it| it.created_at))
    }

    /// The files that a pod needs before it is created.
    pub(super) async fn files(&self, new: &NewContainer<'_>, uid: &str) -> io::Result<Files> {
        self.folder.make_pod(uid).await?;
        let mut mounts = Vec::new();
        for (number, mount) in new.service.mounts.iter().enumerate() {
            let path = match (mount.kind, &mount.source) {
                (crate::compose::MountKind::Volume, Some(name)) => {
                    let called = new.volumes.get(name).map_or(name.as_str(), String::as_str);
                    self.folder.volume_data(called)
                }
                (crate::compose::MountKind::Volume, None) => {
                    self.folder.make_volume(uid, number).await?
                }
                // Missing folders of the host are made, as Docker does.
                (crate::compose::MountKind::Bind, Some(source)) => {
                    let may_be_made = !mount.options.source_must_exist;
                    if may_be_made && !tokio::fs::try_exists(source).await? {
                        tokio::fs::create_dir_all(source).await?;
                    }
                    continue;
                }
                (crate::compose::MountKind::Bind | crate::compose::MountKind::Tmpfs, _) => continue,
            };
            mounts.push((path, mount.target.clone(), mount.read_only));
        }
        for (number, (target, options)) in pod::tmpfs(new.service).into_iter().enumerate() {
            let path = self.folder.make_tmpfs(uid, number, &options).await?;
            mounts.push((path, target, false));
        }
        Ok(Files { folder: self.folder.pod(uid), mounts })
    }

    /// Creates the pod of a container, and returns its id and configuration.
    pub(super) async fn run_pod(
        &self,
        new: &NewContainer<'_>,
        uid: &str,
        files: &Files,
    ) -> Answer<(String, PodConfig)> {
        let _one_at_a_time = self.creating.lock().await;
        let pods = self.pods_with(Labels::new()).await?;
        refuse_kubelet(&pods)?;
        let ports = host_ports::choose(&new.service.ports, &published(&pods))?;
        for port in ports.iter().filter(|it| !new.service.ports.contains(it)) {
            let (service, host) = (new.service_name(), port.host.unwrap_or_default());
            info!(service, "chose port {host} of the host for port {}", port.container);
        }
        let config = pod::pod(new, uid, &files.folder, &ports)?;
        let request = RunPodRequest { config: Some(config.clone()) };
        let answer: Answer<RunPodResponse> =
            self.runtime_within("RunPodSandbox", &request, POD).await;
        let answer = answer.map_err(refusal::explained)?;
        Ok((answer.pod_sandbox_id, config))
    }

    pub(super) async fn create_container(
        &self,
        new: &NewContainer<'_>,
        files: &Files,
        id: &str,
        config: PodConfig,
    ) -> Answer<()> {
        let request = CreateContainerRequest {
            pod_sandbox_id: id.to_owned(),
            config: Some(pod::container(new, files)?),
            sandbox_config: Some(config),
        };
        let answer: CreateContainerResponse =
            self.runtime_within("CreateContainer", &request, POD).await?;
        let labels = new.labels.clone().into_iter().collect();
        self.pods.lock().insert(answer.container_id, (id.to_owned(), labels));
        Ok(())
    }

    /// Writes the names of all pods of a deployment, for each of them.
    pub(super) async fn write_hosts(&self, labels: &HashMap<String, String>) -> Answer<()> {
        let Some(deployment) = labels.get(label::DEPLOYMENT) else { return Ok(()) };
        let select = Labels::from([(label::DEPLOYMENT.to_owned(), deployment.clone())]);
        let ours = self.folder.pods().await.map_err(disk)?;
        let mut all = Vec::new();
        for pod in self.pods_with(select).await? {
            let uid = pod.metadata.as_ref().map(|it| it.uid.clone()).unwrap_or_default();
            if pod.state == PodState::Ready as i32 && ours.contains(&uid) {
                let address = self.address(&pod.id).await?;
                all.push(neighbour(&pod, uid, address));
            }
        }
        for it in &all {
            let base = match it.address.is_empty() {
                true => tokio::fs::read_to_string("/etc/hosts").await.unwrap_or_default(),
                false => hosts::LOOPBACK.to_owned(),
            };
            let text = hosts::content(&base, it, &all);
            crate::containerd::folder::write_in_place(&self.folder.hosts(&it.uid), &text)
                .await
                .map_err(disk)?;
        }
        Ok(())
    }

    /// The address of a pod; empty if it has that of the host.
    async fn address(&self, id: &str) -> Answer<String> {
        if let Some(address) = self.addresses.lock().get(id) {
            return Ok(address.clone());
        }
        let status = self.pod_status(id).await?;
        let address = status.and_then(|it| it.network).map(|it| it.ip).unwrap_or_default();
        self.addresses.lock().insert(id.to_owned(), address.clone());
        Ok(address)
    }

    /// Removes the files of pods that are gone: a process may have ended between
    /// the removal of a pod and that of its files.
    pub(super) async fn remove_lost_files(&self, pods: &[Pod]) {
        let there = |uid: &String| {
            pods.iter().any(|it| it.metadata.as_ref().is_some_and(|it| it.uid == *uid))
        };
        for uid in self.folder.pods().await.unwrap_or_default() {
            if !there(&uid)
                && let Err(error) = self.folder.remove_pod(&uid).await
            {
                warn!("could not remove the files of a pod that is gone: {error}");
            }
        }
    }

    pub(super) async fn describe(&self, id: &str, of: PodStatus) -> Answer<ContainerInfo> {
        let mut info = ContainerInfo {
            id: id.to_owned(),
            labels: merged(of.labels, of.annotations),
            image: String::new(),
            status: Status::Starting,
            unborn: true,
            started_at: String::new(),
        };
        let Some(container) = self.container_of(id).await? else { return Ok(info) };
        self.pods.lock().insert(container.id.clone(), (id.to_owned(), info.labels.clone()));
        let request = ContainerRequest { container_id: container.id };
        let answer: Answer<ContainerStatusResponse> =
            self.runtime("ContainerStatus", &request).await;
        let Some(status) = there(answer)?.and_then(|it| it.status) else { return Ok(info) };
        let is_ready = of.state == PodState::Ready as i32;
        info.image = status.image_ref;
        info.started_at = status.started_at.to_string();
        info.unborn = status.state == ContainerState::Created as i32;
        info.status = match ContainerState::try_from(status.state) {
            // Its pod is gone, and it can never be started.
            Ok(ContainerState::Created) if !is_ready => Status::Dead,
            Ok(ContainerState::Created) => Status::Starting,
            Ok(ContainerState::Running) if is_ready => Status::Running,
            Ok(ContainerState::Exited) => ended(status.exit_code, &status.reason),
            Ok(ContainerState::Running | ContainerState::Unknown) | Err(_) => Status::Dead,
        };
        Ok(info)
    }
}

/// The first process of a container cannot be killed from within: signal 9 comes
/// from outside, or from the kernel, for memory.
fn ended(code: i32, reason: &str) -> Status {
    match (code, reason) {
        (KILLED, reason) if reason != OUT_OF_MEMORY => Status::Stopped,
        (code, _) => Status::Exited { code: code.into() },
    }
}

/// The ports of the host that pods of any node have.
fn published(pods: &[Pod]) -> Vec<Port> {
    let running = pods.iter().filter(|it| it.state == PodState::Ready as i32);
    let ports = running
        .filter_map(|it| serde_json::from_str::<Vec<Port>>(it.annotations.get(pod::PORTS)?).ok());
    ports.flatten().collect()
}

fn neighbour(pod: &Pod, uid: String, address: String) -> Neighbour {
    let read = |name: &str| pod.annotations.get(name).cloned().unwrap_or_default();
    Neighbour {
        uid,
        address,
        hostname: read(pod::HOSTNAME),
        networks: serde_json::from_str(&read(pod::NETWORKS)).unwrap_or_default(),
        extra: serde_json::from_str(&read(pod::EXTRA_HOSTS)).unwrap_or_default(),
    }
}

pub(super) fn merged(
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
) -> Labels {
    annotations.into_iter().chain(labels).collect()
}

/// `None` if the object is gone.
pub(super) fn there<T>(answer: Answer<T>) -> Answer<Option<T>> {
    match answer {
        Ok(it) => Ok(Some(it)),
        Err(trouble) if trouble.is_gone() => Ok(None),
        Err(trouble) => Err(trouble),
    }
}

pub(super) fn disk(error: io::Error) -> EngineError {
    EngineError::Rejected { status: 500, message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_kernel_or_the_program_ends_has_exited() {
        assert_eq!(ended(137, "Error"), Status::Stopped);
        assert_eq!(ended(137, "OOMKilled"), Status::Exited { code: 137 });
        assert_eq!(ended(143, "Error"), Status::Exited { code: 143 });
        assert_eq!(ended(0, "Completed"), Status::Exited { code: 0 });
    }
}
