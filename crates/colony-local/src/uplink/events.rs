//! Sends the site's event log to central, in order, from the position that
//! central reports. A batch that reaches the end of the log also carries the
//! answers to `why` that changed.
//!
//! An *answer* is always one of those (`colony_core::why`); what central returns
//! to a request is a *response*. `BatchAnswer` is its published name.

use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use tracing::debug;

use colony_api::site::{BatchAnswer, EventBatch};
use colony_core::event::{Event, Incarnation, LogPosition, OutgoingBatch, Seq, Uplink};
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

/// The maximum number of events in one batch; central accepts 1,000.
const BATCH: u32 = 500;
/// The maximum size of a batch of several events, in bytes: far below the limit of central,
/// and small enough for a slow line within the timeout of a request.
const BYTES: usize = 1 << 20;
/// The retry interval after the logs have diverged.
const DIVERGED_RETRY: Duration = Duration::from_secs(60);
/// The maximum size of the answers in one batch, in bytes.
const ANSWER_BYTES: usize = 256 << 10;
/// How often answers are recomputed that may change with time alone, such as
/// those that name a duration. At most this often, however often events occur.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// How long to wait when there is nothing to send, unless a change wakes the
/// task. Then answers that changed with time alone are sent.
const IDLE: Duration = Duration::from_secs(15);

/// The task that sends events and answers to central.
#[derive(Debug)]
pub(crate) struct EventForwarder {
    brain: Brain,
    store: LocalStore,
    health: Health,
    central: Central,
    /// The last health reports of the nodes.
    vitals: Vitals,
    incarnation: Incarnation,
    /// The position of central in the log. It counts reconnects as well, to query the
    /// position again after one.
    uplink: Uplink,
    outbox: AnswerOutbox,
    /// When all answers were last computed: some change with time alone.
    refreshed: Option<Monotonic>,
    /// `Health::central_reconnects` at the last refresh: how often central
    /// responded again after a failure. Central may have been restored from a
    /// backup meanwhile, so all answers are sent again.
    reconnects: u64,
    /// Halved when a batch was too large or did not get through, doubled after a
    /// success.
    batch_limit: u32,
}

