//! The calls to a container engine that a node needs.
//!
//! One implementation for each API: `docker` for the Engine API of Docker and
//! Podman, `containerd` for the Container Runtime Interface. What is done with
//! these calls, and in which order, is the same for all of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use colony_core::node::Status;
use serde::Deserialize;

use crate::compose::{Attachment, Network, Service, Volume};
use crate::config::{Credential, EngineInfo, Facts};
use crate::containers::engine_error::EngineError;
use crate::containers::health::check::Check;
use crate::containers::pulls::Shown;
use crate::oci::registry::{Descriptor, Manifest, Parts};

pub(crate) type Labels = BTreeMap<String, String>;

/// An error of a call, or its result.
pub(crate) type Answer<T> = Result<T, EngineError>;

/// What a check said: `Err` holds its output.
pub(crate) type Verdict = Result<(), String>;

/// A container engine. An object that is gone is `None`, and removing it again
/// succeeds.
#[async_trait]
pub(crate) trait ContainerApi: fmt::Debug + Send + Sync {
    fn info(&self) -> &EngineInfo;

    fn abilities(&self) -> Abilities;

    /// The resources of the machine, without its storage.
    fn facts(&self) -> &Facts;

    /// Where the engine keeps its images.
    fn images_dir(&self) -> &Path;

    async fn ping(&self) -> Answer<()>;

    /// Containers with all these labels (`name=value`), in any state.
    async fn list(&self, labels: &[String]) -> Answer<Vec<ListedContainer>>;

    async fn inspect(&self, id: &str) -> Answer<Option<ContainerInfo>>;

    /// Where a running container is on this host. `None` if it does not run, or
    /// if the engine does not say.
    async fn place(&self, _id: &str) -> Answer<Option<ContainerPlace>> {
        Ok(None)
    }

    /// Creates a container, attached to its first network, and starts nothing.
    /// Returns its id.
    async fn create(&self, new: &NewContainer<'_>) -> Answer<String>;

    async fn start(&self, id: &str) -> Answer<()>;

    /// Asks the container to end, and ends it after `grace`.
    async fn stop(&self, id: &str, grace: Duration) -> Answer<()>;

    /// Removes a container with its anonymous volumes. Without `force` one that
    /// runs is refused.
    async fn remove(&self, id: &str, force: bool) -> Answer<()>;

    /// Attaches a container to a further network.
    async fn attach(&self, id: &str, endpoint: &Endpoint) -> Answer<()>;

    /// A health check, to be run repeatedly.
    fn probe(&self, id: &str, check: &Check) -> Box<dyn Probe>;

    /// Passes the output of a container to `take`, as lines of a time stamp and
    /// a text, in parts of any length, until `take` has enough.
    async fn output(&self, id: &str, range: OutputRange, take: Take<'_>) -> Answer<()>;

    /// Passes events about containers with all these labels to `on_event` until the
    /// engine ends the stream. An engine that cannot select may pass events of
    /// other containers too, then without labels.
    async fn events(&self, labels: &[String], on_event: &(dyn Fn(Event) + Sync)) -> Answer<()>;

    async fn image(&self, name: &str) -> Answer<Option<Image>>;

    async fn pull(&self, pull: &Pull<'_>, shown: &Shown<'_>) -> Answer<()>;

    /// Stores an image whose digests are verified, its layers while they arrive.
    async fn load(&self, image: LoadedImage) -> Answer<()>;

    /// Not by force: an image that a container uses is refused. What has one of
    /// the names in `keep` too stays under that name.
    async fn remove_image(&self, name: &str, keep: &BTreeSet<String>) -> Answer<()>;

    async fn networks(&self, labels: &[String]) -> Answer<Vec<ListedNetwork>>;

    async fn network(&self, name: &str) -> Answer<Option<Labels>>;

    async fn create_network(&self, name: &str, of: &Network, labels: Labels) -> Answer<()>;

    async fn remove_network(&self, name_or_id: &str) -> Answer<()>;

    /// Volumes with all these labels.
    async fn volumes(&self, labels: &[String]) -> Answer<Vec<ListedVolume>>;

    async fn volume(&self, name: &str) -> Answer<Option<Labels>>;

    /// Returns the labels of the volume, which may have existed before.
    async fn create_volume(&self, name: &str, of: &Volume, labels: Labels) -> Answer<Labels>;

    /// Not by force: engines refuse to remove a volume that a container uses.
    async fn remove_volume(&self, name: &str) -> Answer<()>;
}

/// Receives a part of an output; whether more is wanted.
pub(crate) type Take<'a> = &'a mut (dyn FnMut(&[u8]) -> bool + Send);

/// Where engines differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Abilities {
    /// A network must exist before a container is created, and is created
    /// quickly. Otherwise it is needed when the container starts, and both are
    /// created concurrently.
    pub(crate) network_first: bool,
    /// A container that has ended can be started again. Otherwise it is
    /// replaced by a new one.
    pub(crate) starts_again: bool,
    /// A container takes its ports of the host when it is created, not when it
    /// starts: it cannot be created while another one has them.
    pub(crate) ports_at_creation: bool,
    /// Whether it can be asked to use a registry without TLS.
    pub(crate) pulls_without_tls: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedContainer {
    pub(crate) id: String,
    pub(crate) labels: Labels,
}

/// A container as its engine describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContainerInfo {
    pub(crate) id: String,
    pub(crate) labels: Labels,
    /// The id of its image.
    pub(crate) image: String,
    pub(crate) status: Status,
    /// It never ran.
    pub(crate) unborn: bool,
    /// When it was started last, as the engine writes it.
    pub(crate) started_at: String,
}

/// How a container takes part in a network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// The engine's name of the network.
    pub(crate) network: String,
    /// With all names of the service as aliases.
    pub(crate) attachment: Attachment,
}

