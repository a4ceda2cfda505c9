//! The one place of the command line that reads the clock: ages are told from it.

use std::time::{SystemTime, UNIX_EPOCH};

use colony_core::time::Wall;

#[expect(clippy::disallowed_methods, reason = "the shell's one look at the clock, for ages")]
pub(crate) fn now() -> Wall {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Wall(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
