//! Docker and Podman as a container engine.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use bollard::Docker;
use bollard::container::LogOutput;
use bollard::models::{NetworkConnectRequest, NetworkCreateRequest, VolumeCreateRequest};
use bollard::query_parameters::{
    CreateContainerOptions, InspectNetworkOptions, ListNetworksOptions, ListVolumesOptions,
    LogsOptions, RemoveContainerOptions, RemoveImageOptions, RemoveVolumeOptions,
    StartContainerOptions, StopContainerOptions,
};
use futures_util::StreamExt;

use crate::compose::{Network, Volume};
use crate::config::{EngineInfo, EngineKind, Facts};
use crate::containers::api::{
    Abilities, Answer, ContainerApi, ContainerInfo, ContainerPlace, Endpoint, Event, Image, Labels,
    ListedContainer, ListedNetwork, ListedVolume, LoadedImage, NewContainer, OutputRange, Probe,
    Pull, Take,
};
use crate::containers::engine_error::EngineError;
use crate::containers::health::check::Check;
use crate::containers::pulls::Shown;
use crate::docker::api::{EngineApi, Info};
use crate::docker::body::body;
use crate::docker::body::network::{self, settings};
use crate::docker::image::pinned;
use crate::docker::probe::DockerProbe;

/// The engine's own overhead when it stops a container.
const MARGIN: Duration = Duration::from_secs(30);

/// A client of the Engine API.
#[derive(Debug, Clone)]
pub(crate) struct DockerClient {
    pub(super) docker: Docker,
    pub(super) api: EngineApi,
    info: EngineInfo,
    facts: Facts,
    images_dir: PathBuf,
    rotates_logs: bool,
}

impl DockerClient {
    pub(super) fn new(docker: Docker, api: EngineApi, info: EngineInfo, of: Info) -> DockerClient {
        DockerClient {
            facts: facts(&of),
            rotates_logs: info.kind == EngineKind::Docker && of.logging_driver == "json-file",
            images_dir: PathBuf::from(of.docker_root_dir),
            docker,
            api,
            info,
        }
    }

    pub(super) fn is_podman(&self) -> bool {
        self.info.kind == EngineKind::Podman
    }
}

