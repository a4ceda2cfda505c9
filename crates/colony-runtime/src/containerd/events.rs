//! Events of containers, and the rotation of their logs: containerd does not rotate them itself.

use std::convert::Infallible;
use std::time::Duration;

use prost::Message;
use tokio::time::{Instant, sleep};
use tracing::debug;

use crate::containerd::client::ContainerdClient;
use crate::containerd::grpc::{framed, whole};
use crate::containerd::output;
use crate::containerd::wire::{
    ContainerRequest, ContainerState, Empty, Envelope, SubscribeRequest, TaskExit,
};
use crate::containers::api::{Answer, Event, Labels};

/// The namespace that CRI uses.
pub(super) const NAMESPACE: (&str, &str) = ("containerd-namespace", "k8s.io");
const EXIT: &str = "/tasks/exit";
const SUBSCRIBE: &str = "/containerd.services.events.v1.Events/Subscribe";
/// How often the sizes of log files are looked at.
const ROTATION: Duration = Duration::from_secs(10);
/// How long CRI may take to note the end of a container.
const NOTED: Duration = Duration::from_secs(2);
const NOTED_LOOK: Duration = Duration::from_millis(5);

impl ContainerdClient {
    pub(super) async fn listen(&self, on_event: &(dyn Fn(Event) + Sync)) -> Answer<()> {
        let topics = ["/tasks/start", EXIT, "/tasks/oom", "/containers/delete"];
        let filters = topics.map(|it| format!("namespace==\"k8s.io\",topic==\"{it}\"")).to_vec();
        let body = whole(framed([&SubscribeRequest { filters }]));
        let listen = async {
            // The engine answers with the first event.
            let mut events = self.grpc.open(SUBSCRIBE, &[NAMESPACE], body).await?;
            while let Some(envelope) = events.next().await? {
                if let Some(event) = self.event(&envelope) {
                    if event.action == EXIT {
                        self.await_end(&event.id).await;
                    }
                    on_event(event);
                }
            }
            Ok(())
        };
        tokio::select! {
            ended = listen => ended,
            never = self.rotate_always() => match never {},
        }
    }

    /// CRI learns of an end by the same event, and may not have noted it yet.
    async fn await_end(&self, pod: &str) {
        let end = Instant::now() + NOTED;
        while Instant::now() < end {
            match self.container_of(pod).await {
                Ok(Some(it)) if it.state == ContainerState::Running as i32 => {
                    sleep(NOTED_LOOK).await;
                }
                Ok(_) | Err(_) => return,
            }
        }
    }

    async fn rotate_always(&self) -> Infallible {
        loop {
            sleep(ROTATION).await;
            self.rotate_all().await;
        }
    }

    /// `None` for the end of a command that was executed in a container: health
    /// checks must not wake the node.
    fn event(&self, envelope: &Envelope) -> Option<Event> {
        let value = envelope.event.as_ref().map(|it| it.value.as_slice()).unwrap_or_default();
        let container = match envelope.topic.as_str() {
            EXIT => {
                let exit = TaskExit::decode(value).unwrap_or_default();
                (exit.id == exit.container_id).then_some(exit.container_id)?
            }
            _ => ContainerRequest::decode(value).unwrap_or_default().container_id,
        };
        let known = self.pods.lock().get(&container).cloned();
        let (id, labels) = known.unwrap_or_else(|| (container, Labels::new()));
        Some(Event { id, action: envelope.topic.clone(), signal: None, labels })
    }

    async fn rotate_all(&self) {
        for uid in self.folder.pods().await.unwrap_or_default() {
            match output::rotate(&self.folder.pod(&uid)).await {
                Ok(true) => self.reopen(&uid).await,
                Ok(false) => {}
                Err(error) => debug!("could not rotate the log of a pod: {error}"),
            }
        }
    }

    /// Until the engine opens the file again it writes to the renamed one.
    async fn reopen(&self, uid: &str) {
        let reopened: Answer<()> = async {
            let pods = self.pods_with(Labels::new()).await?;
            let is_it = |it: &crate::containerd::wire::Pod| {
                it.metadata.as_ref().is_some_and(|it| it.uid == uid)
            };
            let Some(pod) = pods.into_iter().find(is_it) else { return Ok(()) };
            let Some(container) = self.container_of(&pod.id).await? else { return Ok(()) };
            let request = ContainerRequest { container_id: container.id };
            self.runtime::<Empty>("ReopenContainerLog", &request).await.map(drop)
        }
        .await;
        if let Err(trouble) = reopened {
            debug!("could not open the log of a pod again: {trouble}");
        }
    }
}
