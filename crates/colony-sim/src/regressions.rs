//! Seeds that once told of a bug. They run with the ordinary tests.
//!
//! A seed tells the same story only as long as the world draws its random
//! numbers in the same order. When the world changes, it tells another one:
//! the name and the test beside the fix stay, the seed is worth a story more.

/// A story that ended badly once.
#[derive(Debug, Clone, Copy)]
pub struct Regression {
    pub seed: u64,
    /// What was wrong.
    pub bug: &'static str,
}

/// All of them.
pub const REGRESSIONS: &[Regression] = &[
    Regression { seed: 25, bug: "two restores of one backup of CO gave an order's number twice" },
    Regression {
        seed: 40,
        bug: "a deadline before the node's own is nobody's fault: tried for ever",
    },
    Regression {
        seed: 145,
        bug: "two restores of a backup within a quarter of an hour gave one incarnation twice",
    },
    Regression { seed: 149, bug: "full slots held up nodes that only stage, for ever" },
    Regression { seed: 172, bug: "a way forward after a failed way back took no slot" },
    Regression { seed: 381, bug: "what a backup said of a device was believed for ever" },
    Regression { seed: 1604, bug: "a node that refuses held up the queue for a slot" },
    Regression { seed: 1618, bug: "two pasts of one length counted as one" },
    Regression { seed: 951, bug: "a new attempt stopped what an old look had shown unhealthy" },
    Regression { seed: 973, bug: "a late report of a former life silenced a device" },
];
