//! A parsed compose file, with every default and short form resolved.
//!
//! Ordered maps everywhere, so that the same file serialises to the same text.

mod mount;
mod network;
mod resources;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use mount::{Mount, MountKind, MountOptions, Propagation, Relabel};
pub use network::{AddressPool, Attachment, Ipam, Network};
pub use resources::{
    BlockIo, Cgroup, DeviceRequest, Ipc, LogDriver, Logging, Namespaces, Resources,
};

/// All of a compose file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Project {
    pub services: BTreeMap<String, Service>,
    /// With `default`, if a service is attached to it.
    pub networks: BTreeMap<String, Network>,
    pub volumes: BTreeMap<String, Volume>,
    pub configs: BTreeMap<String, ConfigFile>,
    pub secrets: BTreeMap<String, ConfigFile>,
}

impl Project {
    /// The services that run to completion: another service waits for each of
    /// them to be completed.
    pub fn one_shots(&self) -> BTreeSet<&str> {
        let waits = self.services.values().flat_map(|it| &it.depends_on);
        waits.filter(|it| *it.1 == Condition::Completed).map(|it| it.0.as_str()).collect()
    }
}

/// A container to run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Service {
    pub image: String,
    /// `None` leaves the image's own; an empty list means none at all.
    pub command: Option<Vec<String>>,
    pub entrypoint: Option<Vec<String>>,
    /// From `env_file`, then `environment`, then the parameters.
    pub environment: BTreeMap<String, String>,
    pub labels: BTreeMap<String, String>,
    pub ports: Vec<Port>,
    pub expose: Vec<u16>,
    pub mounts: Vec<Mount>,
    pub configs: Vec<ConfigMount>,
    pub secrets: Vec<ConfigMount>,
    /// Names in [`Project::networks`]; empty only if there is a `network_mode`.
    pub networks: BTreeMap<String, Attachment>,
    pub network_mode: Option<NetworkMode>,
    pub depends_on: BTreeMap<String, Condition>,
    /// `None` leaves the image's own.
    pub healthcheck: Option<Healthcheck>,
    pub user: Option<String>,
    pub working_dir: Option<String>,
    pub hostname: Option<String>,
    /// The engine's name of its container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_name: Option<String>,
    pub domainname: Option<String>,
    pub read_only: bool,
    pub privileged: bool,
    pub cap_add: Vec<String>,
    pub cap_drop: Vec<String>,
    /// `host[:container[:permissions]]`
    pub devices: Vec<String>,
    pub init: bool,
    pub stop_grace_period: Option<Duration>,
    pub stop_signal: Option<String>,
    /// In bytes.
    pub memory_limit: Option<u64>,
    pub cpus: Option<f64>,
    pub pids_limit: Option<i64>,
    /// `name:address`
    pub extra_hosts: Vec<String>,
    pub dns: Vec<String>,
    pub dns_search: Vec<String>,
    pub dns_options: Vec<String>,
    /// `path[:options]`
    pub tmpfs: Vec<String>,
    /// Soft and hard limit.
    pub ulimits: BTreeMap<String, (i64, i64)>,
    pub sysctls: BTreeMap<String, String>,
    pub security_opt: Vec<String>,
    pub tty: bool,
    pub stdin_open: bool,
    /// In bytes.
    pub shm_size: Option<u64>,
    pub group_add: Vec<String>,
    pub platform: Option<String>,
    pub pull_policy: PullPolicy,
    pub resources: Resources,
    pub namespaces: Namespaces,
    /// `None` leaves the files to the node.
    pub logging: Option<Logging>,
    /// The engine's name of an OCI runtime.
    pub runtime: Option<String>,
}

/// A container port that is reachable from outside.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Port {
    /// `None` is every address of the host.
    pub host_ip: Option<String>,
    /// `None` lets the engine choose.
    pub host: Option<u16>,
    pub container: u16,
    pub protocol: Protocol,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    #[default]
    Tcp,
    Udp,
    Sctp,
}

impl Protocol {
    pub fn as_str(self) -> &'static str {
        match self {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
            Protocol::Sctp => "sctp",
        }
    }
}

/// A config as a file of a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigMount {
    /// A name in [`Project::configs`].
    pub config: String,
    pub target: String,
    /// Permission bits, at most `0o777`.
    pub mode: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    Host,
    None,
}

/// What must be true of a service before one that depends on it is started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Condition {
    #[default]
    Started,
    Healthy,
    /// It has ended with code 0.
    Completed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Healthcheck {
    /// Disables the image's own check as well.
    Disabled,
    Check {
        /// `CMD` and the words of a command, or `CMD-SHELL` and a line for the shell.
        test: Vec<String>,
        interval: Duration,
        timeout: Duration,
        start_period: Duration,
        start_interval: Duration,
        retries: u32,
    },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PullPolicy {
    Always,
    #[default]
    Missing,
    Never,
}

/// A named volume of the project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    pub driver: Option<String>,
    pub driver_opts: BTreeMap<String, String>,
    pub labels: BTreeMap<String, String>,
    /// The engine's name of a volume that exists already; the rest is empty.
    pub external: Option<String>,
}

/// A file that services can have mounted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigFile {
    pub content: Vec<u8>,
}
