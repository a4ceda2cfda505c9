//! The runtime: one engine, one node.

use std::collections::BTreeSet;
use std::sync::Arc;

use colony_core::attempt::Failure;
use colony_core::node::{Action, Container, Prepared};
use colony_margo::{DeploymentId, Digest};
use tokio_util::sync::CancellationToken;

use crate::config::{Config, EngineInfo, Facts, PullProgress, Subject};
use crate::error::Error;

/// The containers of one node on one engine. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    info: EngineInfo,
}

impl Runtime {
    /// Finds the engine and prepares the folder. Nothing on the engine changes.
    pub async fn connect(_config: Config) -> Result<Runtime, Error> {
        todo!()
    }

    pub fn engine(&self) -> &EngineInfo {
        &self.inner.info
    }

    pub async fn ping(&self) -> Result<(), Error> {
        todo!()
    }

    /// Reaches the goal of `action`. `Prepare` and `Start` need their subject.
    /// `Start` waits for what services depend on, so `run` must be running.
    pub async fn perform(
        &self,
        _action: &Action,
        _subject: Option<Subject>,
    ) -> Result<Prepared, Failure> {
        todo!()
    }

    /// All containers of this node.
    pub async fn observe(&self) -> Result<Vec<Container>, Failure> {
        todo!()
    }

    /// Resolves when the engine or a health check has said something since the
    /// last look.
    pub async fn changed(&self) {
        todo!()
    }

    /// Listens to the engine and runs health checks until told to stop.
    pub async fn run(&self, _stop: CancellationToken) {
        todo!()
    }

    /// Removes archives, configurations and images that only fingerprints
    /// outside of `needed` use.
    pub async fn collect(&self, _needed: &BTreeSet<Digest>) -> Result<(), Failure> {
        todo!()
    }

    /// The last lines of each service; with `previous`, of the containers that
    /// were there before.
    pub async fn logs(
        &self,
        _deployment: &DeploymentId,
        _previous: bool,
        _lines: u32,
    ) -> Result<Vec<(String, String)>, Failure> {
        todo!()
    }

    pub async fn facts(&self) -> Facts {
        todo!()
    }

    /// The images that are being fetched.
    pub fn progress(&self) -> Vec<PullProgress> {
        todo!()
    }
}
