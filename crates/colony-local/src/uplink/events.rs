//! Sends the site's event log to central, in order, from the position that
//! central reports. A batch that reaches the end of the log also carries the
//! answers to `why` that changed.

use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use tracing::debug;

use colony_api::site::{BatchAnswer, EventBatch};
use colony_core::event::{Answer, Event, Incarnation, OutgoingBatch, Seq, Uplink};
use colony_core::site::Site;
use colony_core::time::{Monotonic, Now};
use colony_core::why::AnswerOutbox;
use colony_process::Reconcile;
use colony_store::LocalStore;

use crate::brain::Brain;
use crate::health::Health;
use crate::health::surroundings::surroundings;
use crate::health::vitals::Vitals;
use crate::uplink::central::{Central, CentralError};
use crate::uplink::record_result;

/// The most events of one batch; central accepts 1,000.
const BATCH: u32 = 500;
/// The most bytes of a batch of several events: far below the limit of central,
/// and small enough for a slow line within the timeout of a request.
const BYTES: usize = 1 << 20;
/// The retry interval after the logs have diverged.
const DIVERGED_RETRY: Duration = Duration::from_secs(60);
/// The most bytes of answers in one batch.
const ANSWER_BYTES: usize = 256 << 10;
/// How often answers are computed that may change with time alone.
const PACE: Duration = Duration::from_secs(1);
/// Nothing to send: waits for the next change, or for time to change an answer.
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
    /// When all answers were last computed: some change with time alone.
    refreshed: Option<Monotonic>,
    /// `Health::central_reconnects` at the last refresh.
    reconnects: u64,
    /// Halved when a batch was too large or did not get through, doubled after a
    /// success.
    batch_limit: u32,
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
            reconnects: 0,
            batch_limit: BATCH,
            brain,
            store,
            health,
            central,
            vitals,
            incarnation,
        }
    }

    /// Recomputes the answers that may have changed; returns the end of the log
    /// that they belong to.
    async fn refresh(&mut self) -> anyhow::Result<Seq> {
        let reconnects = self.health.central_reconnects();
        if std::mem::replace(&mut self.reconnects, reconnects) != reconnects {
            self.outbox.start_over();
        }
        let changed = self.brain.wakes().take_changed();
        let (outbox, refreshed) = (&mut self.outbox, &mut self.refreshed);
        let (health, vitals) = (&self.health, &self.vitals);
        let look = |site: &Site, now: Now| {
            outbox.refresh(site, &surroundings(site, health, vitals), &changed, now);
            if is_due(*refreshed, now.mono) {
                *refreshed = Some(now.mono);
                outbox.refresh_all(site, now);
            }
            site.log().next
        };
        Ok(self.brain.read(look).await?)
    }

    /// Sends the next batch; true if there may be more.
    async fn send(&mut self) -> anyhow::Result<bool> {
        let head = self.refresh().await?;
        let turn = self.uplink.next_batch(head, self.health.central_reconnects());
        let events = match &turn {
            Some(turn) => self.events(turn.from).await?,
            None => Vec::new(),
        };
        let at_end = reaches_end(&events, turn.map(|it| it.from), head);
        let answers = at_end.then(|| self.outbox.next(ANSWER_BYTES)).flatten();
        if turn.is_none() && answers.is_none() {
            return Ok(false);
        }
        let number = answers.as_ref().map(|it| it.number);
        let batch = EventBatch { incarnation: self.incarnation, events, answers };
        let (body, sent, with_answers) = fitting(batch, BYTES)?;
        colony_process::fail::hit(colony_process::fail::Point::LocalEventsRead);
        let answer = self.central.post::<BatchAnswer>("/events", body).await;
        if let Err(CentralError::Diverged(said)) = &answer {
            let said = format!("event log diverged from the central orchestrator: {said}");
            return self.diverged(said);
        }
        self.batch_limit = next_limit(self.batch_limit, sent, &answer);
        if is_divisible(sent, &answer) {
            return Ok(true);
        }
        let answer = record_result(&self.brain, &self.health, answer).await?;
        colony_process::fail::hit(colony_process::fail::Point::LocalEventsTaken);
        debug!(next = answer.next_seq, "events were taken");
        if answer.answers_incomplete {
            // Also if this batch carried none: central has lost earlier
            // answers.
            self.outbox.start_over();
        } else if let Some(number) = number.filter(|_| with_answers) {
            self.outbox.acknowledged(number);
        }
        match turn {
            Some(turn) => self.take(turn, answer.next_seq, head),
            None => Ok(self.check_position(answer.next_seq, head)),
        }
    }

    /// Only answers were sent, so central must be at the end of the log, unless
    /// it was restored in between.
    fn check_position(&mut self, next: Seq, head: Seq) -> bool {
        if next != head {
            self.uplink.diverged();
            self.outbox.start_over();
        }
        true
    }

    async fn events(&self, next: Seq) -> anyhow::Result<Vec<Event>> {
        let events = self.store.events_from(self.incarnation, next, self.batch_limit).await;
        events.context("could not read the events to send")
    }

    fn take(&mut self, turn: OutgoingBatch, next: Seq, head: Seq) -> anyhow::Result<bool> {
        let answer = self.uplink.answered(turn, next, head);
        if let Answer::Ahead(last) = answer {
            return self.diverged(format!(
                "the central orchestrator has events up to {last} that this one has no memory of"
            ));
        }
        self.health.diverged(None);
        self.health.acknowledged(next);
        colony_process::fail::hit(colony_process::fail::Point::LocalEventsNoted);
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

/// Whether waiting answers have to be recomputed.
fn is_due(last: Option<Monotonic>, now: Monotonic) -> bool {
    last.is_none_or(|it| now.since(it) >= PACE)
}

/// Whether central has the whole log below `head` after a batch of these
/// events, which begins at `from`. Without a batch it already has.
fn reaches_end(events: &[Event], from: Option<Seq>, head: Seq) -> bool {
    let next = events.last().map_or_else(|| from.unwrap_or(head), |it| it.seq + 1);
    next >= head
}

/// The most events of the next batch: a batch that is too large for central, or
/// for the line, must not block the log.
fn next_limit(most: u32, sent: usize, answer: &Result<BatchAnswer, CentralError>) -> u32 {
    let sent = u32::try_from(sent).unwrap_or(BATCH);
    match answer {
        Ok(_) => (most * 2).min(BATCH),
        Err(CentralError::TooLarge(_) | CentralError::Away(_)) => (sent / 2).max(1),
        Err(
            CentralError::Fenced { .. }
            | CentralError::Diverged(_)
            | CentralError::Refused(_)
            | CentralError::Unreadable(_),
        ) => most,
    }
}

/// Whether a batch that was too large can be sent in parts at once. A single
/// event that is too large has to wait, or it would be sent in a loop.
fn is_divisible(sent: usize, answer: &Result<BatchAnswer, CentralError>) -> bool {
    sent > 1 && matches!(answer, Err(CentralError::TooLarge(_)))
}

/// A batch of as many of the events as fit, and at least the first. Also
/// returns their number, and whether the answers are included: they belong to
/// the last event.
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
        Ok(if self.uplink.is_known() { IDLE } else { DIVERGED_RETRY })
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use colony_testkit::Plant;
    use colony_wfm::{Authority, Credentials, PrivateKey, SpiffeId};

    use super::*;
    use crate::clock::Clock;
    use crate::kit::{self, Running};

    #[test]
    fn answers_go_with_the_end_of_the_log() {
        let mut plant = Plant::new();
        (0..3).for_each(|it| plant.join(&format!("n{it}")));
        let events = &plant.events;
        let (last, head) = (events.len(), events.len() as Seq + 1);
        assert!(reaches_end(events, Some(1), head));
        assert!(reaches_end(&events[last - 1..], Some(head - 1), head));
        assert!(!reaches_end(&events[..last - 1], Some(1), head), "one is missing");
        assert!(!reaches_end(&[], Some(head - 1), head), "none could be read");
        assert!(reaches_end(&[], None, head), "central has them all");
    }

    #[test]
    fn waiting_answers_are_computed_again_after_a_while() {
        assert!(is_due(None, Monotonic(0)));
        assert!(!is_due(Some(Monotonic(5_000)), Monotonic(5_999)));
        assert!(is_due(Some(Monotonic(5_000)), Monotonic(6_000)));
    }

    #[test]
    fn batches_shrink_when_they_do_not_get_through_and_grow_again() {
        let taken = || Ok(BatchAnswer { next_seq: 1, answers_incomplete: false });
        let away = || Err(CentralError::Away(anyhow::anyhow!("no route")));
        check_limit(8, 8, &taken(), 16);
        check_limit(BATCH, 8, &taken(), BATCH);
        check_limit(BATCH, 8, &away(), 4);
        check_limit(BATCH, 8, &too_large(), 4);
        check_limit(1, 1, &too_large(), 1);
        check_limit(8, 8, &Err(CentralError::Refused("no".to_owned())), 8);
    }

    #[track_caller]
    fn check_limit(
        most: u32,
        sent: usize,
        answer: &Result<BatchAnswer, CentralError>,
        expected: u32,
    ) {
        assert_eq!(next_limit(most, sent, answer), expected, "{sent} of {most}: {answer:?}");
    }

    #[test]
    fn event_that_is_too_large_alone_is_not_sent_in_a_loop() {
        assert!(is_divisible(2, &too_large()));
        assert!(!is_divisible(1, &too_large()));
        assert!(!is_divisible(2, &Err(CentralError::Refused("no".to_owned()))));
    }

    fn too_large() -> Result<BatchAnswer, CentralError> {
        Err(CentralError::TooLarge("413".to_owned()))
    }

    #[tokio::test]
    async fn central_with_another_end_of_the_log_is_asked_again_and_gets_all_answers() {
        let dir = TempDir::new().expect("a directory");
        let (mut forward, writer) = check_position(&dir).await;
        let session = forward.outbox.session();

        assert!(forward.check_position(8, 8), "there may be more answers");
        assert_eq!((forward.uplink.is_known(), forward.outbox.session()), (true, session));
        assert!(forward.check_position(3, 8), "it was restored");
        assert_eq!((forward.uplink.is_known(), forward.outbox.session()), (false, session + 1));
        writer.stop().await;
    }

    #[tokio::test]
    async fn diverged_log_is_told_and_not_offered_again_at_once() {
        let dir = TempDir::new().expect("a directory");
        let (mut forward, writer) = check_position(&dir).await;

        assert!(!forward.diverged("another hash".to_owned()).expect("no failure"));

        let told = forward.health.readiness(&forward.brain).await;
        let expected = "another hash; invite this site's orchestrator again: `colony site invite`";
        assert!(!told.ready && told.reasons.iter().any(|it| it == expected), "{told:?}");
        assert!(!forward.uplink.is_known());
        writer.stop().await;
    }

    /// A forwarder that knows of no event that central lacks.
    async fn check_position(dir: &TempDir) -> (Forward, Running) {
        let (brain, writer) = kit::open(dir).await;
        kit::fill(&brain).await;
        let fleet = Authority::create("fleet.example", Clock::unix()).expect("a CA");
        let key = PrivateKey::generate().expect("a key");
        let id = SpiffeId::site_client("fleet.example", "home").expect("an id");
        let (csr, life) = (key.csr().expect("a request"), Duration::from_secs(3_600));
        let chain_pem = fleet.sign(&csr, &id, &[], Clock::unix(), life).expect("it is signed");
        let roots_pem = fleet.root_pem().to_owned();
        let own = Credentials { chain_pem, key_pem: key.to_pem(), roots_pem };
        let central = Central::new(&kit::membership("t1"), &own).expect("a link");
        let (store, health, vitals) = (writer.store.clone(), Health::default(), Vitals::default());
        let mut forward = Forward::new(brain, store, health, central, vitals, 0);
        let turn = forward.uplink.next_batch(8, 0).expect("it asks");
        assert_eq!(forward.uplink.answered(turn, 8, 8), Answer::Taken);
        (forward, writer)
    }

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
