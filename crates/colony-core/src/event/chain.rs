//! The hash chain: appending to a log and checking one.

use serde::{Deserialize, Serialize};

use colony_margo::Digest;

use crate::event::{Actor, Body, Event, Incarnation, Seq};
use crate::id::{GitRevision, SiteName};
use crate::time::Timestamp;

/// The end of a site's log: where the next event goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    pub site: SiteName,
    pub incarnation: Incarnation,
    pub next: Seq,
    pub head: Digest,
}

impl Log {
    /// The empty log of a local orchestrator.
    pub fn new(site: SiteName, incarnation: Incarnation) -> Log {
        let head = genesis(&site, incarnation);
        Log { site, incarnation, next: 1, head }
    }

    pub fn append(
        &mut self,
        at: Timestamp,
        actor: Actor,
        git: Option<GitRevision>,
        body: Body,
    ) -> Event {
        let event = Event {
            site: self.site.clone(),
            incarnation: self.incarnation,
            seq: self.next,
            at,
            actor,
            git,
            body,
            prev: self.head,
        };
        self.head = event.hash();
        self.next += 1;
        event
    }

    /// Follows an event that another process appended, if it is the next one.
    pub fn follow(&mut self, event: &Event) -> Result<(), ChainError> {
        if event.site != self.site || event.incarnation != self.incarnation {
            return Err(ChainError::OtherLog { seq: event.seq });
        }
        if event.seq != self.next {
            return Err(ChainError::Gap { expected: self.next, found: event.seq });
        }
        if event.prev != self.head {
            return Err(ChainError::Broken { seq: event.seq });
        }
        self.head = event.hash();
        self.next += 1;
        Ok(())
    }
}

/// Why events do not form one log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    #[error("event {seq} belongs to another log")]
    OtherLog { seq: Seq },
    #[error("event {expected} is missing: {found} follows")]
    Gap { expected: Seq, found: Seq },
    #[error("event {seq} does not follow the one before: its hash differs")]
    Broken { seq: Seq },
}

/// Checks that `events` continue `log` without a gap or a change.
pub fn verify<'a>(
    mut log: Log,
    events: impl IntoIterator<Item = &'a Event>,
) -> Result<Log, ChainError> {
    for event in events {
        log.follow(event)?;
    }
    Ok(log)
}

fn genesis(site: &SiteName, incarnation: Incarnation) -> Digest {
    Digest::of(format!("{site}/{incarnation}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_as_written_verifies() {
        check(|_| {}, "ok, next is 4");
    }

    #[test]
    fn a_changed_event_breaks_the_one_after() {
        check(
            |it| it[1].at = Timestamp(7),
            "event 3 does not follow the one before: its hash differs",
        );
    }

    #[test]
    fn a_missing_event_is_a_gap() {
        check(|it| drop(it.remove(1)), "event 2 is missing: 3 follows");
    }

    #[test]
    fn an_event_of_another_lo_is_refused() {
        check(|it| it[0].incarnation = 1, "event 1 belongs to another log");
    }

    #[track_caller]
    fn check(tamper: impl FnOnce(&mut Vec<Event>), expected: &str) {
        let start = Log::new("plant-a".parse().expect("a name"), 0);
        let mut log = start.clone();
        let mut events: Vec<Event> =
            (0..3).map(|at| log.append(Timestamp(at), Actor::Local, None, Body::Ready)).collect();

        tamper(&mut events);

        let actual = match verify(start, &events) {
            Ok(log) => format!("ok, next is {}", log.next),
            Err(error) => error.to_string(),
        };
        assert_eq!(actual, expected);
    }
}
