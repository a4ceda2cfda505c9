//! Room on the disk that is kept for the journal.
//!
//! A full disk must not keep a node from storing what it did: most of what
//! frees a disk, such as the removal of a deployment, is a step that has to be
//! stored first. So a file holds some room, and is removed when the journal
//! needs it. Containers on the same disk may take the room then; so it is held
//! again only when there is plenty.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::statvfs;
use tracing::{info, warn};

/// Enough for hundreds of steps.
const SIZE: usize = 1 << 20;
/// So much must be free before the room is held again.
const PLENTY: u64 = 4 << 20;

/// The file that holds the room.
#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Held,
    /// The disk is full, or nearly.
    Missing,
    /// The file cannot be written for another reason. The journal does without.
    Impossible,
}

impl Reserve {
    /// Holds the room below `dir`, unless the disk is nearly full.
    pub(super) fn open(dir: &Path) -> Reserve {
        let path = dir.join("reserve");
        let whole = fs::metadata(&path).is_ok_and(|it| it.len() >= SIZE as u64);
        let mut reserve = Reserve { path, state: if whole { State::Held } else { State::Missing } };
        reserve.hold();
        reserve
    }

    /// The disk has no room for it.
    pub(super) fn is_missing(&self) -> bool {
        self.state == State::Missing
    }

    /// Frees the room; false if there was none to free.
    pub(super) fn release(&mut self) -> bool {
        if self.state != State::Held {
            return false;
        }
        self.state = State::Missing;
        warn!(file = %self.path.display(), "the disk is full; the journal uses its reserve");
        fs::remove_file(&self.path).is_ok()
    }

    /// Holds the room again if there is plenty.
    pub(super) fn hold(&mut self) {
        if self.state != State::Missing || self.free().is_some_and(|it| it < PLENTY) {
            return;
        }
        match self.take() {
            Ok(()) => self.state = State::Held,
            Err(error) => {
                let _ = fs::remove_file(&self.path);
                if error.kind() != io::ErrorKind::StorageFull {
                    self.state = State::Impossible;
                    info!(%error, "the journal goes without a reserve");
                }
            }
        }
    }

    fn free(&self) -> Option<u64> {
        let found = statvfs(self.path.parent()?).ok()?;
        Some(found.f_bavail.saturating_mul(found.f_frsize))
    }

    fn take(&self) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file =
            options.create(true).write(true).truncate(true).mode(0o600).open(&self.path)?;
        file.write_all(&vec![0; SIZE])?;
        file.sync_all()
    }
}