#[async_trait]
impl ContainerApi for DockerClient {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            network_first: self.is_podman(),
            starts_again: true,
            ports_at_creation: false,
            pulls_without_tls: self.is_podman(),
        }
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn images_dir(&self) -> &Path {
        &self.images_dir
    }

    async fn ping(&self) -> Answer<()> {
        Ok(self.docker.ping().await.map(drop)?)
    }

    async fn list(&self, labels: &[String]) -> Answer<Vec<ListedContainer>> {
        let listed = self.api.list(labels).await?.into_iter();
        Ok(listed
            .map(|it| ListedContainer { id: it.id, labels: it.labels.unwrap_or_default() })
            .collect())
    }

    async fn inspect(&self, id: &str) -> Answer<Option<ContainerInfo>> {
        Ok(self.api.inspect(id).await?.map(ContainerInfo::from))
    }

    async fn place(&self, id: &str) -> Answer<Option<ContainerPlace>> {
        self.api.place(id).await
    }

    async fn create(&self, new: &NewContainer<'_>) -> Answer<String> {
        let mut body = body(new, self.is_podman(), self.rotates_logs);
        if new.service.image.contains('@')
            && let Some((name, _)) = self.known(&new.service.image).await?
        {
            body.image = Some(name);
        }
        let platform = new.service.platform.clone().unwrap_or_default();
        let create = |name: &String| {
            let options =
                CreateContainerOptions { name: Some(name.clone()), platform: platform.clone() };
            self.docker.create_container(Some(options), body.clone())
        };
        let [first, second, last] = &new.names;
        for name in [first, second] {
            match create(name).await.map_err(EngineError::from) {
                Err(trouble) if trouble.is_conflict() => {}
                made => return Ok(made?.id),
            }
        }
        Ok(create(last).await?.id)
    }

    async fn start(&self, id: &str) -> Answer<()> {
        Ok(self.docker.start_container(id, None::<StartContainerOptions>).await?)
    }

    async fn stop(&self, id: &str, grace: Duration) -> Answer<()> {
        let seconds = i32::try_from(grace.as_millis().div_ceil(1000)).unwrap_or(i32::MAX);
        let options = StopContainerOptions { t: Some(seconds), ..StopContainerOptions::default() };
        let docker = self.docker.clone().with_timeout(grace.saturating_add(MARGIN));
        or_gone(docker.stop_container(id, Some(options)).await)
    }

    async fn remove(&self, id: &str, force: bool) -> Answer<()> {
        let options =
            RemoveContainerOptions { v: true, force, ..RemoveContainerOptions::default() };
        or_gone(self.docker.remove_container(id, Some(options)).await)
    }

    async fn attach(&self, id: &str, endpoint: &Endpoint) -> Answer<()> {
        let request = NetworkConnectRequest {
            container: id.to_owned(),
            endpoint_config: Some(settings(endpoint)),
        };
        Ok(self.docker.connect_network(&endpoint.network, request).await?)
    }

    fn probe(&self, id: &str, check: &Check) -> Box<dyn Probe> {
        Box::new(DockerProbe::new(self, id, check))
    }

    async fn output(&self, id: &str, range: OutputRange, take: Take<'_>) -> Answer<()> {
        let since = range.since.and_then(|it| i32::try_from(it).ok()).unwrap_or_default();
        let options = LogsOptions {
            stdout: true,
            stderr: true,
            timestamps: true,
            since,
            tail: range.tail.map_or_else(|| "all".to_owned(), |it| it.to_string()),
            ..LogsOptions::default()
        };
        let mut parts = Box::pin(self.docker.logs(id, Some(options)));
        while let Some(part) = parts.next().await {
            match part.map(LogOutput::into_bytes).map_err(EngineError::from) {
                Ok(part) if take(&part) => {}
                Ok(_) => break,
                Err(trouble) if trouble.is_gone() => break,
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(())
    }

    async fn events(&self, labels: &[String], on_event: &(dyn Fn(Event) + Sync)) -> Answer<()> {
        self.listen(labels, on_event).await
    }

    async fn image(&self, name: &str) -> Answer<Option<Image>> {
        Ok(self.known(name).await?.map(|it| Image::from(it.1)))
    }

    async fn pull(&self, pull: &Pull<'_>, shown: &Shown<'_>) -> Answer<()> {
        self.api.pull(pull, shown).await
    }

    async fn load(&self, image: LoadedImage) -> Answer<()> {
        self.import(image).await
    }

    /// The engine keeps what has another name.
    async fn remove_image(&self, name: &str, _keep: &BTreeSet<String>) -> Answer<()> {
        for name in pinned::tag(name).as_deref().into_iter().chain([name]) {
            let removed = self.docker.remove_image(name, None::<RemoveImageOptions>, None).await;
            or_gone(removed.map(drop))?;
        }
        Ok(())
    }

    async fn networks(&self, labels: &[String]) -> Answer<Vec<ListedNetwork>> {
        let filters = Some(HashMap::from([("label".to_owned(), labels.to_vec())]));
        let found = self.docker.list_networks(Some(ListNetworksOptions { filters })).await?;
        let listed = found.into_iter().map(|it| ListedNetwork {
            id: it.id.unwrap_or_default(),
            name: it.name.unwrap_or_default(),
            labels: it.labels.unwrap_or_default().into_iter().collect(),
        });
        Ok(listed.collect())
    }

    async fn network(&self, name: &str) -> Answer<Option<Labels>> {
        let found = self.docker.inspect_network(name, None::<InspectNetworkOptions>).await;
        let found = there(found)?;
        Ok(found.map(|it| it.labels.unwrap_or_default().into_iter().collect()))
    }

    async fn create_network(&self, name: &str, of: &Network, labels: Labels) -> Answer<()> {
        let request = NetworkCreateRequest {
            name: name.to_owned(),
            driver: Some(of.driver.clone().unwrap_or_else(|| "bridge".to_owned())),
            internal: Some(of.internal),
            enable_ipv6: of.ipv6.then_some(true),
            ipam: of.ipam.as_ref().map(network::ipam),
            options: Some(of.driver_opts.clone().into_iter().collect()),
            labels: Some(labels.into_iter().collect()),
            ..NetworkCreateRequest::default()
        };
        Ok(self.docker.create_network(request).await.map(drop)?)
    }

    async fn remove_network(&self, name_or_id: &str) -> Answer<()> {
        Ok(self.docker.remove_network(name_or_id).await?)
    }

    async fn volumes(&self, labels: &[String]) -> Answer<Vec<ListedVolume>> {
        let filters = Some(HashMap::from([("label".to_owned(), labels.to_vec())]));
        let found = self.docker.list_volumes(Some(ListVolumesOptions { filters })).await?;
        let listed = found
            .volumes
            .unwrap_or_default()
            .into_iter()
            .map(|it| ListedVolume { name: it.name, labels: it.labels.into_iter().collect() });
        Ok(listed.collect())
    }

    async fn volume(&self, name: &str) -> Answer<Option<Labels>> {
        let found = there(self.docker.inspect_volume(name).await)?;
        Ok(found.map(|it| it.labels.into_iter().collect()))
    }

    /// Engines return a volume that exists already.
    async fn create_volume(&self, name: &str, of: &Volume, labels: Labels) -> Answer<Labels> {
        let request = VolumeCreateRequest {
            name: Some(name.to_owned()),
            driver: Some(of.driver.clone().unwrap_or_else(|| "local".to_owned())),
            driver_opts: Some(of.driver_opts.clone().into_iter().collect()),
            labels: Some(labels.into_iter().collect()),
            ..VolumeCreateRequest::default()
        };
        Ok(self.docker.create_volume(request).await?.labels.into_iter().collect())
    }

    async fn remove_volume(&self, name: &str) -> Answer<()> {
        or_gone(self.docker.remove_volume(name, None::<RemoveVolumeOptions>).await)
    }
}

fn there<T>(answer: Result<T, bollard::errors::Error>) -> Answer<Option<T>> {
    match answer.map_err(EngineError::from) {
        Ok(it) => Ok(Some(it)),
        Err(trouble) if trouble.is_gone() => Ok(None),
        Err(trouble) => Err(trouble),
    }
}

fn or_gone(answer: Result<(), bollard::errors::Error>) -> Answer<()> {
    there(answer).map(drop)
}

fn facts(info: &Info) -> Facts {
    let os = [&info.operating_system, &info.os_type].into_iter().find(|it| !it.is_empty());
    Facts {
        cpus: f64::from(info.cpus),
        architecture: info.architecture.clone(),
        memory_bytes: info.mem_total,
        storage_bytes: 0,
        os: os.cloned().unwrap_or_default(),
    }
}
