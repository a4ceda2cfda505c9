//! Forgets events that CO has and that are older than a month.

use std::time::Duration;

use anyhow::Context;
use tracing::info;

use colony_core::event::Incarnation;
use colony_store::LocalStore;
use colony_task::Reconcile;

use crate::clock::Clock;
use crate::health::Health;

const KEEP: Duration = Duration::from_secs(30 * 86_400);
const PERIOD: Duration = Duration::from_secs(6 * 3_600);

#[derive(Debug)]
pub(crate) struct Prune {
    pub store: LocalStore,
    pub health: Health,
    pub incarnation: Incarnation,
}

impl Reconcile for Prune {
    const NAME: &'static str = "prune-events";

    async fn reconcile(&mut self) -> anyhow::Result<Duration> {
        let (acknowledged, before) = (self.health.next_unsent(), Clock::wall().before(KEEP));
        let pruned = self.store.events_prune(self.incarnation, acknowledged, before).await;
        let pruned = pruned.context("could not forget old events")?;
        if pruned > 0 {
            info!(pruned, "forgot events the central orchestrator has");
        }
        Ok(PERIOD)
    }
}
