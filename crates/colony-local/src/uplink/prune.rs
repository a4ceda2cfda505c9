//! Deletes events that central has and that are older than a month.

use std::time::Duration;

use anyhow::Context;
use tracing::info;

use colony_core::event::Incarnation;
use colony_process::Reconcile;
use colony_store::LocalStore;

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

#[cfg(test)]
mod tests {
    use colony_core::time::Timestamp;
    use colony_testkit::Plant;

    use super::*;

    #[tokio::test]
    async fn only_events_the_central_one_has_are_forgotten() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = LocalStore::open(&dir.path().join("local.db")).await.expect("a database");
        let mut plant = Plant::new();
        (0..8).for_each(|it| plant.join(&format!("n{it}")));
        plant.events.iter_mut().for_each(|it| it.at = Timestamp(1));
        store.commit(Vec::new(), &plant.events).await.expect("they are stored");
        let health = Health::default();
        let mut prune = Prune { store: store.clone(), health: health.clone(), incarnation: 0 };
        for acknowledged in [0, 4] {
            health.acknowledged(acknowledged);
            assert_eq!(prune.reconcile().await.expect("it is done"), PERIOD);
            let left = store.events_from(0, 0, 100).await.expect("events");
            assert_eq!(left.first().map(|it| it.seq), Some(acknowledged.max(1)));
        }
    }
}
