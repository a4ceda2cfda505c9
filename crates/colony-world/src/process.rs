//! A process with its own monotonic clock: it runs, crashes and restarts.

use std::time::Duration;

use colony_core::time::{Monotonic, Now, Timestamp};

/// The wall-clock time at which a world starts.
const EPOCH: u64 = 1_794_225_600_000;

/// Whether a role runs, and its clocks.
#[derive(Debug, Clone)]
pub struct Process {
    pub up: bool,
    /// Counts its lives: actions started in an earlier one are void.
    pub life: u64,
    /// Virtual time of the start, and the value of the monotonic clock at that
    /// time.
    started: u64,
    base: Monotonic,
    /// The error of the wall clock, in milliseconds.
    pub skew: i64,
    /// The timer that the last step requested.
    pub wake: Option<Monotonic>,
    /// The virtual time of the next tick, if one is planned.
    tick: Option<u64>,
}

impl Default for Process {
    fn default() -> Process {
        let (started, base) = (0, Monotonic(0));
        Process { up: true, life: 0, started, base, skew: 0, wake: None, tick: None }
    }
}

impl Process {
    pub fn now(&self, virtual_now: u64, entropy: u64) -> Now {
        let wall = Timestamp((EPOCH + virtual_now).saturating_add_signed(self.skew));
        Now { mono: self.mono(virtual_now), wall, entropy }
    }

    pub fn mono(&self, virtual_now: u64) -> Monotonic {
        self.base.after(Duration::from_millis(virtual_now - self.started))
    }

    /// The virtual time at which the monotonic clock shows `due`.
    pub fn when(&self, due: Monotonic) -> u64 {
        self.started.saturating_add(due.0.saturating_sub(self.base.0))
    }

    /// The time of a tick for `due`, unless an earlier one is planned.
    pub fn plan_tick(&mut self, due: Option<Monotonic>) -> Option<u64> {
        let at = self.when(due?);
        if self.tick.is_some_and(|it| it <= at) {
            return None;
        }
        self.tick = Some(at);
        Some(at)
    }

    /// Whether the tick planned for `at` in this life is the current one.
    pub fn ticks(&mut self, at: u64, life: u64) -> bool {
        let due = self.up && self.life == life && self.tick == Some(at);
        if due {
            self.tick = None;
        }
        due
    }

    /// The next tick is at `at`, replacing a planned one.
    pub fn tick_at(&mut self, at: u64) {
        self.tick = Some(at);
    }

    /// Drops the planned tick; the next step plans another one.
    pub fn forget_tick(&mut self) {
        self.tick = None;
    }

    pub fn die(&mut self) {
        self.up = false;
        (self.wake, self.tick) = (None, None);
        self.life += 1;
    }

    /// Starts again; the clock continues from its persisted value.
    pub fn rise(&mut self, virtual_now: u64, clock: Monotonic) {
        self.up = true;
        self.life += 1;
        self.started = virtual_now;
        self.base = clock;
    }
}
