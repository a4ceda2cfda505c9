//! The one place where this role asks what time it is.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use colony_core::time::{Mono, Now, Wall};

/// A monotonic clock that goes on where the last run of the role ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    base: Mono,
    origin: Instant,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "the one clock of this role")]
    pub(crate) fn starting_at(base: Mono) -> Clock {
        Clock { base, origin: Instant::now() }
    }

    pub(crate) fn now(&self) -> Now {
        let mono = self.base.after(self.origin.elapsed());
        let entropy = uuid::Uuid::new_v4().as_u64_pair().0;
        Now { mono, wall: Clock::wall(), entropy }
    }

    #[expect(clippy::disallowed_methods, reason = "the one clock of this role")]
    pub(crate) fn wall() -> Wall {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Wall(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// Seconds since 1970, as certificates count.
    pub(crate) fn unix() -> i64 {
        i64::try_from(Clock::wall().0 / 1_000).unwrap_or(i64::MAX)
    }
}
