//! What a service may use of the machine, and what it shares with it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Shares and limits besides the common ones, which are fields of `Service`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    pub cpu_shares: Option<i64>,
    /// In microseconds, as all times of the scheduler.
    pub cpu_period: Option<i64>,
    pub cpu_quota: Option<i64>,
    pub cpu_rt_period: Option<i64>,
    pub cpu_rt_runtime: Option<i64>,
    /// Such as `0-2,4`.
    pub cpuset: Option<String>,
    /// In bytes.
    pub memory_reservation: Option<u64>,
    /// Memory and swap in bytes; `-1` for no limit.
    pub memory_swap: Option<i64>,
    pub memory_swappiness: Option<i64>,
    pub oom_kill_disable: bool,
    pub oom_score_adj: Option<i64>,
    pub block_io: BlockIo,
    pub cgroup_parent: Option<String>,
    /// Such as `c 1:3 mr`.
    pub device_cgroup_rules: Vec<String>,
    pub device_requests: Vec<DeviceRequest>,
    pub storage_opt: BTreeMap<String, String>,
}

/// Shares and limits of disks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockIo {
    pub weight: Option<u16>,
    /// By device, as the limits.
    pub weight_device: Vec<(String, u16)>,
    /// In bytes per second.
    pub read_bps: Vec<(String, u64)>,
    pub write_bps: Vec<(String, u64)>,
    /// Operations per second.
    pub read_iops: Vec<(String, u64)>,
    pub write_iops: Vec<(String, u64)>,
}

/// Devices that a driver of the engine chooses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRequest {
    pub driver: Option<String>,
    /// `-1` for all of them.
    pub count: Option<i64>,
    pub ids: Vec<String>,
    pub capabilities: Vec<String>,
    pub options: BTreeMap<String, String>,
}

/// What a service shares with the machine or has to itself. `None` leaves the
/// choice to the engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespaces {
    pub ipc: Option<Ipc>,
    /// It sees all processes of the machine.
    pub host_pid: bool,
    /// It has the host name of the machine.
    pub host_uts: bool,
    /// Its users are those of the machine.
    pub host_users: bool,
    pub cgroup: Option<Cgroup>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ipc {
    Host,
    None,
    Private,
    Shareable,
}

impl Ipc {
    pub fn as_str(self) -> &'static str {
        match self {
            Ipc::Host => "host",
            Ipc::None => "none",
            Ipc::Private => "private",
            Ipc::Shareable => "shareable",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cgroup {
    Host,
    Private,
}

/// The files of an engine for the output of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logging {
    pub driver: LogDriver,
    /// In bytes, of one file.
    pub max_size: Option<u64>,
    pub max_file: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogDriver {
    #[default]
    JsonFile,
    Local,
}
