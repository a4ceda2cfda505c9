//! Sends the site's log to CO: in order, from where CO says it is.

use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use tracing::debug;

use colony_api::site::{BatchAnswer, EventBatch};
use colony_core::event::{Answer, Event, Incarnation, Seq, Turn, Uplink};
use colony_store::LocalStore;
use colony_task::Reconcile;

use crate::brain::Brain;
use crate::central::{Central, CentralError};
use crate::health::Health;
use crate::uplink::heed;

/// The most events of one batch; CO takes 1,000.
const BATCH: u32 = 500;
/// How soon a log that CO does not take is offered again.
const STUCK: Duration = Duration::from_secs(60);
/// Nothing to send: the next event wakes.
const IDLE: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub(crate) struct Forward {
    brain: Brain,
    store: LocalStore,
    health: Health,
    central: Central,
    incarnation: Incarnation,
    uplink: Uplink,
}

impl Forward {
    pub(crate) fn new(
        brain: Brain,
        store: LocalStore,
        health: Health,
        central: Central,
        incarnation: Incarnation,
    ) -> Forward {
        Forward { brain, store, health, central, incarnation, uplink: Uplink::default() }
    }

    /// Sends the next batch; true if there may be more.
    async fn send(&mut self) -> anyhow::Result<bool> {
        let head = *self.brain.wakes().head().borrow();
        let Some(turn) = self.uplink.turn(head, self.health.central_returns()) else {
            return Ok(false);
        };
        let events = self.events(turn.from).await?;
        let batch = EventBatch { incarnation: self.incarnation, events };
        let body = Bytes::from(serde_json::to_vec(&batch)?);
        colony_fail::hit(colony_fail::Point::LocalEventsRead);
        let answer = self.central.post::<BatchAnswer>("/events", body).await;
        if let Err(CentralError::Diverged(said)) = &answer {
            return self.diverged(format!("the central orchestrator has another past: {said}"));
        }
        let answer = heed(&self.brain, &self.health, answer).await?;
        colony_fail::hit(colony_fail::Point::LocalEventsTaken);
        debug!(next = answer.next_seq, "events were taken");
        self.take(turn, answer.next_seq, head)
    }

    async fn events(&self, next: Seq) -> anyhow::Result<Vec<Event>> {
        let events = self.store.events_from(self.incarnation, next, BATCH).await;
        events.context("could not read the events to send")
    }

    fn take(&mut self, turn: Turn, next: Seq, head: Seq) -> anyhow::Result<bool> {
        let answer = self.uplink.answered(turn, next, head);
        if let Answer::Ahead(last) = answer {
            return self.diverged(format!(
                "the central orchestrator has events up to {last} that this one has no memory of"
            ));
        }
        self.health.diverged(None);
        self.health.acknowledged(next);
        colony_fail::hit(colony_fail::Point::LocalEventsNoted);
        let taken = answer == Answer::Taken;
        anyhow::ensure!(taken, "the central orchestrator did not take event {next}");
        Ok(true)
    }

    fn diverged(&mut self, said: String) -> anyhow::Result<bool> {
        let help = "invite this site's orchestrator again: `colony site invite`";
        self.health.diverged(Some(format!("{said}; {help}")));
        self.uplink.diverged();
        Ok(false)
    }
}

impl Reconcile for Forward {
    const NAME: &'static str = "forward-events";

    async fn reconcile(&mut self) -> anyhow::Result<Duration> {
        while self.send().await? {}
        Ok(if self.uplink.is_known() { IDLE } else { STUCK })
    }
}
