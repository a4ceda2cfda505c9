//! Time and randomness as arguments.
//!
//! Deadlines use `Monotonic`, a clock that runs only while its process runs and
//! is persisted with the state. A stored deadline therefore always means
//! *remaining* time, and a jump of the wall clock does not move it. `Timestamp`
//! is for event times, maintenance windows and display.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Milliseconds a role has been running, over all its restarts.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Monotonic(pub u64);

impl Monotonic {
    /// The last value of the clock. Later times are capped to it.
    pub const END: Monotonic = Monotonic(u64::MAX);

    pub fn after(self, wait: Duration) -> Monotonic {
        Monotonic(self.0.saturating_add(millis(wait)))
    }

    /// How long ago `earlier` was; zero if it lies ahead.
    pub fn since(self, earlier: Monotonic) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// Milliseconds since 1970 in UTC, by the wall clock of the machine.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Timestamp(pub u64);

impl Timestamp {
    pub fn after(self, wait: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(millis(wait)))
    }

    pub fn before(self, wait: Duration) -> Timestamp {
        Timestamp(self.0.saturating_sub(millis(wait)))
    }

    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// The time and the random number that a step gets besides its input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Now {
    pub mono: Monotonic,
    pub wall: Timestamp,
    /// One random number, drawn by the caller for this step.
    pub entropy: u64,
}

impl Now {
    /// The wall-clock time at which the monotonic clock will show `due`.
    pub fn wall_at(&self, due: Monotonic) -> Timestamp {
        self.wall.after(due.since(self.mono))
    }

    /// Like `wall_at`, rounded to the second. The two clocks are read one after
    /// the other, so the milliseconds differ between calls; a stored value
    /// should not.
    pub fn wall_second(&self, due: Monotonic) -> Timestamp {
        Timestamp((self.wall_at(due).0 + 500) / 1_000 * 1_000)
    }
}

/// Displays a duration in one unit: `3 h`, `2 min`, `45 s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HumanDuration(pub Duration);

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            it @ 0..=119 => write!(f, "{it} s"),
            it @ 120..=7_199 => write!(f, "{} min", it / 60),
            it @ 7_200..=172_799 => write!(f, "{} h", it / 3_600),
            it => write!(f, "{} d", it / 86_400),
        }
    }
}

fn millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_say_them() {
        check(0, "0 s");
        check(119, "119 s");
        check(120, "2 min");
        check(3 * 3600, "3 h");
        check(30 * 86_400, "30 d");
    }

    #[test]
    fn a_deadline_is_remaining_time_whatever_the_wall_clock_says() {
        let due = Monotonic(1_000).after(Duration::from_secs(10));
        let jumped = Now { mono: Monotonic(6_000), wall: Timestamp(99_000_000), entropy: 0 };
        assert_eq!(jumped.wall_at(due), Timestamp(99_005_000));
        assert_eq!(jumped.mono.since(due), Duration::ZERO);
    }

    #[track_caller]
    fn check(seconds: u64, expected: &str) {
        assert_eq!(HumanDuration(Duration::from_secs(seconds)).to_string(), expected);
    }
}
