//! Containers in pods.

use std::collections::BTreeMap;

use prost::{Enumeration, Message};

use super::{NamespaceOption, PodConfig};

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct CreateContainerRequest {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) pod_sandbox_id: String,
    #[prost(message, optional, tag = "2")]
    pub(in crate::containerd) config: Option<ContainerConfig>,
    #[prost(message, optional, tag = "3")]
    pub(in crate::containerd) sandbox_config: Option<PodConfig>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct ContainerConfig {
    #[prost(message, optional, tag = "1")]
    pub(in crate::containerd) metadata: Option<ContainerMetadata>,
    #[prost(message, optional, tag = "2")]
    pub(in crate::containerd) image: Option<ImageSpec>,
    #[prost(string, repeated, tag = "3")]
    pub(in crate::containerd) command: Vec<String>,
    #[prost(string, repeated, tag = "4")]
    pub(in crate::containerd) args: Vec<String>,
    #[prost(string, tag = "5")]
    pub(in crate::containerd) working_dir: String,
    #[prost(message, repeated, tag = "6")]
    pub(in crate::containerd) envs: Vec<KeyValue>,
    #[prost(message, repeated, tag = "7")]
    pub(in crate::containerd) mounts: Vec<Mount>,
    #[prost(message, repeated, tag = "8")]
    pub(in crate::containerd) devices: Vec<Device>,
    #[prost(btree_map = "string, string", tag = "9")]
    pub(in crate::containerd) labels: BTreeMap<String, String>,
    #[prost(string, tag = "11")]
    pub(in crate::containerd) log_path: String,
    #[prost(bool, tag = "12")]
    pub(in crate::containerd) stdin: bool,
    #[prost(bool, tag = "14")]
    pub(in crate::containerd) tty: bool,
    #[prost(message, optional, tag = "15")]
    pub(in crate::containerd) linux: Option<LinuxContainerConfig>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct ContainerMetadata {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct ImageSpec {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) image: String,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct KeyValue {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) key: String,
    #[prost(string, tag = "2")]
    pub(in crate::containerd) value: String,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct Mount {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) container_path: String,
    #[prost(string, tag = "2")]
    pub(in crate::containerd) host_path: String,
    #[prost(bool, tag = "3")]
    pub(in crate::containerd) readonly: bool,
    #[prost(bool, tag = "4")]
    pub(in crate::containerd) selinux_relabel: bool,
    #[prost(enumeration = "MountPropagation", tag = "5")]
    pub(in crate::containerd) propagation: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub(in crate::containerd) enum MountPropagation {
    Private = 0,
    HostToContainer = 1,
    Bidirectional = 2,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct Device {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) container_path: String,
    #[prost(string, tag = "2")]
    pub(in crate::containerd) host_path: String,
    #[prost(string, tag = "3")]
    pub(in crate::containerd) permissions: String,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct LinuxContainerConfig {
    #[prost(message, optional, tag = "1")]
    pub(in crate::containerd) resources: Option<LinuxResources>,
    #[prost(message, optional, tag = "2")]
    pub(in crate::containerd) security_context: Option<SecurityContext>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct LinuxResources {
    #[prost(int64, tag = "1")]
    pub(in crate::containerd) cpu_period: i64,
    #[prost(int64, tag = "2")]
    pub(in crate::containerd) cpu_quota: i64,
    #[prost(int64, tag = "3")]
    pub(in crate::containerd) cpu_shares: i64,
    #[prost(int64, tag = "4")]
    pub(in crate::containerd) memory_limit_in_bytes: i64,
    #[prost(int64, tag = "5")]
    pub(in crate::containerd) oom_score_adj: i64,
    #[prost(string, tag = "6")]
    pub(in crate::containerd) cpuset_cpus: String,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct SecurityContext {
    #[prost(message, optional, tag = "1")]
    pub(in crate::containerd) capabilities: Option<Capability>,
    #[prost(bool, tag = "2")]
    pub(in crate::containerd) privileged: bool,
    #[prost(message, optional, tag = "3")]
    pub(in crate::containerd) namespace_options: Option<NamespaceOption>,
    #[prost(message, optional, tag = "5")]
    pub(in crate::containerd) run_as_user: Option<Int64Value>,
    #[prost(string, tag = "6")]
    pub(in crate::containerd) run_as_username: String,
    #[prost(bool, tag = "7")]
    pub(in crate::containerd) readonly_rootfs: bool,
    #[prost(int64, repeated, tag = "8")]
    pub(in crate::containerd) supplemental_groups: Vec<i64>,
    #[prost(bool, tag = "11")]
    pub(in crate::containerd) no_new_privs: bool,
    #[prost(message, optional, tag = "12")]
    pub(in crate::containerd) run_as_group: Option<Int64Value>,
    #[prost(message, optional, tag = "15")]
    pub(in crate::containerd) seccomp: Option<SecurityProfile>,
    #[prost(message, optional, tag = "16")]
    pub(in crate::containerd) apparmor: Option<SecurityProfile>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct Capability {
    #[prost(string, repeated, tag = "1")]
    pub(in crate::containerd) add_capabilities: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(in crate::containerd) drop_capabilities: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct Int64Value {
    #[prost(int64, tag = "1")]
    pub(in crate::containerd) value: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct SecurityProfile {
    #[prost(enumeration = "ProfileType", tag = "1")]
    pub(in crate::containerd) profile_type: i32,
    #[prost(string, tag = "2")]
    pub(in crate::containerd) localhost_ref: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub(in crate::containerd) enum ProfileType {
    RuntimeDefault = 0,
    Unconfined = 1,
    Localhost = 2,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct CreateContainerResponse {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) container_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct StopContainerRequest {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) container_id: String,
    /// In seconds.
    #[prost(int64, tag = "2")]
    pub(in crate::containerd) timeout: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct ListContainersRequest {
    #[prost(message, optional, tag = "1")]
    pub(in crate::containerd) filter: Option<ContainerFilter>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct ContainerFilter {
    #[prost(string, tag = "3")]
    pub(in crate::containerd) pod_sandbox_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct ListContainersResponse {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::containerd) containers: Vec<Container>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct Container {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) id: String,
    #[prost(string, tag = "5")]
    pub(in crate::containerd) image_ref: String,
    #[prost(enumeration = "ContainerState", tag = "6")]
    pub(in crate::containerd) state: i32,
    #[prost(int64, tag = "7")]
    pub(in crate::containerd) created_at: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub(in crate::containerd) enum ContainerState {
    Created = 0,
    Running = 1,
    Exited = 2,
    Unknown = 3,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct ContainerStatusResponse {
    #[prost(message, optional, tag = "1")]
    pub(in crate::containerd) status: Option<ContainerStatus>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct ContainerStatus {
    #[prost(enumeration = "ContainerState", tag = "3")]
    pub(in crate::containerd) state: i32,
    #[prost(int64, tag = "5")]
    pub(in crate::containerd) started_at: i64,
    #[prost(int32, tag = "7")]
    pub(in crate::containerd) exit_code: i32,
    #[prost(string, tag = "9")]
    pub(in crate::containerd) image_ref: String,
    /// `OOMKilled` if the kernel ended it for its memory.
    #[prost(string, tag = "10")]
    pub(in crate::containerd) reason: String,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct ExecRequest {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) container_id: String,
    #[prost(string, repeated, tag = "2")]
    pub(in crate::containerd) cmd: Vec<String>,
    /// In seconds.
    #[prost(int64, tag = "3")]
    pub(in crate::containerd) timeout: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct ExecResponse {
    #[prost(bytes = "vec", tag = "1")]
    pub(in crate::containerd) stdout: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(in crate::containerd) stderr: Vec<u8>,
    #[prost(int32, tag = "3")]
    pub(in crate::containerd) exit_code: i32,
}
