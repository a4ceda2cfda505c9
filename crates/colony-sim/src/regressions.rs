//! Seeds that once revealed a bug. They run with the ordinary tests.
//!
//! A seed repeats its story only as long as the simulation draws its random
//! numbers in the same order. After a change of the simulation it runs another
//! story: the name and the test beside the fix remain, and the seed is only one
//! story more.

/// A story that once failed.
#[derive(Debug, Clone, Copy)]
pub struct Regression {
    pub seed: u64,
    /// The bug.
    pub bug: &'static str,
}

pub const REGRESSIONS: &[Regression] = &[
    Regression { seed: 25, bug: "two restores of one backup of CO gave an order's number twice" },
    Regression {
        seed: 40,
        bug: "a deadline before the node's own was an environment error: retried forever",
    },
    Regression {
        seed: 145,
        bug: "two restores of a backup within a quarter of an hour gave one incarnation twice",
    },
    Regression { seed: 149, bug: "full slots held up nodes that only stage, forever" },
    Regression { seed: 172, bug: "a way forward after a failed way back took no slot" },
    Regression { seed: 381, bug: "what a backup said of a device was believed forever" },
    Regression { seed: 1604, bug: "a node that refuses held up the queue for a slot" },
    Regression { seed: 1618, bug: "two pasts of one length counted as one" },
    Regression { seed: 951, bug: "a new attempt stopped what an old look had shown unhealthy" },
    Regression { seed: 973, bug: "a late report of a former life silenced a device" },
];
