//! The one place where the node reads a clock or a random source.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use colony_core::time::{Monotonic, Now, Timestamp};

/// A monotonic clock that continues where the previous run ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    begun: Instant,
    base: Monotonic,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "the shell is where time comes from")]
    pub(crate) fn starting_at(base: Monotonic) -> Clock {
        Clock { begun: Instant::now(), base }
    }

    pub(crate) fn mono(&self) -> Monotonic {
        self.base.after(self.begun.elapsed())
    }

    pub(crate) fn now(&self) -> Now {
        Now { mono: self.mono(), wall: wall(), entropy: RandomState::new().build_hasher().finish() }
    }

    /// The time until `due`; zero if it has passed.
    pub(crate) fn until(&self, due: Monotonic) -> Duration {
        due.since(self.mono())
    }
}

fn wall() -> Timestamp {
    let millis = since_epoch().as_millis();
    Timestamp(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// Seconds since 1970, for certificates.
pub(crate) fn unix() -> i64 {
    i64::try_from(since_epoch().as_secs()).unwrap_or(i64::MAX)
}

#[expect(clippy::disallowed_methods, reason = "the shell is where time comes from")]
fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
