//! Whether the node can do its job, and why not.

use std::sync::Arc;
use std::time::Duration;

use crate::brain::Brain;
use crate::engine::Slot;

/// An engine that takes longer than this does not answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What has to work on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Vitals {
    pub(crate) brain: Arc<Brain>,
    pub(crate) engine: Slot,
}

impl Vitals {
    /// What keeps the node from its work; the manager is not this machine's matter.
    pub(crate) async fn reasons(&self) -> Vec<String> {
        let engine = self.engine().await.err();
        let engine = engine.map(|it| format!("the container engine does not answer: {it}"));
        let disk = self.brain.disk_problem().map(|it| format!("could not store: {it}"));
        engine.into_iter().chain(disk).collect()
    }

    pub(crate) async fn engine(&self) -> Result<(), String> {
        let runtime = self.engine.runtime()?;
        match tokio::time::timeout(PATIENCE, runtime.ping()).await {
            Ok(answer) => answer.map_err(|it| it.to_string()),
            Err(_) => Err(format!("nothing came within {} s", PATIENCE.as_secs())),
        }
    }
}
