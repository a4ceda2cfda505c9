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
/// The most bytes of a batch of several events: far below what CO takes, and
/// what a slow line carries in the time of a request.
const BYTES: usize = 1 << 20;
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
    /// The most events of the next batch: fewer after each that did not get
    /// through, more after each that did.
    most: u32,
}

impl Forward {
    pub(crate) fn new(
        brain: Brain,
        store: LocalStore,
        health: Health,
        central: Central,
        incarnation: Incarnation,
    ) -> Forward {
        let uplink = Uplink::default();
        Forward { brain, store, health, central, incarnation, uplink, most: BATCH }
    }

    /// Sends the next batch; true if there may be more.
    async fn send(&mut self) -> anyhow::Result<bool> {
        let head = *self.brain.wakes().head().borrow();
        let Some(turn) = self.uplink.turn(head, self.health.central_returns()) else {
            return Ok(false);
        };
        let (body, sent) = fitting(self.incarnation, self.events(turn.from).await?, BYTES)?;
        colony_fail::hit(colony_fail::Point::LocalEventsRead);
        let answer = self.central.post::<BatchAnswer>("/events", body).await;
        if let Err(CentralError::Diverged(said)) = &answer {
            return self.diverged(format!("the central orchestrator has another past: {said}"));
        }
        self.adapt(sent, &answer);
        if matches!(answer, Err(CentralError::TooLarge(_))) && sent > 1 {
            return Ok(true);
        }
        let answer = heed(&self.brain, &self.health, answer).await?;
        colony_fail::hit(colony_fail::Point::LocalEventsTaken);
        debug!(next = answer.next_seq, "events were taken");
        self.take(turn, answer.next_seq, head)
    }

    async fn events(&self, next: Seq) -> anyhow::Result<Vec<Event>> {
        let events = self.store.events_from(self.incarnation, next, self.most).await;
        events.context("could not read the events to send")
    }

    /// A batch that is too large for CO, or for the line, must not stop the log.
    fn adapt(&mut self, sent: usize, answer: &Result<BatchAnswer, CentralError>) {
        let sent = u32::try_from(sent).unwrap_or(BATCH);
        self.most = match answer {
            Ok(_) => (self.most * 2).min(BATCH),
            Err(CentralError::TooLarge(_) | CentralError::Away(_)) => (sent / 2).max(1),
            Err(
                CentralError::Fenced { .. }
                | CentralError::Diverged(_)
                | CentralError::Refused(_)
                | CentralError::Unreadable(_),
            ) => self.most,
        };
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

/// A batch of as many of the events as fit, and at least the first; and how many.
fn fitting(
    incarnation: Incarnation,
    events: Vec<Event>,
    bytes: usize,
) -> serde_json::Result<(Bytes, usize)> {
    let mut batch = EventBatch { incarnation, events };
    loop {
        let body = serde_json::to_vec(&batch)?;
        if body.len() <= bytes || batch.events.len() <= 1 {
            return Ok((Bytes::from(body), batch.events.len()));
        }
        batch.events.truncate(batch.events.len() / 2);
    }
}

impl Reconcile for Forward {
    const NAME: &'static str = "forward-events";

    async fn reconcile(&mut self) -> anyhow::Result<Duration> {
        while self.send().await? {}
        Ok(if self.uplink.is_known() { IDLE } else { STUCK })
    }
}

#[cfg(test)]
mod tests {
    use colony_testkit::Plant;

    use super::*;

    #[test]
    fn a_batch_has_the_first_events_that_fit_and_at_least_one() {
        check(8, usize::MAX, 8);
        check(8, 1_500, 4);
        check(8, 1, 1);
        check(1, 1, 1);
        check(0, 1, 0);
    }

    /// Offers events that are about 300 bytes long.
    #[track_caller]
    fn check(offered: usize, bytes: usize, expected: usize) {
        let mut plant = Plant::new();
        (0..offered).for_each(|it| plant.join(&format!("n{it}")));
        let events = plant.events[..offered].to_vec();
        let (body, sent) = fitting(0, events.clone(), bytes).expect("JSON");
        let batch: EventBatch = serde_json::from_slice(&body).expect("a batch");
        assert_eq!((batch.events.as_slice(), sent), (&events[..expected], expected));
    }
}
