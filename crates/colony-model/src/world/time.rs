//! Time in units: every wait of a world is a few of them.
//!
//! Messages and steps take no time; only `Act::Pass` moves the clock, to the
//! next timer of any role, on a whole unit. The wall clocks stand still: no
//! decision of a world depends on them.

use std::time::Duration;

use colony_core::node::{Backoff, Policy};
use colony_core::site::Timing;
use colony_core::time::Timestamp;

/// The grain of time, in milliseconds: how far a persisted clock may lag.
pub(crate) const UNIT: u64 = 10_000;
/// The start of the clocks of a world.
pub(crate) const START: u64 = 100 * UNIT;
/// Stamps older than this many units are equal: every wait of a world that
/// looks back is shorter.
pub(crate) const OLD: u64 = 5;

pub(crate) const WALL: Timestamp = Timestamp(1_794_225_600_000);
/// Report numbers begin at a node's wall clock: this one keeps them small.
pub(crate) const NODE_WALL: Timestamp = Timestamp(1);

fn units(count: u64) -> Duration {
    Duration::from_millis(count * UNIT)
}

pub(crate) fn timing() -> Timing {
    Timing {
        suspect: units(2),
        lease: units(3),
        silence: units(2),
        backoff_first: units(1),
        backoff_cap: units(2),
    }
}

pub(crate) fn policy() -> Policy {
    Policy {
        settle: units(1),
        timeout: units(4),
        keep_previous: units(2),
        backoff: Backoff { first: units(1), longest: units(2) },
        restart_limit: 2,
        restart_window: units(4),
        probation: units(1),
        clock_lag: units(1),
    }
}
