//! Pods, which CRI calls sandboxes.

use std::collections::BTreeMap;

use prost::{Enumeration, Message};

/// A request that names one pod.
#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct PodRequest {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) pod_sandbox_id: String,
}

/// A request that names one container.
#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct ContainerRequest {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) container_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct RunPodRequest {
    #[prost(message, optional, tag = "1")]
    pub(in crate::containerd) config: Option<PodConfig>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct PodConfig {
    #[prost(message, optional, tag = "1")]
    pub(in crate::containerd) metadata: Option<PodMetadata>,
    #[prost(string, tag = "2")]
    pub(in crate::containerd) hostname: String,
    #[prost(string, tag = "3")]
    pub(in crate::containerd) log_directory: String,
    #[prost(message, optional, tag = "4")]
    pub(in crate::containerd) dns_config: Option<DnsConfig>,
    #[prost(message, repeated, tag = "5")]
    pub(in crate::containerd) port_mappings: Vec<PortMapping>,
    #[prost(btree_map = "string, string", tag = "6")]
    pub(in crate::containerd) labels: BTreeMap<String, String>,
    #[prost(btree_map = "string, string", tag = "7")]
    pub(in crate::containerd) annotations: BTreeMap<String, String>,
    #[prost(message, optional, tag = "8")]
    pub(in crate::containerd) linux: Option<LinuxPodConfig>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct PodMetadata {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) name: String,
    #[prost(string, tag = "2")]
    pub(in crate::containerd) uid: String,
    #[prost(string, tag = "3")]
    pub(in crate::containerd) namespace: String,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct DnsConfig {
    #[prost(string, repeated, tag = "1")]
    pub(in crate::containerd) servers: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(in crate::containerd) searches: Vec<String>,
    #[prost(string, repeated, tag = "3")]
    pub(in crate::containerd) options: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct PortMapping {
    #[prost(enumeration = "Protocol", tag = "1")]
    pub(in crate::containerd) protocol: i32,
    #[prost(int32, tag = "2")]
    pub(in crate::containerd) container_port: i32,
    #[prost(int32, tag = "3")]
    pub(in crate::containerd) host_port: i32,
    #[prost(string, tag = "4")]
    pub(in crate::containerd) host_ip: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub(in crate::containerd) enum Protocol {
    Tcp = 0,
    Udp = 1,
    Sctp = 2,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct LinuxPodConfig {
    #[prost(message, optional, tag = "2")]
    pub(in crate::containerd) security_context: Option<PodSecurityContext>,
    #[prost(btree_map = "string, string", tag = "3")]
    pub(in crate::containerd) sysctls: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct PodSecurityContext {
    #[prost(message, optional, tag = "1")]
    pub(in crate::containerd) namespace_options: Option<NamespaceOption>,
    #[prost(bool, tag = "6")]
    pub(in crate::containerd) privileged: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct NamespaceOption {
    #[prost(enumeration = "NamespaceMode", tag = "1")]
    pub(in crate::containerd) network: i32,
    #[prost(enumeration = "NamespaceMode", tag = "2")]
    pub(in crate::containerd) pid: i32,
    #[prost(enumeration = "NamespaceMode", tag = "3")]
    pub(in crate::containerd) ipc: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub(in crate::containerd) enum NamespaceMode {
    Pod = 0,
    Container = 1,
    Node = 2,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct RunPodResponse {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) pod_sandbox_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct ListPodsRequest {
    #[prost(message, optional, tag = "1")]
    pub(in crate::containerd) filter: Option<PodFilter>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct PodFilter {
    #[prost(btree_map = "string, string", tag = "3")]
    pub(in crate::containerd) label_selector: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct ListPodsResponse {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::containerd) items: Vec<Pod>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct Pod {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) id: String,
    #[prost(message, optional, tag = "2")]
    pub(in crate::containerd) metadata: Option<PodMetadata>,
    #[prost(enumeration = "PodState", tag = "3")]
    pub(in crate::containerd) state: i32,
    #[prost(btree_map = "string, string", tag = "5")]
    pub(in crate::containerd) labels: BTreeMap<String, String>,
    #[prost(btree_map = "string, string", tag = "6")]
    pub(in crate::containerd) annotations: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub(in crate::containerd) enum PodState {
    Ready = 0,
    NotReady = 1,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct PodStatusResponse {
    #[prost(message, optional, tag = "1")]
    pub(in crate::containerd) status: Option<PodStatus>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct PodStatus {
    #[prost(message, optional, tag = "2")]
    pub(in crate::containerd) metadata: Option<PodMetadata>,
    #[prost(enumeration = "PodState", tag = "3")]
    pub(in crate::containerd) state: i32,
    #[prost(message, optional, tag = "5")]
    pub(in crate::containerd) network: Option<PodNetwork>,
    #[prost(btree_map = "string, string", tag = "7")]
    pub(in crate::containerd) labels: BTreeMap<String, String>,
    #[prost(btree_map = "string, string", tag = "8")]
    pub(in crate::containerd) annotations: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct PodNetwork {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) ip: String,
}
