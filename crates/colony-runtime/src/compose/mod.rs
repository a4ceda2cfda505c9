//! Compose files: a component's archive becomes a project of services.
//!
//! Pure: bytes in, a [`Project`] or findings out. An archive is read in memory
//! and never written anywhere; a key that is not in the [`keys`] table is
//! refused with its position, never ignored. What an engine makes of a project
//! is left to the engine.
//!
//! The path of a file: [`Archive::unpack`] checks the archive, `syntax`
//! resolves merge keys and variables, `extends` completes services from others,
//! `file` and `service` read the content, `cross` compares the services with
//! each other, `policy` knows what the node's operator refuses, and `selection` decides which have containers, and how many.

mod archive;
mod config;
mod cross;
pub mod engine_limits;
mod extends;
mod file;
pub mod keys;
mod network;
mod policy;
mod project;
mod selection;
mod service;
mod syntax;
mod unpack;

#[cfg(test)]
mod tests;

pub use archive::{Archive, Limits};
pub use project::{
    AddressPool, Attachment, BlockIo, Cgroup, Condition, ConfigFile, ConfigMount, DeviceRequest,
    Healthcheck, Ipam, Ipc, LogDriver, Logging, Mount, MountKind, MountOptions, Namespaces,
    Network, NetworkMode, Port, Project, Propagation, Protocol, PullPolicy, Relabel, Resources,
    Service, Volume,
};
