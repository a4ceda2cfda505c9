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
    /// How often central had returned when its position was queried.
    returns: u64,
}

/// A batch to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutgoingBatch {
    /// Its first event.
    pub from: Seq,
    asks: bool,
}

/// The meaning of a response of central for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Central continues from there.
    Taken,
    /// Central requests the same event that it was just sent.
    Refused,
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
    /// After central returns, its position is queried again: it may have been
    /// restored and need events it had before.
    pub fn next_batch(&mut self, head: Seq, returns: u64) -> Option<OutgoingBatch> {
        if returns != self.returns {
            (self.returns, self.next) = (returns, None);
        }
        match self.next {
            Some(next) if next >= head => None,
            Some(from) => Some(OutgoingBatch { from, asks: false }),
            None => Some(OutgoingBatch { from: head.saturating_sub(1).max(1), asks: true }),
        }
    }

    /// Central responded to `turn`: it needs `next`.
    pub fn answered(&mut self, turn: OutgoingBatch, next: Seq, head: Seq) -> Answer {
        if next > head {
            self.diverged();
            return Answer::Ahead(next - 1);
        }
        // Central requests what it was just sent: sending it again would never
        // end.
        let moved = turn.asks || self.next != Some(next);
        self.next = Some(next);
        if moved { Answer::Taken } else { Answer::Refused }
    }

    /// The log of central diverged. The position is queried again, in case the
    /// divergence was repaired.
    pub fn diverged(&mut self) {
        self.next = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_asks_where_co_is() {
        let mut uplink = Uplink::default();
        check(&mut uplink, 8, 1, "from 7, taken");
        check(&mut uplink, 8, 4, "from 1, taken");
        check(&mut uplink, 8, 8, "from 4, taken");
        check(&mut uplink, 8, 8, "nothing");
        check(&mut uplink, 9, 9, "from 8, taken");
    }

    #[test]
    fn an_empty_log_asks_from_its_beginning() {
        check(&mut Uplink::default(), 1, 1, "from 1, taken");
    }

    #[test]
    fn who_wants_the_same_again_is_not_asked_for_ever() {
        let mut uplink = Uplink::default();
        check(&mut uplink, 8, 7, "from 7, taken");
        check(&mut uplink, 8, 7, "from 7, refused");
    }

    #[test]
    fn who_knows_more_than_there_is_has_another_past() {
        let mut uplink = Uplink::default();
        check(&mut uplink, 8, 9, "from 7, ahead 8");
        assert!(!uplink.is_known());
        check(&mut uplink, 8, 8, "from 7, taken");
    }

    #[test]
    fn who_turns_out_to_have_another_past_is_asked_anew() {
        let mut uplink = Uplink::default();
        check(&mut uplink, 8, 8, "from 7, taken");
        assert!(uplink.is_known());
        uplink.diverged();
        assert!(!uplink.is_known());
        check(&mut uplink, 8, 8, "from 7, taken");
    }

    #[test]
    fn who_comes_back_is_asked_anew() {
        let mut uplink = Uplink::default();
        check(&mut uplink, 8, 8, "from 7, taken");
        assert_eq!(uplink.next_batch(8, 1), Some(OutgoingBatch { from: 7, asks: true }));
    }

    #[track_caller]
    fn check(uplink: &mut Uplink, head: Seq, wants: Seq, expected: &str) {
        let said = match uplink.next_batch(head, 0) {
            None => "nothing".to_owned(),
            Some(turn) => {
                let answer = match uplink.answered(turn, wants, head) {
                    Answer::Taken => "taken".to_owned(),
                    Answer::Refused => "refused".to_owned(),
                    Answer::Ahead(last) => format!("ahead {last}"),
                };
                format!("from {}, {answer}", turn.from)
            }
        };
        assert_eq!(said, expected);
    }
}
