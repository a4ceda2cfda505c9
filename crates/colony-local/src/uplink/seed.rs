//! The seed: the state of the site as central knows it, taken over once per
//! incarnation.

use std::time::Duration;

use anyhow::bail;

use colony_core::site::{Input, Refused, Seed};
use colony_process::Reconcile;

use crate::brain::{Brain, BrainError};
use crate::health::Health;
use crate::uplink::central::Central;
use crate::uplink::record_result;

const DAY: Duration = Duration::from_secs(86_400);

#[derive(Debug)]
pub(crate) struct Seeding {
    pub brain: Brain,
    pub health: Health,
    pub central: Central,
}

impl Reconcile for Seeding {
    const NAME: &'static str = "seed";

    async fn reconcile(&mut self) -> anyhow::Result<Duration> {
        if self.brain.notifiers().is_seeded() {
            return Ok(DAY);
        }
        let seed = self.central.get::<Seed>("/seed").await;
        let seed = record_result(&self.brain, &self.health, seed).await?;
        colony_process::fail::hit(colony_process::fail::Point::LocalSeedFetched);
        match self.brain.step(Input::Seed(Box::new(seed))).await {
            Ok(()) | Err(BrainError::Refused(Refused::AlreadySeeded)) => {}
            Err(error) => bail!(error),
        }
        self.brain.notifiers().git.wake();
        self.brain.notifiers().nodes.wake();
        Ok(DAY)
    }
}
