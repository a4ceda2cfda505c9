//! Stops and removes pods with their containers.

use std::time::Duration;

use crate::containerd::client::{ContainerdClient, POD, disk, there};
use crate::containerd::events::NAMESPACE;
use crate::containerd::grpc::ANSWER;
use crate::containerd::pod;
use crate::containerd::wire::{
    ContainerState, Empty, KillRequest, PodRequest, StopContainerRequest, WaitRequest,
};
use crate::containers::api::Answer;
use crate::containers::engine_error::EngineError;

impl ContainerdClient {
    /// The pod is stopped with its container: it holds the ports.
    pub(super) async fn stop_container(&self, id: &str, grace: Duration) -> Answer<()> {
        if let Some(container) = self.container_of(id).await? {
            let runs = container.state == ContainerState::Running as i32;
            let signal = if runs { self.stop_signal(id).await? } else { None };
            let grace = match signal {
                Some(signal) => self.signal(&container.id, signal, grace).await?,
                None => grace,
            };
            let timeout = i64::try_from(grace.as_millis().div_ceil(1000)).unwrap_or(i64::MAX);
            let request = StopContainerRequest { container_id: container.id, timeout };
            let time = grace.saturating_add(POD);
            let stopped: Answer<Empty> = self.runtime_within("StopContainer", &request, time).await;
            there(stopped)?;
        }
        self.stop_pod(id).await
    }

    /// The signal of the compose file. CRI sends that of the image.
    async fn stop_signal(&self, id: &str) -> Answer<Option<u32>> {
        let annotations = self.pod_status(id).await?.map(|it| it.annotations);
        let signal = annotations.and_then(|it| it.get(pod::STOP_SIGNAL)?.parse().ok());
        Ok(signal)
    }

    /// Sends a signal and waits for the end. Returns the rest of the time:
    /// none, because the container had all of it.
    async fn signal(&self, container: &str, signal: u32, grace: Duration) -> Answer<Duration> {
        let method = |it: &str| format!("/containerd.services.tasks.v1.Tasks/{it}");
        let request = KillRequest { container_id: container.to_owned(), signal };
        let sent = self.grpc.call_in::<Empty>(NAMESPACE, &method("Kill"), &request, ANSWER).await;
        there(sent)?;
        let request = WaitRequest { container_id: container.to_owned() };
        let ended = self.grpc.call_in::<Empty>(NAMESPACE, &method("Wait"), &request, grace).await;
        match ended {
            Err(EngineError::Timeout) => Ok(Duration::ZERO),
            other => there(other).map(|_| Duration::ZERO),
        }
    }

    async fn stop_pod(&self, id: &str) -> Answer<()> {
        let request = PodRequest { pod_sandbox_id: id.to_owned() };
        let stopped: Answer<Empty> = self.runtime_within("StopPodSandbox", &request, POD).await;
        there(stopped.map_err(pod::refusal::explained)).map(drop)
    }

    pub(super) async fn uid(&self, id: &str) -> Answer<Option<String>> {
        let status = self.pod_status(id).await?;
        Ok(status.and_then(|it| it.metadata).map(|it| it.uid))
    }

    pub(super) async fn remove_pod(&self, id: &str) -> Answer<()> {
        let uid = self.uid(id).await?;
        self.stop_pod(id).await?;
        let request = PodRequest { pod_sandbox_id: id.to_owned() };
        let removed: Answer<Empty> = self.runtime_within("RemovePodSandbox", &request, POD).await;
        there(removed.map_err(pod::refusal::explained))?;
        self.addresses.lock().remove(id);
        self.pods.lock().retain(|_, it| it.0 != id);
        match uid {
            Some(uid) => self.folder.remove_pod(&uid).await.map_err(disk),
            None => Ok(()),
        }
    }
}
