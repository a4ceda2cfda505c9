//! Time in units: every wait of a world is a few of them.
//!
//! Messages and steps take no time; only `Act::Pass` moves the clock, to the
//! next timer of anybody, on a whole unit. The walls stand still: no decision
//! of a world hangs on them.

use std::time::Duration;

use colony_core::node::{Backoff, Policy};
use colony_core::site::Timing;
use colony_core::time::{Mono, Now, Wall};

/// The grain of time, in milliseconds: how far a persisted clock may lag.
pub(crate) const UNIT: u64 = 10_000;
/// Where the clocks of a world begin.
pub(crate) const START: u64 = 100 * UNIT;
/// What lies further back than so many units is alike: the longest wait of a
/// world that looks back is shorter.
pub(crate) const OLD: u64 = 5;

const WALL: Wall = Wall(1_794_225_600_000);
/// Report numbers begin at a node's wall clock: this one keeps them small.
const NODE_WALL: Wall = Wall(1);

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
        proof: units(2),
        backoff: Backoff { first: units(1), longest: units(2) },
        restart_limit: 2,
        restart_window: units(4),
        probation: units(1),
        clock_lag: units(1),
    }
}

/// The monotonic clock of a process: it goes on from what was persisted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock {
    ahead: i64,
}

impl Clock {
    pub(crate) fn mono(self, now: u64) -> Mono {
        Mono(now.saturating_add_signed(self.ahead))
    }

    /// When the world's clock shows what this one calls `due`.
    pub(crate) fn when(self, due: Mono) -> u64 {
        due.0.saturating_add_signed(-self.ahead)
    }

    pub(crate) fn go_on_from(&mut self, now: u64, clock: Mono) {
        let signed = |it: u64| i64::try_from(it).unwrap_or(i64::MAX);
        self.ahead = signed(clock.0) - signed(now);
    }

    pub(crate) fn at_site(self, now: u64) -> Now {
        Now { mono: self.mono(now), wall: WALL, entropy: 0 }
    }

    pub(crate) fn at_node(self, now: u64) -> Now {
        Now { mono: self.mono(now), wall: NODE_WALL, entropy: 0 }
    }
}

/// What the central orchestrator's clock shows.
pub(crate) fn wall() -> Wall {
    WALL
}
