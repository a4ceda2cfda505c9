//! Which events a local orchestrator sends next: those that central lacks.
//!
//! Only the position of central is remembered. After a start, and when central
//! was away, the last event is sent to query the position: two logs of the same
//! length may differ.

use crate::event::Seq;

/// What a site knows about central; lost with its process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Uplink {
    /// The next event central needs; `None` until central has responded.
    next: Option<Seq>,
    /// How often central had reconnected when its position was queried.
    reconnects: u64,
}

/// A batch to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutgoingBatch {
    /// Its first event.
    pub from: Seq,
    /// It is sent to learn the position of central, which may have its events.
    queries_position: bool,
}

/// What a response says about the position of central in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogPosition {
    /// Central stored events, or reported its position for the first time.
    Advanced,
    /// Central requests the same event that it was just sent.
    Unmoved,
    /// Central has events of this log up to here that the site does not know.
    Ahead(Seq),
}

impl Uplink {
    /// The position of central is known.
    pub fn is_known(&self) -> bool {
        self.next.is_some()
    }

    /// The batch to send if `head` is the next event of the log; `None` if
    /// central has all events.
    ///
    /// After central reconnects, its position is queried again: it may have been
    /// restored and need events it had before.
    pub fn next_batch(&mut self, head: Seq, reconnects: u64) -> Option<OutgoingBatch> {
        if reconnects != self.reconnects {
            (self.reconnects, self.next) = (reconnects, None);
        }
        match self.next {
            Some(next) if next >= head => None,
            Some(from) => Some(OutgoingBatch { from, queries_position: false }),
            None => {
                Some(OutgoingBatch { from: head.saturating_sub(1).max(1), queries_position: true })
            }
        }
    }

    /// Central responded to `batch`: it needs `next`.
    pub fn record_response(&mut self, batch: OutgoingBatch, next: Seq, head: Seq) -> LogPosition {
        if next > head {
            self.forget_position();
            return LogPosition::Ahead(next - 1);
        }
        // Central requests what it was just sent: sending it again would never
        // end.
        let moved = batch.queries_position || self.next != Some(next);
        self.next = Some(next);
        if moved { LogPosition::Advanced } else { LogPosition::Unmoved }
    }

    /// Forgets the position of central, because its log diverged or it was
    /// restored. The position is queried again, in case the divergence was
    /// repaired.
    pub fn forget_position(&mut self) {
        self.next = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_queries_the_position_of_central() {
        let mut uplink = Uplink::default();
        check(&mut uplink, 8, 1, "from 7, advanced");
        check(&mut uplink, 8, 4, "from 1, advanced");
        check(&mut uplink, 8, 8, "from 4, advanced");
        check(&mut uplink, 8, 8, "nothing");
        check(&mut uplink, 9, 9, "from 8, advanced");
    }

    #[test]
    fn an_empty_log_queries_from_its_beginning() {
        check(&mut Uplink::default(), 1, 1, "from 1, advanced");
    }

    #[test]
    fn central_that_requests_the_same_again_is_not_queried_forever() {
        let mut uplink = Uplink::default();
        check(&mut uplink, 8, 7, "from 7, advanced");
        check(&mut uplink, 8, 7, "from 7, unmoved");
    }

    #[test]
    fn central_with_more_events_than_the_log_has_diverged() {
        let mut uplink = Uplink::default();
        check(&mut uplink, 8, 9, "from 7, ahead 8");
        assert!(!uplink.is_known());
        check(&mut uplink, 8, 8, "from 7, advanced");
    }

    #[test]
    fn central_is_queried_again_after_a_divergence() {
        let mut uplink = Uplink::default();
        check(&mut uplink, 8, 8, "from 7, advanced");
        assert!(uplink.is_known());
        uplink.forget_position();
        assert!(!uplink.is_known());
        check(&mut uplink, 8, 8, "from 7, advanced");
    }

    #[test]
    fn central_is_queried_again_after_it_reconnects() {
        let mut uplink = Uplink::default();
        check(&mut uplink, 8, 8, "from 7, advanced");
        assert_eq!(
            uplink.next_batch(8, 1),
            Some(OutgoingBatch { from: 7, queries_position: true })
        );
    }

    #[track_caller]
    fn check(uplink: &mut Uplink, head: Seq, wants: Seq, expected: &str) {
        let result = match uplink.next_batch(head, 0) {
            None => "nothing".to_owned(),
            Some(batch) => {
                let position = match uplink.record_response(batch, wants, head) {
                    LogPosition::Advanced => "advanced".to_owned(),
                    LogPosition::Unmoved => "unmoved".to_owned(),
                    LogPosition::Ahead(last) => format!("ahead {last}"),
                };
                format!("from {}, {position}", batch.from)
            }
        };
        assert_eq!(result, expected);
    }
}
