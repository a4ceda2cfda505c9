//! How many files a server may have open, and how many connections that allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::warn;

/// The limit is not raised further: no role needs more, and children inherit
/// it.
const MOST_FILES: u64 = 65_536;
const MOST_CONNECTIONS: u64 = 8_192;

/// Raises the soft limit as far as the hard one allows; the soft one is often
/// only 1,024.
pub fn open_files_raise() {
    let found = getrlimit(Resource::Nofile);
    let wanted = found.maximum.unwrap_or(MOST_FILES).min(MOST_FILES);
    if found.current.is_none_or(|it| it >= wanted) {
        return;
    }
    let raised = Rlimit { current: Some(wanted), maximum: found.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        warn!(from = found.current, to = wanted, "could not raise the limit of files: {error}");
    }
}

/// How many connections may be open at once.
pub(crate) fn connections() -> usize {
    within(getrlimit(Resource::Nofile).current)
}

/// A quarter of the files is left for databases, repositories and programs.
fn within(files: Option<u64>) -> usize {
    let room = files.map_or(MOST_CONNECTIONS, |it| it / 4 * 3).clamp(1, MOST_CONNECTIONS);
    usize::try_from(room).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_the_rest() {
        check(Some(1_024), 768);
        check(Some(65_536), 8_192);
        check(Some(16), 12);
        check(Some(0), 1);
        check(None, 8_192);
    }

    #[test]
    fn the_soft_limit_is_raised_to_the_hard_one() {
        let found = getrlimit(Resource::Nofile);
        let hard = found.maximum.unwrap_or(MOST_FILES).min(MOST_FILES);
        let low = Rlimit { current: Some(hard.min(512)), maximum: found.maximum };
        setrlimit(Resource::Nofile, low).unwrap();

        open_files_raise();

        assert_eq!(getrlimit(Resource::Nofile).current, Some(hard));
        open_files_raise();
        assert_eq!(getrlimit(Resource::Nofile).current, Some(hard), "it stays");
    }

    #[track_caller]
    fn check(files: Option<u64>, expected: usize) {
        assert_eq!(within(files), expected, "{files:?}");
    }
}
