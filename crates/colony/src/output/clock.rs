//! The one place of the command line that reads the clock, for ages.

use std::time::{SystemTime, UNIX_EPOCH};

use colony_core::time::Timestamp;

#[expect(clippy::disallowed_methods, reason = "the shell's one look at the clock, for ages")]
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
