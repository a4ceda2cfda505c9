//! The local orchestrator: one site, its deployments and its nodes.
//!
//! A thin shell around `colony_core::site`: inputs come from Git, from nodes
//! over the Margo interface, from the central orchestrator and from operators
//! at the site's own socket; the brain steps, persists, and only then anybody
//! is answered or woken. Decisions live in the core. Works on without the
//! central orchestrator and without Git for as long as it has to.

#![expect(clippy::result_large_err, reason = "a problem is an answer, made once for each request")]

mod address;
mod brain;
mod central;
mod clock;
mod git;
mod health;
mod home;
mod join;
#[cfg(test)]
mod kit;
mod logs;
mod margo;
mod metrics;
mod operator;
mod orders;
mod own;
mod problem;
mod prune;
mod server;
mod start;
mod surroundings;
mod uplink;
mod vitals;

use std::net::SocketAddr;
use std::path::PathBuf;

use colony_core::site::Timing;

pub use colony_git::{Auth, FetchLimits, Remote, Secret};
pub use start::{Local, start};

/// What a local orchestrator is started with.
#[derive(Debug, Clone)]
pub struct Config {
    /// The role's own directory.
    pub data: PathBuf,
    /// Where nodes come in.
    pub listen: SocketAddr,
    /// Where nodes are told to come in: hosts, `host:port` or URLs. Found out
    /// from `listen` if empty.
    pub advertise: Vec<String>,
    /// The token of a first start; one that was used here before is passed over.
    pub join: Option<String>,
    /// Takes the site over from an orchestrator that was heard a moment ago.
    pub replace: bool,
    pub timing: Timing,
    /// Where the deployments are, if not where the central one says.
    pub git: Option<GitSource>,
    /// The most that one fetch of them may take.
    pub fetch: colony_git::FetchLimits,
}

/// A deployments repository as this machine reaches it.
#[derive(Debug, Clone)]
pub struct GitSource {
    pub remote: colony_git::Remote,
    pub branch: String,
}

impl Config {
    /// The defaults for everything but the place.
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
