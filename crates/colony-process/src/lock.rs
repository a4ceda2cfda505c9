//! A file that one process at a time may hold.
//!
//! The lock is the kernel's (`flock`): it ends with its process, however that
//! ends. The file stays and holds the number of the process that has the lock,
//! or had it last, for the error message of the next one.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// How long between two tries.
const PAUSE: Duration = Duration::from_millis(50);
/// More digits than any process id has.
const DIGITS: u64 = 20;

/// A lock that was taken; dropping it releases it.
#[derive(Debug)]
pub struct LockFile {
    _file: File,
}

/// Why the lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The process that holds it, if the file contains its number.
    #[error("in use by {}", named(*.by))]
    Held { by: Option<u32> },
    #[error(transparent)]
    File(#[from] io::Error),
}

fn named(process: Option<u32>) -> String {
    process.map_or_else(|| "another process".to_owned(), |it| format!("process {it}"))
}

impl LockFile {
    /// Takes the lock, or fails at once if it is held.
    pub fn take(path: &Path) -> Result<LockFile, LockError> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LockError::Held { by: holder(&mut file) }),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        // Only for error messages: a full disk must not keep a role from
        // starting.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(LockFile { _file: file })
    }

    /// Waits up to `patience` for the previous process to end.
    pub async fn wait(path: &Path, patience: Duration) -> Result<LockFile, LockError> {
        let end = tokio::time::Instant::now() + patience;
        loop {
            match LockFile::take(path) {
                Err(LockError::Held { .. }) if tokio::time::Instant::now() < end => {}
                taken => return taken,
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(DIGITS).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_process_at_a_time_holds_the_lock() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("lock");
        std::fs::write(&path, "4000000000 and more\n").expect("a file");
        let first = LockFile::take(&path).expect("it is free");

        let second = LockFile::take(&path).expect_err("it is held");
        let said = format!("in use by process {}", std::process::id());
        assert_eq!(second.to_string(), said);
        let late = LockFile::wait(&path, Duration::from_millis(60)).await;
        assert!(matches!(late, Err(LockError::Held { .. })), "{late:?}");

        drop(first);
        LockFile::wait(&path, Duration::ZERO).await.expect("it is free again");
    }
}
