//! The readiness of the node, and the reasons if it is not ready.

use std::sync::Arc;
use std::time::Duration;

use crate::brain::Brain;
use crate::engine::Slot;

/// An engine that takes longer counts as not answering.
const PATIENCE: Duration = Duration::from_secs(5);

/// The parts of this machine that have to work.
#[derive(Debug, Clone)]
pub(crate) struct Vitals {
    pub(crate) brain: Arc<Brain>,
    pub(crate) engine: Slot,
}

impl Vitals {
    /// What prevents the node from working. The manager does not count, because
    /// it is not part of this machine.
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
            Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
        }
    }
}
