//! Which events an orchestrator of a site sends next: those CO has not got.
//!
//! Nothing is remembered but the place CO is at. After a start, and when CO was
//! away, the last event asks for it: two logs of one length may differ.

use crate::event::Seq;

/// What a site believes of CO; lost with its process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Uplink {
    /// The next event CO wants; `None` until it was asked.
    next: Option<Seq>,
    /// How often CO had come back when it was asked.
    returns: u64,
}

/// A batch to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Its first event.
    pub from: Seq,
    asks: bool,
}

/// What an answer of CO means for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It goes on from there.
    Taken,
    /// CO wants the very event again that it was sent.
    Refused,
    /// CO knows events of this log up to here that the site has no memory of.
    Ahead(Seq),
}

impl Uplink {
    /// CO is in step, as far as is known.
    pub fn is_known(&self) -> bool {
        self.next.is_some()
    }

    /// What to send if `head` is the event that comes next; nothing if CO has all.
    ///
    /// Who comes back may have been restored, and want what it had before.
    pub fn turn(&mut self, head: Seq, returns: u64) -> Option<Turn> {
        if returns != self.returns {
            (self.returns, self.next) = (returns, None);
        }
        match self.next {
            Some(next) if next >= head => None,
            Some(from) => Some(Turn { from, asks: false }),
            None => Some(Turn { from: head.saturating_sub(1).max(1), asks: true }),
        }
    }

    /// CO answered `turn`: it wants `next` now.
    pub fn answered(&mut self, turn: Turn, next: Seq, head: Seq) -> Answer {
        if next > head {
            self.diverged();
            return Answer::Ahead(next - 1);
        }
        // CO that wants what it was just sent would be asked for ever.
        let moved = turn.asks || self.next != Some(next);
        self.next = Some(next);
        if moved { Answer::Taken } else { Answer::Refused }
    }

    /// CO has another past: it is asked again, in case somebody put that right.
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
        assert_eq!(uplink.turn(8, 1), Some(Turn { from: 7, asks: true }));
    }

    #[track_caller]
    fn check(uplink: &mut Uplink, head: Seq, wants: Seq, expected: &str) {
        let said = match uplink.turn(head, 0) {
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
