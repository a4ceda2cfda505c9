//! containerd's own services.

use std::collections::BTreeMap;

use prost::{Enumeration, Message};

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct SubscribeRequest {
    #[prost(string, repeated, tag = "1")]
    pub(in crate::containerd) filters: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct Envelope {
    #[prost(string, tag = "3")]
    pub(in crate::containerd) topic: String,
    #[prost(message, optional, tag = "4")]
    pub(in crate::containerd) event: Option<AnyMessage>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct AnyMessage {
    #[prost(bytes = "vec", tag = "2")]
    pub(in crate::containerd) value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct TaskExit {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) container_id: String,
    /// That of the container, or of a command that was executed in it.
    #[prost(string, tag = "2")]
    pub(in crate::containerd) id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct ReadContentRequest {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) digest: String,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct ReadContentResponse {
    #[prost(bytes = "vec", tag = "2")]
    pub(in crate::containerd) data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct StatusesRequest {
    #[prost(string, repeated, tag = "1")]
    pub(in crate::containerd) filters: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct StatusesResponse {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::containerd) statuses: Vec<IngestStatus>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct IngestStatus {
    #[prost(string, tag = "3")]
    pub(in crate::containerd) reference: String,
    #[prost(int64, tag = "4")]
    pub(in crate::containerd) offset: i64,
    #[prost(int64, tag = "5")]
    pub(in crate::containerd) total: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct WriteContentRequest {
    #[prost(enumeration = "WriteAction", tag = "1")]
    pub(in crate::containerd) action: i32,
    #[prost(string, tag = "2")]
    pub(in crate::containerd) reference: String,
    #[prost(int64, tag = "3")]
    pub(in crate::containerd) total: i64,
    #[prost(string, tag = "4")]
    pub(in crate::containerd) expected: String,
    #[prost(int64, tag = "5")]
    pub(in crate::containerd) offset: i64,
    #[prost(bytes = "vec", tag = "6")]
    pub(in crate::containerd) data: Vec<u8>,
    #[prost(btree_map = "string, string", tag = "7")]
    pub(in crate::containerd) labels: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub(in crate::containerd) enum WriteAction {
    Stat = 0,
    Write = 1,
    Commit = 2,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct StoredImageRequest {
    #[prost(message, optional, tag = "1")]
    pub(in crate::containerd) image: Option<StoredImage>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct StoredImage {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) name: String,
    #[prost(message, optional, tag = "3")]
    pub(in crate::containerd) target: Option<Descriptor>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct Descriptor {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) media_type: String,
    #[prost(string, tag = "2")]
    pub(in crate::containerd) digest: String,
    #[prost(int64, tag = "3")]
    pub(in crate::containerd) size: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct CreateLeaseRequest {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) id: String,
    #[prost(btree_map = "string, string", tag = "3")]
    pub(in crate::containerd) labels: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct DeleteLeaseRequest {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct DeleteImageRequest {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct KillRequest {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) container_id: String,
    #[prost(uint32, tag = "3")]
    pub(in crate::containerd) signal: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::containerd) struct WaitRequest {
    #[prost(string, tag = "1")]
    pub(in crate::containerd) container_id: String,
}
