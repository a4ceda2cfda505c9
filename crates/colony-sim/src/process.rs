//! A process with a monotonic clock of its own: it runs, dies and comes back.

use std::time::Duration;

use colony_core::time::{Mono, Now, Wall};

use crate::rng::Rng;

/// When the simulated world began, on the wall.
const EPOCH: u64 = 1_794_225_600_000;

/// Whether a role runs, and what its clocks show.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub up: bool,
    /// Counts its lives: what was begun in an earlier one is void.
    pub life: u64,
    /// Virtual time of the start, and what the monotonic clock showed then.
    started: u64,
    base: Mono,
    /// How wrong the wall clock is, in milliseconds.
    pub skew: i64,
    /// The virtual time of the next tick, if one is planned.
    tick: Option<u64>,
}

impl Process {
    pub(crate) fn new() -> Process {
        Process { up: true, life: 0, started: 0, base: Mono(0), skew: 0, tick: None }
    }

    pub(crate) fn now(&self, virtual_now: u64, rng: &mut Rng) -> Now {
        let mono = self.base.after(Duration::from_millis(virtual_now - self.started));
        let wall = Wall((EPOCH + virtual_now).saturating_add_signed(self.skew));
        Now { mono, wall, entropy: rng.next() }
    }

    /// When to tick for `due`, unless a tick is planned before that.
    pub(crate) fn plan_tick(&mut self, due: Option<Mono>) -> Option<u64> {
        let at = self.started.saturating_add(due?.0.saturating_sub(self.base.0));
        if self.tick.is_some_and(|it| it <= at) {
            return None;
        }
        self.tick = Some(at);
        Some(at)
    }

    /// Whether the tick planned for `at` in this life is the one to make.
    pub(crate) fn ticks(&mut self, at: u64, life: u64) -> bool {
        let due = self.up && self.life == life && self.tick == Some(at);
        if due {
            self.tick = None;
        }
        due
    }

    /// The next tick is at `at`, whatever was planned before.
    pub(crate) fn tick_at(&mut self, at: u64) {
        self.tick = Some(at);
    }

    /// Whoever knows this process by another number plans its ticks anew.
    pub(crate) fn forget_tick(&mut self) {
        self.tick = None;
    }

    pub(crate) fn die(&mut self) {
        self.up = false;
        self.tick = None;
        self.life += 1;
    }

    /// Starts again; the clock goes on where it was persisted.
    pub(crate) fn rise(&mut self, virtual_now: u64, clock: Mono) {
        self.up = true;
        self.life += 1;
        self.started = virtual_now;
        self.base = clock;
    }
}
