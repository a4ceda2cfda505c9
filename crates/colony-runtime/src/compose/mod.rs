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
mod config;
mod cross;
mod depends;
mod env_file;
mod environment;
mod file;
mod health;
mod interpolate;
pub mod keys;
mod limits;
mod mount;
mod network;
mod port;
mod project;
mod service;
mod tree;
mod unpack;
mod value;
mod words;

#[cfg(test)]
mod tests;

pub use archive::{Archive, Limits};
pub use project::{
    Attachment, Condition, ConfigFile, ConfigMount, Healthcheck, Mount, MountKind, Network,
    NetworkMode, Port, Project, Protocol, PullPolicy, Service, Volume,
};