impl EventForwarder {
    pub(crate) fn new(
        brain: Brain,
        store: LocalStore,
        health: Health,
        central: Central,
        vitals: Vitals,
        incarnation: Incarnation,
    ) -> EventForwarder {
        EventForwarder {
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
        let changed = self.brain.notifiers().take_changed();
        let (outbox, refreshed) = (&mut self.outbox, &mut self.refreshed);
        let (health, vitals) = (&self.health, &self.vitals);
        let refresh = |site: &Site, now: Now| {
            // Surroundings: outages of central and Git, and nodes that are not ready.
            outbox.refresh(site, &surroundings(site, health, vitals), &changed, now);
            if is_due(*refreshed, now.mono) {
                *refreshed = Some(now.mono);
                // An empty answer (nothing to explain) changes only with the site.
                outbox.refresh_nonempty(site, now);
            }
            site.log().next
        };
        Ok(self.brain.read(refresh).await?)
    }

    /// Sends the next batch; true if there may be more.
    async fn send(&mut self) -> anyhow::Result<bool> {
        let head = self.refresh().await?;
        let outgoing = self.uplink.next_batch(head, self.health.central_reconnects());
        let events = match &outgoing {
            Some(outgoing) => self.read_events(outgoing.from).await?,
            None => Vec::new(),
        };
        let at_end = reaches_end(&events, outgoing.map(|it| it.from), head);
        let answers = at_end.then(|| self.outbox.next(ANSWER_BYTES)).flatten();
        if outgoing.is_none() && answers.is_none() {
            return Ok(false);
        }
        let number = answers.as_ref().map(|it| it.number);
        let batch = EventBatch { incarnation: self.incarnation, events, answers };
        let (body, sent, with_answers) = serialize_fitting(batch, BYTES)?;
        colony_process::fail::hit(colony_process::fail::Point::LocalEventsRead);
        let response = self.central.post::<BatchAnswer>("/events", body).await;
        if let Err(CentralError::Diverged(reason)) = &response {
            let reason = format!("event log diverged from the central orchestrator: {reason}");
            return self.report_divergence(reason);
        }
        self.batch_limit = next_limit(self.batch_limit, sent, &response);
        if is_divisible(sent, &response) {
            return Ok(true);
        }
        let response = record_result(&self.brain, &self.health, response).await?;
        colony_process::fail::hit(colony_process::fail::Point::LocalEventsTaken);
        debug!(next = response.next_seq, "central stored the events");
        if response.answers_incomplete {
            // Also after a batch without answers: central lacks earlier ones.
            self.outbox.start_over();
        } else if let Some(number) = number.filter(|_| with_answers) {
            self.outbox.acknowledged(number);
        }
        match outgoing {
            Some(outgoing) => self.record_response(outgoing, response.next_seq, head),
            None => Ok(self.check_position(response.next_seq, head)),
        }
    }

    /// After a batch of answers alone: central must be at the end of the log,
    /// unless it was restored in between.
    fn check_position(&mut self, next: Seq, head: Seq) -> bool {
        if next != head {
            self.uplink.forget_position();
            self.outbox.start_over();
        }
        true
    }

    async fn read_events(&self, next: Seq) -> anyhow::Result<Vec<Event>> {
        let events = self.store.events_from(self.incarnation, next, self.batch_limit).await;
        events.context("could not read the events to send")
    }

    /// Records the position of central after a batch of events.
    fn record_response(
        &mut self,
        outgoing: OutgoingBatch,
        next: Seq,
        head: Seq,
    ) -> anyhow::Result<bool> {
        let position = self.uplink.record_response(outgoing, next, head);
        if let LogPosition::Ahead(last) = position {
            // This orchestrator, or central, was restored from a backup.
            return self.report_divergence(format!(
                "the central orchestrator has events up to {last}, which are not in this \
                 orchestrator's log"
            ));
        }
        self.health.diverged(None);
        self.health.acknowledged(next);
        colony_process::fail::hit(colony_process::fail::Point::LocalEventsNoted);
        let advanced = position == LogPosition::Advanced;
        anyhow::ensure!(
            advanced,
            "the central orchestrator asks again for event {next}, which it was sent"
        );
        Ok(true)
    }

    fn report_divergence(&mut self, reason: String) -> anyhow::Result<bool> {
        let help = "invite this site's orchestrator again: `colony site invite <site> --replace`";
        self.health.diverged(Some(format!("{reason}; {help}")));
        self.uplink.forget_position();
        Ok(false)
    }
}

/// Whether the answers that may change with time have to be recomputed.
fn is_due(last: Option<Monotonic>, now: Monotonic) -> bool {
    last.is_none_or(|it| now.since(it) >= REFRESH_INTERVAL)
}

/// Whether central has the whole log below `head` after a batch of these
/// events, which begins at `from`. Without a batch it already has.
fn reaches_end(events: &[Event], from: Option<Seq>, head: Seq) -> bool {
    let next = events.last().map_or_else(|| from.unwrap_or(head), |it| it.seq + 1);
    next >= head
}

/// How many events the next batch may contain: a batch that is too large for
/// central, or for the line, must not block the log.
fn next_limit(limit: u32, sent: usize, response: &Result<BatchAnswer, CentralError>) -> u32 {
    let sent = u32::try_from(sent).unwrap_or(BATCH);
    match response {
        Ok(_) => (limit * 2).min(BATCH),
        Err(CentralError::TooLarge(_) | CentralError::Away(_)) => (sent / 2).max(1),
        Err(
            CentralError::Fenced { .. }
            | CentralError::Diverged(_)
            | CentralError::Refused(_)
            | CentralError::Unreadable(_),
        ) => limit,
    }
}

/// Whether a batch that was too large can be sent in parts at once. A single
/// event that is too large has to wait, or it would be sent in a loop.
fn is_divisible(sent: usize, response: &Result<BatchAnswer, CentralError>) -> bool {
    sent > 1 && matches!(response, Err(CentralError::TooLarge(_)))
}

/// A batch of as many of the events as fit, and at least the first. Also
/// returns their number, and whether the answers are included: they describe the
/// site after the last event, so they go only with it.
fn serialize_fitting(
    mut batch: EventBatch,
    bytes: usize,
) -> serde_json::Result<(Bytes, usize, bool)> {
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

impl Reconcile for EventForwarder {
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

    /// A `Plant` is a site core without a shell: each node that joins adds events.
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
        let stored = || Ok(BatchAnswer { next_seq: 1, answers_incomplete: false });
        let away = || Err(CentralError::Away(anyhow::anyhow!("no route")));
        check_limit(8, 8, &stored(), 16);
        check_limit(BATCH, 8, &stored(), BATCH);
        check_limit(BATCH, 8, &away(), 4);
        check_limit(BATCH, 8, &too_large(), 4);
        check_limit(1, 1, &too_large(), 1);
        check_limit(8, 8, &Err(CentralError::Refused("no".to_owned())), 8);
    }

    #[track_caller]
    fn check_limit(
        limit: u32,
        sent: usize,
        response: &Result<BatchAnswer, CentralError>,
        expected: u32,
    ) {
        assert_eq!(next_limit(limit, sent, response), expected, "{sent} of {limit}: {response:?}");
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
        let (mut forward, writer) = caught_up_forwarder(&dir).await;
        let session = forward.outbox.session();

        assert!(forward.check_position(8, 8), "there may be more answers");
        assert_eq!((forward.uplink.is_known(), forward.outbox.session()), (true, session));
        assert!(forward.check_position(3, 8), "it was restored");
        assert_eq!((forward.uplink.is_known(), forward.outbox.session()), (false, session + 1));
        writer.stop().await;
    }

    #[tokio::test]
    async fn diverged_log_is_reported_and_not_offered_again_at_once() {
        let dir = TempDir::new().expect("a directory");
        let (mut forward, writer) = caught_up_forwarder(&dir).await;

        assert!(!forward.report_divergence("another hash".to_owned()).expect("no failure"));

        let readiness = forward.health.readiness(&forward.brain).await;
        let expected = "another hash; invite this site's orchestrator again: `colony site invite <site> --replace`";
        assert!(
            !readiness.ready && readiness.reasons.iter().any(|it| it == expected),
            "{readiness:?}"
        );
        assert!(!forward.uplink.is_known());
        writer.stop().await;
    }

    /// A forwarder whose events central has all stored.
    async fn caught_up_forwarder(dir: &TempDir) -> (EventForwarder, Running) {
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
        let mut forward = EventForwarder::new(brain, store, health, central, vitals, 0);
        let outgoing = forward.uplink.next_batch(8, 0).expect("it asks");
        assert_eq!(forward.uplink.record_response(outgoing, 8, 8), LogPosition::Advanced);
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
        let (body, sent, _) = serialize_fitting(batch, bytes).expect("JSON");
        let batch: EventBatch = serde_json::from_slice(&body).expect("a batch");
        assert_eq!((batch.events.as_slice(), sent), (&events[..expected], expected));
    }
}
