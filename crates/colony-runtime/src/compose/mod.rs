//! Compose files: a component's archive becomes a project of services.
//!
//! Pure: bytes in, a [`Project`] or findings out. An archive is read in memory
//! and never written anywhere; a key that is not in the [`keys`] table is
//! refused with its position, never ignored. What an engine makes of a project
//! is left to the engine.
//!
//! The path of a file: [`Archive::unpack`] checks the archive, `syntax`
//! resolves merge keys and variables, `file` and `service` read the content,
//! and `cross` compares the services with each other.

mod archive;
mod config;
mod cross;
mod file;
pub mod keys;
mod network;
mod project;
mod service;
mod syntax;
mod unpack;

#[cfg(test)]
mod tests;

pub use archive::{Archive, Limits};
pub use project::{
    Attachment, Condition, ConfigFile, ConfigMount, Healthcheck, Mount, MountKind, Network,
    NetworkMode, Port, Project, Protocol, PullPolicy, Service, Volume,
};
