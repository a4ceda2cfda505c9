//! What a runtime is made with, and what it tells about itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use colony_margo::{ApplicationDeployment, Component, DeploymentId, DeviceId};

use crate::source::Source;

/// All a runtime needs to know.
#[derive(Clone)]
pub struct Config {
    /// Whose containers these are.
    pub node: DeviceId,
    /// What tells the node from all others in the world, also from one of the
    /// same name in another site.
    pub identity: String,
    /// Where archives, configuration files and old logs are kept.
    pub dir: PathBuf,
    pub engine: Choice,
    /// Serves what lies on the host `colony.builtin`.
    pub manager: Option<Arc<dyn Source>>,
    /// Goes into every container; what the compose file says comes first.
    pub environment: BTreeMap<String, String>,
    pub registries: Registries,
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
}

/// How to talk to registries. Hosts are written with their port, if any.
#[derive(Debug, Clone, Default)]
pub struct Registries {
    /// Spoken to without TLS, as those on a loopback address always are.
    pub insecure: BTreeSet<String>,
    pub credentials: BTreeMap<String, Credential>,
}

/// What a registry wants to see.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    pub user: String,
    pub password: String,
}

/// The engine that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineInfo {
    /// `docker` or `podman`.
    pub kind: &'static str,
    pub version: String,
    pub socket: PathBuf,
}

/// What an action is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    pub document: ApplicationDeployment,
    pub component: Component,
}

/// What the machine has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    pub cpus: f64,
    /// As the engine calls it, such as `x86_64`.
    pub architecture: String,
    pub memory_bytes: u64,
    /// Size of the file system that holds the engine's images.
    pub storage_bytes: u64,
    pub os: String,
}

/// How far the fetching of an image is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullProgress {
    /// For whom it is fetched.
    pub deployment: DeploymentId,
    pub image: String,
    pub done_bytes: u64,
    /// What is known of so far: it grows while layers are announced.
    pub total_bytes: u64,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment may hold secrets.
        f.debug_struct("Config")
            .field("node", &self.node)
            .field("identity", &self.identity)
            .field("dir", &self.dir)
            .field("engine", &self.engine)
            .field("environment", &self.environment.keys())
            .field("registries", &self.registries)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("user", &self.user).finish_non_exhaustive()
    }
}
