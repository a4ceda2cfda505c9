//! Sends the site's log to CO: in order, from where CO says it is.
//!
//! Nothing is remembered here but that place; after a start, and when CO was
//! away, the last event asks for it: two logs of one length may differ.

use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use tracing::debug;

use colony_api::site::{BatchAnswer, EventBatch};
use colony_core::event::{Event, Incarnation, Seq};
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
    /// The next event CO wants; `None` until it was asked.
    next: Option<Seq>,
    /// How often CO had come back when it was asked.
    returns: u64,
}

impl Forward {
    pub(crate) fn new(
        brain: Brain,
        store: LocalStore,
        health: Health,
        central: Central,
        incarnation: Incarnation,
    ) -> Forward {
        Forward { brain, store, health, central, incarnation, next: None, returns: 0 }
    }

    /// Who comes back may have been restored, and want what it had before.
    fn doubt(&mut self) {
        let returns = self.health.central_returns();
        if returns != self.returns {
            (self.returns, self.next) = (returns, None);
        }
    }

    /// Sends the next batch; true if there may be more.
    async fn send(&mut self) -> anyhow::Result<bool> {
        self.doubt();
        let head = *self.brain.wakes().head().borrow();
        let (asks, from) = match self.next {
            Some(next) if next >= head => return Ok(false),
            Some(next) => (false, next),
            None => (true, head.saturating_sub(1).max(1)),
        };
        let events = self.events(from).await?;
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
        self.take(answer.next_seq, asks, head)
    }

    async fn events(&self, next: Seq) -> anyhow::Result<Vec<Event>> {
        let events = self.store.events_from(self.incarnation, next, BATCH).await;
        events.context("could not read the events to send")
    }

    fn take(&mut self, next: Seq, asked: bool, head: Seq) -> anyhow::Result<bool> {
        if next > head {
            let said = format!(
                "the central orchestrator has events up to {} that this one has no memory of",
                next - 1
            );
            return self.diverged(said);
        }
        // CO that wants what it was just sent would be asked for ever.
        let moved = asked || self.next != Some(next);
        self.health.diverged(None);
        self.health.acknowledged(next);
        self.next = Some(next);
        colony_fail::hit(colony_fail::Point::LocalEventsNoted);
        anyhow::ensure!(moved, "the central orchestrator did not take event {next}");
        Ok(true)
    }

    fn diverged(&mut self, said: String) -> anyhow::Result<bool> {
        let help = "invite this site's orchestrator again: `colony site invite`";
        self.health.diverged(Some(format!("{said}; {help}")));
        self.next = None;
        Ok(false)
    }
}

impl Reconcile for Forward {
    const NAME: &'static str = "forward-events";

    async fn reconcile(&mut self) -> anyhow::Result<Duration> {
        while self.send().await? {}
        Ok(if self.next.is_some() { IDLE } else { STUCK })
    }
}
