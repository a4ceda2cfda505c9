//! The calls of a container engine, on containerd.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use crate::compose::{Network, Volume};
use crate::config::{EngineInfo, Facts};
use crate::containerd::client::{ContainerdClient, POD, disk, merged, there};
use crate::containerd::output;
use crate::containerd::place::{VerboseRequest, VerboseResponse};
use crate::containerd::probe::ExecProbe;
use crate::containerd::wire::{ContainerRequest, ContainerState, Empty};
use crate::containers::api::{
    Abilities, Answer, ContainerApi, ContainerInfo, ContainerPlace, Endpoint, Event, Image, Labels,
    ListedContainer, ListedNetwork, ListedVolume, LoadedImage, NewContainer, OutputRange, Probe,
    Pull, Take,
};
use crate::containers::engine_error::EngineError;
use crate::containers::health::check::Check;
use crate::containers::pulls::Shown;

#[async_trait]
impl ContainerApi for ContainerdClient {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            network_first: true,
            starts_again: false,
            ports_at_creation: true,
            pulls_without_tls: false,
        }
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn images_dir(&self) -> &Path {
        &self.images_dir
    }

    async fn ping(&self) -> Answer<()> {
        self.runtime::<Empty>("Version", &Empty {}).await.map(drop)
    }

    async fn list(&self, labels: &[String]) -> Answer<Vec<ListedContainer>> {
        let select = labels.iter().filter_map(|it| it.split_once('='));
        let select = select.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let pods = self.pods_with(select).await?.into_iter();
        let listed =
            pods.map(|it| ListedContainer { id: it.id, labels: merged(it.labels, it.annotations) });
        Ok(listed.collect())
    }

    async fn inspect(&self, id: &str) -> Answer<Option<ContainerInfo>> {
        match self.pod_status(id).await? {
            Some(status) => self.describe(id, status).await.map(Some),
            None => Ok(None),
        }
    }

    async fn place(&self, id: &str) -> Answer<Option<ContainerPlace>> {
        let request = VerboseRequest { pod_sandbox_id: id.to_owned(), verbose: true };
        let answer: Answer<VerboseResponse> = self.runtime("PodSandboxStatus", &request).await;
        Ok(there(answer)?.and_then(VerboseResponse::place))
    }

    /// A pod that was created and whose container was not is removed again.
    async fn create(&self, new: &NewContainer<'_>) -> Answer<String> {
        let uid = Uuid::new_v4().simple().to_string();
        let files = self.files(new, &uid).await.map_err(disk)?;
        let (id, config) = match self.run_pod(new, &uid, &files).await {
            Ok(made) => made,
            Err(trouble) => {
                // Files without a pod only cost disk space until the next start.
                let _ = self.folder.remove_pod(&uid).await;
                return Err(trouble);
            }
        };
        let made = async {
            self.write_hosts(&new.labels).await?;
            self.create_container(new, &files, &id, config).await
        };
        if let Err(trouble) = made.await {
            let _ = self.remove_pod(&id).await;
            return Err(trouble);
        }
        Ok(id)
    }

    async fn start(&self, id: &str) -> Answer<()> {
        let gone = || EngineError::Rejected { status: 404, message: "no such pod".to_owned() };
        let container_id = self.container_of(id).await?.ok_or_else(gone)?.id;
        let request = ContainerRequest { container_id };
        self.runtime_within::<Empty>("StartContainer", &request, POD).await.map(drop)
    }

    async fn stop(&self, id: &str, grace: Duration) -> Answer<()> {
        self.stop_container(id, grace).await
    }

    async fn remove(&self, id: &str, force: bool) -> Answer<()> {
        let running = ContainerState::Running as i32;
        if !force && self.container_of(id).await?.is_some_and(|it| it.state == running) {
            let message = "the container runs".to_owned();
            return Err(EngineError::Rejected { status: 409, message });
        }
        self.remove_pod(id).await
    }

    /// A pod is in all of its networks from the beginning.
    async fn attach(&self, _id: &str, _endpoint: &Endpoint) -> Answer<()> {
        Ok(())
    }

    fn probe(&self, id: &str, check: &Check) -> Box<dyn Probe> {
        Box::new(ExecProbe::new(self, id, check))
    }

    async fn output(&self, id: &str, range: OutputRange, take: Take<'_>) -> Answer<()> {
        let Some(uid) = self.uid(id).await? else { return Ok(()) };
        output::read(&self.folder.pod(&uid), range, take).await.map_err(disk)
    }

    async fn events(&self, _labels: &[String], on_event: &(dyn Fn(Event) + Sync)) -> Answer<()> {
        self.listen(on_event).await
    }

    async fn image(&self, name: &str) -> Answer<Option<Image>> {
        self.find_image(name).await
    }

    async fn pull(&self, pull: &Pull<'_>, shown: &Shown<'_>) -> Answer<()> {
        self.pull_image(pull, shown).await
    }

    async fn load(&self, image: LoadedImage) -> Answer<()> {
        self.store_image(image).await
    }

    async fn remove_image(&self, name: &str, keep: &BTreeSet<String>) -> Answer<()> {
        self.drop_image(name, keep).await
    }

    async fn networks(&self, labels: &[String]) -> Answer<Vec<ListedNetwork>> {
        let mut networks = self.folder.networks().await.map_err(disk)?;
        networks.retain(|it| labels.iter().all(|wanted| has_label(&it.labels, wanted)));
        Ok(networks)
    }

    async fn network(&self, name: &str) -> Answer<Option<Labels>> {
        self.folder.network(name).await.map_err(disk)
    }

    async fn create_network(&self, name: &str, _of: &Network, labels: Labels) -> Answer<()> {
        self.folder.make_network(name, &labels).await.map_err(disk)
    }

    async fn remove_network(&self, name_or_id: &str) -> Answer<()> {
        self.folder.remove_network(name_or_id).await.map_err(disk)
    }

    async fn volumes(&self, labels: &[String]) -> Answer<Vec<ListedVolume>> {
        let mut volumes = self.folder.volumes().await.map_err(disk)?;
        volumes.retain(|it| labels.iter().all(|wanted| has_label(&it.labels, wanted)));
        Ok(volumes)
    }

    async fn volume(&self, name: &str) -> Answer<Option<Labels>> {
        self.folder.volume(name).await.map_err(disk)
    }

    async fn create_volume(&self, name: &str, _of: &Volume, labels: Labels) -> Answer<Labels> {
        if let Some(labels) = self.folder.volume(name).await.map_err(disk)? {
            return Ok(labels);
        }
        self.folder.make_named_volume(name, &labels).await.map_err(disk)?;
        Ok(labels)
    }

    /// The caller removes no volume that another of its deployments uses, and
    /// other containers cannot reach the folder.
    async fn remove_volume(&self, name: &str) -> Answer<()> {
        self.folder.remove_named_volume(name).await.map_err(disk)
    }
}

/// Whether `wanted`, as `key=value`, is among the labels.
fn has_label(labels: &Labels, wanted: &str) -> bool {
    let Some((key, value)) = wanted.split_once('=') else { return false };
    labels.get(key).is_some_and(|it| it == value)
}