/// The process of a running container and its addresses in networks that lead
/// outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContainerPlace {
    pub(crate) pid: u32,
    pub(crate) addresses: Vec<Ipv4Addr>,
}

/// A container to be created.
#[derive(Debug)]
pub(crate) struct NewContainer<'a> {
    /// Names by preference: the next is used if another container has the one
    /// before.
    pub(crate) names: [String; 3],
    pub(crate) service: &'a Service,
    /// Variables of every container of the node; the service's own take
    /// precedence.
    pub(crate) environment: &'a BTreeMap<String, String>,
    pub(crate) labels: HashMap<String, String>,
    /// The first is attached at creation.
    pub(crate) networks: &'a [Endpoint],
    /// The engine's names of the volumes.
    pub(crate) volumes: &'a BTreeMap<String, String>,
    /// Files of the host and their paths in the container.
    pub(crate) configs: &'a [(String, String)],
    /// Fills an empty volume with the content of the image. Off for a staged
    /// container, because the volume belongs to the active one.
    pub(crate) copy_up: bool,
    /// The node runs it.
    pub(crate) check: Option<&'a Check>,
}

#[cfg(feature = "containerd")]
impl NewContainer<'_> {
    /// The name of its service.
    pub(crate) fn service_name(&self) -> &str {
        self.labels.get(crate::containers::label::SERVICE).map_or("", String::as_str)
    }
}

/// Runs one health check of one container.
#[async_trait]
pub(crate) trait Probe: Send {
    /// Runs the check once. `Err` means that it could not be run.
    async fn ask(&mut self) -> Answer<Verdict>;
}

/// Which part of an output is asked for. An engine may pass more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutputRange {
    /// The last lines; all if absent.
    pub(crate) tail: Option<u32>,
    /// In seconds since 1970.
    pub(crate) since: Option<u64>,
}

/// An event of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: String,
    /// The engine's word for it.
    pub(crate) action: String,
    pub(crate) signal: Option<String>,
    pub(crate) labels: Labels,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) id: String,
    /// Of the platform that it is made for, as images name it; empty if it does
    /// not say.
    pub(crate) os: String,
    pub(crate) architecture: String,
    pub(crate) check: Option<ImageCheck>,
}

/// A health check as images carry it; times in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ImageCheck {
    pub(crate) test: Option<Vec<String>>,
    pub(crate) interval: Option<u64>,
    pub(crate) timeout: Option<u64>,
    pub(crate) start_period: Option<u64>,
    pub(crate) start_interval: Option<u64>,
    pub(crate) retries: Option<u32>,
}

/// What to pull.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pull<'a> {
    pub(crate) image: &'a str,
    /// `os/architecture[/variant]`.
    pub(crate) platform: Option<&'a str>,
    pub(crate) credential: Option<&'a Credential>,
    /// Without TLS, for an engine that can be asked for it.
    pub(crate) plain: bool,
    /// How long the answer may stall.
    pub(crate) stall: Duration,
}

/// An image that is read from its registry while the engine stores it.
#[derive(Debug)]
pub(crate) struct LoadedImage {
    pub(crate) name: String,
    /// As published: what the name stands for first, that of the image last.
    #[cfg_attr(
        not(feature = "containerd"),
        expect(dead_code, reason = "Docker and Podman make manifests themselves")
    )]
    pub(crate) manifests: Vec<(Bytes, Manifest)>,
    pub(crate) config: Bytes,
    /// The layers, which arrive one after the other. One of which nothing is
    /// wanted can be dropped.
    pub(crate) layers: Vec<(Descriptor, Parts)>,
    /// How long the engine may stall.
    pub(crate) stall: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedVolume {
    pub(crate) name: String,
    pub(crate) labels: Labels,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedNetwork {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) labels: Labels,
}
