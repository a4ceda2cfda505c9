//! Sends the site's log to the central orchestrator: in order, from where that
//! one says it is. With the end of the log go the answers to `why` that changed.

use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use tracing::debug;

use colony_api::site::{BatchAnswer, EventBatch};
use colony_core::event::{Answer, Event, Incarnation, Seq, Turn, Uplink};
use colony_core::site::Site;
use colony_core::time::{Mono, Now};
use colony_core::why::AnswerOutbox;
use colony_store::LocalStore;
use colony_task::Reconcile;

use crate::brain::Brain;
use crate::central::{Central, CentralError};
use crate::health::Health;
use crate::surroundings::surroundings;
use crate::uplink::heed;
use crate::vitals::Vitals;

/// The most events of one batch; CO takes 1,000.
const BATCH: u32 = 500;
/// The most bytes of a batch of several events: far below what CO takes, and
/// what a slow line carries in the time of a request.
const BYTES: usize = 1 << 20;
/// How soon a log that CO does not take is offered again.
const STUCK: Duration = Duration::from_secs(60);
/// The most bytes of answers in one batch.
const ANSWER_BYTES: usize = 256 << 10;
/// How often answers are computed that time alone may have changed.
const PACE: Duration = Duration::from_secs(1);
/// Nothing to send: the next change wakes, or time that changes an answer.
const IDLE: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(crate) struct Forward {
    brain: Brain,
    store: LocalStore,
    health: Health,
    central: Central,
    vitals: Vitals,
    incarnation: Incarnation,
    uplink: Uplink,
    outbox: AnswerOutbox,
    /// When all waiting answers were last computed.
    refreshed: Option<Mono>,
    /// How often the central orchestrator had come back.
    returns: u64,
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
        vitals: Vitals,
        incarnation: Incarnation,
    ) -> Forward {
        Forward {
            outbox: AnswerOutbox::new(brain.now().mono.0),
            uplink: Uplink::default(),
            refreshed: None,
            returns: 0,
            most: BATCH,
            brain,
            store,
            health,
            central,
            vitals,
            incarnation,
        }
    }

    /// Computes the answers again that may have changed; returns the end of the
    /// log they belong to.
    async fn refresh(&mut self) -> anyhow::Result<Seq> {
        let returns = self.health.central_returns();
        if std::mem::replace(&mut self.returns, returns) != returns {
            self.outbox.start_over();
        }
        let changed = self.brain.wakes().take_changed();
        let (outbox, refreshed) = (&mut self.outbox, &mut self.refreshed);
        let (health, vitals) = (&self.health, &self.vitals);
        let look = |site: &Site, now: Now| {
            outbox.refresh(site, &surroundings(site, health, vitals), &changed, now);
            if refreshed.is_none_or(|it| now.mono.since(it) >= PACE) {
                *refreshed = Some(now.mono);
                outbox.refresh_waiting(site, now);
            }
            site.log().next
        };
        Ok(self.brain.read(look).await?)
    }

    /// Sends the next batch; true if there may be more.
    async fn send(&mut self) -> anyhow::Result<bool> {
        let head = self.refresh().await?;
        let turn = self.uplink.turn(head, self.health.central_returns());
        let events = match &turn {
            Some(turn) => self.events(turn.from).await?,
            None => Vec::new(),
        };
        let last = events.last().map_or_else(|| turn.map_or(head, |it| it.from), |it| it.seq + 1);
        let answers = (last >= head).then(|| self.outbox.next(ANSWER_BYTES)).flatten();
        if turn.is_none() && answers.is_none() {
            return Ok(false);
        }
        let number = answers.as_ref().map(|it| it.number);
        let batch = EventBatch { incarnation: self.incarnation, events, answers };
        let (body, sent, with_answers) = fitting(batch, BYTES)?;
        colony_fail::hit(colony_fail::Point::LocalEventsRead);
        let answer = self.central.post::<BatchAnswer>("/events", body).await;
        if let Err(CentralError::Diverged(said)) = &answer {
            let said = format!("event log diverged from the central orchestrator: {said}");
            return self.diverged(said);
        }
        self.adapt(sent, &answer);
        if matches!(answer, Err(CentralError::TooLarge(_))) && sent > 1 {
            return Ok(true);
        }
        let answer = heed(&self.brain, &self.health, answer).await?;
        colony_fail::hit(colony_fail::Point::LocalEventsTaken);
        debug!(next = answer.next_seq, "events were taken");
        match number.filter(|_| with_answers) {
            Some(_) if answer.answers_incomplete => self.outbox.start_over(),
            Some(number) => self.outbox.acknowledged(number),
            None => {}
        }
        match turn {
            Some(turn) => self.take(turn, answer.next_seq, head),
            None => Ok(self.in_step(answer.next_seq, head)),
        }
    }

    /// Only answers were sent: the log is where it was, unless the central
    /// orchestrator was restored in between.
    fn in_step(&mut self, next: Seq, head: Seq) -> bool {
        if next != head {
            self.uplink.diverged();
            self.outbox.start_over();
        }
        true
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

/// A batch of as many of the events as fit, and at least the first; how many,
/// and whether the answers go with them: they belong to the last event.
fn fitting(mut batch: EventBatch, bytes: usize) -> serde_json::Result<(Bytes, usize, bool)> {
    loop {
        let body = serde_json::to_vec(&batch)?;
        let (events, answers) = (batch.events.len(), batch.answers.is_some());
        if body.len() <= bytes || events <= 1 {
            return Ok((Bytes::from(body), events, answers));
        }
        batch.answers = None;
        batch.events.truncate(events / 2);
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
        let batch = EventBatch { incarnation: 0, events: events.clone(), answers: None };
        let (body, sent, _) = fitting(batch, bytes).expect("JSON");
        let batch: EventBatch = serde_json::from_slice(&body).expect("a batch");
        assert_eq!((batch.events.as_slice(), sent), (&events[..expected], expected));
    }
}
