//! Git's own lock of a reference, and the removal of a stale lock: one that a
//! dead process left behind would block every write until it is removed.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;

use super::{folder_sync, io};
use crate::Error;

const TRIES: usize = 1000;
/// A lock that stays this long is stale, unless this process may hold it.
const STALE_TRIES: usize = 400;
const PAUSE: Duration = Duration::from_millis(5);

static HOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A part of this process that may hold a lock below a path. While one exists,
/// no lock below the path counts as stale.
#[derive(Debug)]
pub(crate) struct LockHolder(PathBuf);

impl LockHolder {
    pub(crate) fn new(below: &Path) -> LockHolder {
        HOLDERS.lock().push(below.to_owned());
        LockHolder(below.to_owned())
    }
}

impl Drop for LockHolder {
    fn drop(&mut self) {
        let mut all = HOLDERS.lock();
        if let Some(at) = all.iter().position(|it| *it == self.0) {
            all.swap_remove(at);
        }
    }
}

/// The process that creates the lock file holds the lock.
pub(super) struct Lock {
    path: PathBuf,
    file: File,
    held: bool,
    _holder: LockHolder,
}

impl Lock {
    /// Waits for the lock; removes a stale one.
    pub(super) fn take(reference: &Path) -> Result<Lock, Error> {
        Lock::take_within(reference, TRIES, STALE_TRIES)
    }

    fn take_within(reference: &Path, tries: usize, stale: usize) -> Result<Lock, Error> {
        let path = lock_path(reference);
        if let Some(lock) = Lock::wait(&path, tries)? {
            return Ok(lock);
        }
        remove_stale(&path, stale)?;
        let contended = Error::Contended { doing: "lock the branch", tries };
        Lock::wait(&path, tries)?.ok_or(contended)
    }

    fn wait(path: &Path, tries: usize) -> Result<Option<Lock>, Error> {
        let folder = path.parent().unwrap_or(path);
        for _ in 0..tries {
            std::fs::create_dir_all(folder).map_err(io("create the folder", folder))?;
            match OpenOptions::new().write(true).create_new(true).open(path) {
                Ok(file) => {
                    let (path, _holder) = (path.to_owned(), LockHolder::new(path));
                    return Ok(Some(Lock { path, file, held: true, _holder }));
                }
                // Git removes folders of references that have become empty.
                Err(it) if matches!(it.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => {
                    std::thread::sleep(PAUSE);
                }
                Err(it) => return Err(io("lock", path)(it)),
            }
        }
        Ok(None)
    }

    pub(super) fn commit(mut self, text: &str, reference: &Path) -> Result<(), Error> {
        self.file.write_all(text.as_bytes()).map_err(io("write", &self.path))?;
        self.file.sync_all().map_err(io("write", &self.path))?;
        std::fs::rename(&self.path, reference).map_err(io("update", reference))?;
        self.held = false;
        folder_sync(reference.parent().unwrap_or(reference))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.held {
            // A lock that stays is found and removed later.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Removes the lock of a process that died. A lock counts as stale if the same
/// file stays longer than a live process would hold it, and if no part of this
/// process may hold it.
pub(crate) fn stale_lock_remove(git_dir: &Path, name: &str) -> Result<(), Error> {
    remove_stale(&lock_path(&git_dir.join(name)), STALE_TRIES)
}

fn remove_stale(lock: &Path, tries: usize) -> Result<(), Error> {
    let Some(first) = file_of(lock) else { return Ok(()) };
    for _ in 0..tries {
        std::thread::sleep(PAUSE);
        let ours = HOLDERS.lock().iter().any(|it| lock.starts_with(it));
        if ours || file_of(lock) != Some(first) {
            return Ok(());
        }
    }
    tracing::warn!(lock = %lock.display(), "removing a lock that a dead process left behind");
    match std::fs::remove_file(lock) {
        Err(it) if it.kind() != ErrorKind::NotFound => Err(io("remove the stale lock", lock)(it)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Identifies a file, as opposed to another one of the same name.
fn file_of(path: &Path) -> Option<(u64, u64, i64, i64)> {
    let it = std::fs::symlink_metadata(path).ok()?;
    Some((it.dev(), it.ino(), it.ctime(), it.ctime_nsec()))
}

fn lock_path(reference: &Path) -> PathBuf {
    let mut path = reference.as_os_str().to_owned();
    path.push(".lock");
    PathBuf::from(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_a_dead_process_is_taken_over() {
        let dir = tempfile::tempdir().expect("a folder");
        let reference = dir.path().join("refs/heads/main");
        Lock::take(&reference).expect("a lock").commit("a", &reference).expect("it is written");
        std::fs::write(lock_path(&reference), "").expect("a lock that stays");

        let lock = Lock::take_within(&reference, 2, 2).expect("its holder is dead");

        lock.commit("b", &reference).expect("it is written");
        assert_eq!(std::fs::read_to_string(&reference).expect("a file"), "b");
        assert!(!lock_path(&reference).exists());
    }

    #[test]
    fn a_lock_that_is_given_up_is_gone() {
        let dir = tempfile::tempdir().expect("a folder");
        let reference = dir.path().join("main");
        let lock = Lock::take(&reference).expect("a lock");
        assert!(lock_path(&reference).exists());
        drop(lock);
        assert!(!lock_path(&reference).exists() && !reference.exists());
    }

    #[test]
    fn a_lock_that_cannot_be_is_not_waited_for() {
        let dir = tempfile::tempdir().expect("a folder");
        let long = dir.path().join("x".repeat(300));
        let refused = Lock::take_within(&long, 1, 1).err().expect("no file has such a name");
        assert!(matches!(refused, Error::Io { .. }), "{refused}");
        let folder = dir.path().join("main.lock");
        std::fs::create_dir(&folder).expect("a folder");
        assert!(remove_stale(&folder, 1).is_err(), "it cannot be removed");
        assert!(remove_stale(&dir.path().join("other.lock"), 1).is_ok(), "there is none");
    }

    #[test]
    fn a_lock_is_told_from_the_next_one_of_its_name() {
        let dir = tempfile::tempdir().expect("a folder");
        let (one, other) = (dir.path().join("a.lock"), dir.path().join("b.lock"));
        assert_eq!(file_of(&one), None);
        std::fs::write(&one, "").expect("a lock");
        std::fs::write(&other, "").expect("a lock");
        assert!(file_of(&one).is_some() && file_of(&one) == file_of(&one));
        assert_ne!(file_of(&one), file_of(&other));
    }

    #[test]
    fn a_lock_that_may_be_ours_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let reference = dir.path().join("main");
        std::fs::write(lock_path(&reference), "").expect("a lock");
        let push = LockHolder::new(dir.path());

        let refused = Lock::take_within(&reference, 2, 2).err().expect("the lock is held");

        assert!(matches!(refused, Error::Contended { .. }), "{refused}");
        drop(push);
        Lock::take_within(&reference, 2, 2).expect("the lock is free");
    }
}
