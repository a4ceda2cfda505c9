//! The one place where this role reads the clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use colony_core::time::Timestamp;

/// The time as this machine believes it is.
#[expect(clippy::disallowed_methods, reason = "the one clock of the role")]
pub(crate) fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Seconds since 1970, as certificates and Git count.
pub(crate) fn unix(at: Timestamp) -> i64 {
    i64::try_from(at.0 / 1_000).unwrap_or(i64::MAX)
}
