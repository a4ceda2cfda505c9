//! A process with a monotonic clock of its own: it runs, dies and comes back.

use std::time::Duration;

use colony_core::time::{Mono, Now, Wall};

use crate::rng::Rng;

/// When the simulated world began, on the wall.
const EPOCH: u64 = 1_794_225_600_000;

/// Whether a role runs, and what its clocks show.
#[derive(Debug, Clone)]
pub struct Process {
    pub up: bool,
    /// Counts its lives: what was begun in an earlier one is void.
    pub life: u64,
    /// Virtual time of the start, and what the monotonic clock showed then.
    started: u64,
    base: Mono,
    /// How wrong the wall clock is, in milliseconds.
    pub skew: i64,
}

impl Process {
    pub fn new() -> Process {
        Process { up: true, life: 0, started: 0, base: Mono(0), skew: 0 }
    }

    pub fn now(&self, virtual_now: u64, rng: &mut Rng) -> Now {
        let mono = self.base.after(Duration::from_millis(virtual_now - self.started));
        let wall = Wall((EPOCH + virtual_now).saturating_add_signed(self.skew));
        Now { mono, wall, entropy: rng.next() }
    }

    /// The virtual time at which the monotonic clock will show `due`.
    pub fn virtual_at(&self, due: Mono) -> u64 {
        self.started + due.0.saturating_sub(self.base.0)
    }

    pub fn die(&mut self) {
        self.up = false;
        self.life += 1;
    }

    /// Starts again; the clock goes on where it was persisted.
    pub fn rise(&mut self, virtual_now: u64, clock: Mono) {
        self.up = true;
        self.life += 1;
        self.started = virtual_now;
        self.base = clock;
    }
}
