//! The folder of a role: for its owner only, and for one process at a time.
//!
//! The folder holds keys and values of parameters, some of them in files that
//! other programs wrote with their own permissions. The permissions of the
//! folder itself keep other users out.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use tracing::warn;

use crate::lock::{LockError, LockFile};

/// How long to wait for the previous process to end.
const PATIENCE: Duration = Duration::from_secs(2);
/// The mode of missing parent folders: the groups of their roles may traverse
/// them.
const ABOVE: u32 = 0o750;

/// The users that may open the folder of a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Owner,
    /// The owner's group as well, for a socket inside.
    Group,
}

impl Access {
    fn mode(self) -> u32 {
        match self {
            Access::Owner => 0o700,
            Access::Group => 0o750,
        }
    }
}

/// The folder, locked for this process.
#[derive(Debug)]
pub struct RoleFolder {
    _lock: LockFile,
}

impl RoleFolder {
    /// Makes the folder if need be, repairs its permissions and takes its lock.
    pub async fn open(dir: &Path, access: Access) -> anyhow::Result<RoleFolder> {
        make(dir, access.mode()).with_context(|| format!("could not make {}", dir.display()))?;
        let path: PathBuf = dir.join("lock");
        match LockFile::wait(&path, PATIENCE).await {
            Ok(lock) => Ok(RoleFolder { _lock: lock }),
            Err(held @ LockError::Held { .. }) => {
                let (dir, path) = (dir.display(), path.display());
                anyhow::bail!("{dir} is {held}; stop that one first (the lock is {path})")
            }
            Err(LockError::File(error)) => {
                Err(error).with_context(|| format!("could not lock {}", path.display()))
            }
        }
    }
}

/// Creates a folder, or removes permissions that go beyond `mode`.
fn make(dir: &Path, mode: u32) -> io::Result<()> {
    if let Some(above) = dir.parent().filter(|it| !it.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(ABOVE).create(above)?;
    }
    match DirBuilder::new().mode(mode).create(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let found = std::fs::metadata(dir)?;
    if !found.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    repair(dir, found.permissions().mode(), mode);
    Ok(())
}

/// A folder of another owner cannot be changed; it is used as it is.
fn repair(dir: &Path, found: u32, mode: u32) {
    let wrong = found & 0o777 & !mode;
    if wrong == 0 {
        return;
    }
    let better = Permissions::from_mode(found & 0o7777 & !wrong);
    match std::fs::set_permissions(dir, better) {
        Ok(()) => warn!("{} was open to others ({:o}); closed it", dir.display(), found & 0o777),
        Err(error) => warn!(%error, "{} is open to others ({:o})", dir.display(), found & 0o777),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_folder_is_closed_to_others_and_held_by_one_process() {
        let dir = tempfile::tempdir().expect("a folder");
        let role = dir.path().join("data/central");
        let held = RoleFolder::open(&role, Access::Owner).await.expect("it is made");
        assert_eq!((mode(&role), mode(&dir.path().join("data"))), (0o700, 0o750));
        let refused = RoleFolder::open(&role, Access::Owner).await.expect_err("it is held");
        let said = format!("is in use by process {}; stop that one first", std::process::id());
        assert!(refused.to_string().contains(&said), "{refused}");

        drop(held);
        std::fs::set_permissions(&role, Permissions::from_mode(0o755)).expect("it is ours");
        drop(RoleFolder::open(&role, Access::Group).await.expect("it opens"));
        assert_eq!(mode(&role), 0o750);
        drop(RoleFolder::open(&role, Access::Owner).await.expect("it opens"));
        assert_eq!(mode(&role), 0o700, "it is repaired");
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    }
}
