//! Compose files: a component's archive becomes a project of services.
//!
//! Pure: bytes in, a [`Project`] or findings out. An archive is read in memory
//! and never written anywhere; a key that is not in the [`keys`] table is
//! refused with its position, never ignored. What an engine makes of a project
//! is left to the engine.
//!
//! The way of a file: [`Archive::unpack`] checks the archive, `tree` resolves
//! merge keys and variables, `file` and `service` read what stands there, and
//! `cross` compares the services with each other.

mod archive;
pub mod keys;
mod project;

pub use archive::{Archive, Limits};
pub use project::{
    Attachment, Condition, ConfigFile, ConfigMount, Healthcheck, Mount, MountKind, Network,
    NetworkMode, Port, Project, Protocol, PullPolicy, Service, Volume,
};
