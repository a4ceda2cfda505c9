//! The one place where this role reads a clock.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use colony_core::time::{Monotonic, Now, Timestamp};

/// A monotonic clock that continues where the last run of the role ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    base: Monotonic,
    origin: Instant,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "the one clock of this role")]
    pub(crate) fn starting_at(base: Monotonic) -> Clock {
        Clock { base, origin: Instant::now() }
    }

    pub(crate) fn now(&self) -> Now {
        let mono = self.base.after(self.origin.elapsed());
        let entropy = uuid::Uuid::new_v4().as_u64_pair().0;
        Now { mono, wall: Clock::wall(), entropy }
    }

    #[expect(clippy::disallowed_methods, reason = "the one clock of this role")]
    pub(crate) fn wall() -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// Seconds since 1970, as certificates count.
    pub(crate) fn unix() -> i64 {
        i64::try_from(Clock::wall().0 / 1_000).unwrap_or(i64::MAX)
    }
}
