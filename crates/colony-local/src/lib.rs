//! The local orchestrator: one site, its deployments and its nodes.
//!
//! A thin shell around `colony_core::site`: inputs come from Git, from nodes
//! over the Margo interface, from the central orchestrator and from operators
//! at the site's own socket. The brain steps and persists before it answers or
//! wakes. Decisions live in the core. The site works without the central
//! orchestrator and without Git for any length of time.

#![expect(clippy::result_large_err, reason = "a problem is an answer, made once for each request")]

mod brain;
mod clock;
mod git;
mod health;
mod home;
mod join;
#[cfg(test)]
mod kit;
mod logs;
mod margo;
mod operator;
mod orders;
mod problem;
mod server;
mod start;
mod uplink;

use std::net::SocketAddr;
use std::path::PathBuf;

use colony_core::site::Timing;

pub use colony_git::{Auth, FetchLimits, Remote, Secret};
pub use start::{Local, start};

/// The configuration of a local orchestrator.
#[derive(Debug, Clone)]
pub struct Config {
    /// The role's own directory.
    pub data: PathBuf,
    /// The listen address for nodes.
    pub listen: SocketAddr,
    /// The addresses advertised to nodes: hosts, `host:port` or URLs. Derived
    /// from `listen` if empty.
    pub advertise: Vec<String>,
    /// The token of a first start; a token that was used here before is
    /// ignored.
    pub join: Option<String>,
    /// Takes over the site even if its current orchestrator was active
    /// recently.
    pub replace: bool,
    pub timing: Timing,
    /// The deployments repository, if not the one that central names.
    pub git: Option<GitSource>,
    /// The limits of one fetch.
    pub fetch: colony_git::FetchLimits,
}

/// A deployments repository as this machine reaches it.
#[derive(Debug, Clone)]
pub struct GitSource {
    pub remote: colony_git::Remote,
    pub branch: String,
}

impl Config {
    /// The defaults for everything except the folder.
    pub fn new(data: PathBuf) -> Config {
        Config {
            data,
            listen: SocketAddr::from(([0, 0, 0, 0], 7444)),
            advertise: Vec::new(),
            join: None,
            replace: false,
            timing: Timing::default(),
            git: None,
            fetch: colony_git::FetchLimits::default(),
        }
    }
}
