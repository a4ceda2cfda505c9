//! The configuration of a runtime, and the facts it reports.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use colony_core::margo::{ApplicationDeployment, Component, DeploymentId, DeviceId};
use colony_core::node::image::ImagePolicy;

use crate::oci::credentials::CredentialStore;
use crate::oci::source::Source;

/// The configuration of a runtime.
#[derive(Clone)]
pub struct Config {
    /// The node that owns the containers.
    pub node: DeviceId,
    /// A globally unique identity of the node, which also differs from that of
    /// a node with the same name in another site.
    pub identity: String,
    /// Where archives, configuration files and old logs are kept.
    pub dir: PathBuf,
    /// At least one; one for each type of profile.
    pub engines: Vec<Choice>,
    /// The program `helm`; looked for in `PATH` if absent.
    pub helm: Option<PathBuf>,
    /// Serves the content of the host `colony.builtin`.
    pub manager: Option<Arc<dyn Source>>,
    /// Variables of every container; the compose file takes precedence.
    pub environment: BTreeMap<String, String>,
    pub registries: Registries,
    /// How long images are kept that nothing needs.
    pub images: ImagePolicy,
    pub policy: DocumentPolicy,
}

/// What deployments may ask for on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentPolicy {
    /// `container_name` of compose files.
    pub container_names: bool,
    /// Networks and volumes of compose files that are `external`.
    pub external_resources: bool,
    /// The namespaces of Helm releases; every one that is not the cluster's own
    /// if there are none.
    pub namespaces: BTreeSet<String>,
}

impl Default for DocumentPolicy {
    fn default() -> DocumentPolicy {
        DocumentPolicy {
            container_names: false,
            external_resources: true,
            namespaces: BTreeSet::new(),
        }
    }
}

/// Which engine to use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Choice {
    /// The first that answers.
    #[default]
    Auto,
    Docker,
    Podman,
    Socket(PathBuf),
    /// The socket of a containerd, or the usual one.
    Containerd(Option<PathBuf>),
    /// The cluster of a kubeconfig, or the one that `kubectl` would use.
    Kubernetes(Option<PathBuf>),
}

/// How to talk to registries. Hosts are written with their port, if any.
#[derive(Debug, Clone, Default)]
pub struct Registries {
    /// Hosts that are used without TLS, as loopback addresses always are.
    pub insecure: BTreeSet<String>,
    pub credentials: CredentialStore,
}

/// What a client authenticates with at a registry.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    Password {
        user: String,
        password: String,
    },
    /// A refresh token: a token server exchanges it for access.
    IdentityToken(String),
}

/// The engine that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineInfo {
    pub kind: EngineKind,
    pub version: String,
    /// The path of its socket, or the URL of its API.
    pub address: String,
}

/// The kinds of container engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EngineKind {
    Docker,
    Podman,
    /// Through its Container Runtime Interface.
    Containerd,
    /// Helm charts on a cluster.
    Kubernetes,
}

impl EngineKind {
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Docker => "docker",
            EngineKind::Podman => "podman",
            EngineKind::Containerd => "containerd",
            EngineKind::Kubernetes => "kubernetes",
        }
    }

    /// The type of profiles that it runs.
    pub fn profile_type(self) -> &'static str {
        match self {
            EngineKind::Docker | EngineKind::Podman | EngineKind::Containerd => "compose",
            EngineKind::Kubernetes => "helm",
        }
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The document and the component that an action is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    pub document: ApplicationDeployment,
    pub component: Component,
}

/// The resources of the machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    pub cpus: f64,
    /// The engine's name for it, such as `x86_64`.
    pub architecture: String,
    pub memory_bytes: u64,
    /// Size of the file system that holds the engine's images.
    pub storage_bytes: u64,
    pub os: String,
}

/// The progress of an image pull.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullProgress {
    /// The deployment that needs the image.
    pub deployment: DeploymentId,
    pub image: String,
    pub done_bytes: u64,
    /// The bytes announced so far: it grows while layers are announced.
    pub total_bytes: u64,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment may hold secrets.
        f.debug_struct("Config")
            .field("node", &self.node)
            .field("identity", &self.identity)
            .field("dir", &self.dir)
            .field("engines", &self.engines)
            .field("environment", &self.environment.keys())
            .field("registries", &self.registries)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Credential::Password { user, .. } => {
                f.debug_struct("Password").field("user", user).finish_non_exhaustive()
            }
            Credential::IdentityToken(_) => f.write_str("IdentityToken(…)"),
        }
    }
}
