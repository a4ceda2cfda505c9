//! Limits how often the same requests are sent to a node with the responses.
//!
//! A request that stays open for long (as during a removal) must not end every
//! poll at once: the same one is repeated only after a while.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use colony_core::id::NodeName;
use colony_core::time::Monotonic;
use colony_wfm::ManagerRequests;
use parking_lot::Mutex;

/// After this time the same requests are sent again.
const AGAIN: Duration = Duration::from_secs(8);

#[derive(Debug, Default)]
pub(super) struct AskThrottle(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: BTreeMap<NodeName, (ManagerRequests, Monotonic)>,
    arrived: BTreeSet<NodeName>,
}

impl AskThrottle {
    /// Records that a request of the node arrived.
    pub(super) fn arrived(&self, node: &NodeName) {
        self.0.lock().arrived.insert(node.clone());
    }

    /// Whether a request arrived that was not counted yet: one that is held
    /// open proves nothing.
    pub(super) fn take_arrival(&self, node: &NodeName) -> bool {
        self.0.lock().arrived.remove(node)
    }

    /// Returns `asks` if they are to be sent with a response at `now`.
    pub(super) fn due(
        &self,
        node: &NodeName,
        asks: ManagerRequests,
        now: Monotonic,
    ) -> ManagerRequests {
        let mut state = self.0.lock();
        if asks.is_empty() {
            state.last.remove(node);
            return asks;
        }
        let repeated =
            |(last, at): &(ManagerRequests, Monotonic)| *last == asks && now.since(*at) < AGAIN;
        if state.last.get(node).is_some_and(repeated) {
            return ManagerRequests::default();
        }
        state.last.insert(node.clone(), (asks.clone(), now));
        asks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_question_is_repeated_only_after_a_while() {
        check(&[(0, "c"), (1, "c"), (9, "c")], "ask, -, ask");
    }

    #[test]
    fn another_question_is_asked_at_once() {
        check(&[(0, "c"), (1, "r"), (2, "r")], "ask, ask, -");
    }

    #[test]
    fn a_question_that_was_answered_and_comes_up_again_is_asked_at_once() {
        check(&[(0, "c"), (1, ""), (2, "c")], "ask, -, ask");
    }

    #[track_caller]
    fn check(polls: &[(u64, &str)], expected: &str) {
        let (asked, node) = (AskThrottle::default(), "a".parse().expect("a name"));
        let answers = polls.iter().map(|(second, what)| {
            let (capabilities, renew) = (what.contains('c'), what.contains('r'));
            let asks = ManagerRequests { capabilities, renew, ..ManagerRequests::default() };
            let due = asked.due(&node, asks, Monotonic(second * 1_000));
            if due.is_empty() { "-" } else { "ask" }
        });
        assert_eq!(answers.collect::<Vec<_>>().join(", "), expected);
    }
}
