//! The messages of containerd's APIs, with the fields that are used here.
//!
//! `pod`, `container` and `image` are the Container Runtime Interface
//! (`runtime.v1`), `service` is containerd's own services. Numbers are those of
//! the published definitions; fields that are not declared are skipped when
//! read.

mod container;
mod image;
mod pod;
mod service;

use prost::Message;

pub(super) use container::*;
pub(super) use image::*;
pub(super) use pod::*;
pub(super) use service::*;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Empty {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct VersionResponse {
    #[prost(string, tag = "3")]
    pub(super) runtime_version: String,
}
