//! Files below the runtime's folder: replaced atomically, and durable.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// Writes `bytes` so that a reader sees all of them or the previous content.
pub(crate) async fn replace(path: &Path, bytes: Vec<u8>, mode: u32) -> io::Result<()> {
    let path = path.to_owned();
    apart(move || replace_now(&path, &bytes, mode)).await
}

/// Creates a folder that only its owner may open, or closes an existing one to
/// others. The files below hold values of parameters and have the permissions
/// that their containers need; containers reach them through mounts.
pub(crate) async fn make_private(path: &Path) -> io::Result<()> {
    let path = path.to_owned();
    apart(move || make_private_now(&path)).await
}

fn make_private_now(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};

    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    match fs::metadata(path)?.permissions().mode() & 0o077 {
        0 => Ok(()),
        _ => fs::set_permissions(path, fs::Permissions::from_mode(0o700)),
    }
}

fn replace_now(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    fs::create_dir_all(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    colony_process::file::replace(path, bytes, mode)
}

/// The file's content; `None` if there is no such file.
pub(crate) async fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match tokio::fs::read(path).await {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes the folders in `root` that are not in `keep`.
pub(crate) async fn keep_folders(root: &Path, keep: &BTreeSet<String>) -> io::Result<()> {
    for name in names(root).await?.iter().filter(|it| !keep.contains(*it)) {
        tokio::fs::remove_dir_all(root.join(name)).await?;
    }
    Ok(())
}

/// The names in a folder; none if there is no such folder.
pub(crate) async fn names(path: &Path) -> io::Result<Vec<String>> {
    let mut entries = match tokio::fs::read_dir(path).await {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    while let Some(entry) = entries.next_entry().await? {
        names.extend(entry.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

/// Runs blocking work on another thread.
pub(crate) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|it| Err(io::Error::other(it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_folder_is_closed_to_others() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("node/engine");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        make_private_now(&path).unwrap();
        assert_eq!(mode(), 0o700);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        make_private_now(&path).unwrap();
        assert_eq!(mode(), 0o700);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o500)).unwrap();
        make_private_now(&path).unwrap();
        assert_eq!(mode(), 0o500, "it is closed to others already");
    }

    #[tokio::test]
    async fn what_is_not_there_holds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(names(&dir.path().join("a")).await.unwrap(), Vec::<String>::new());
        assert_eq!(read(&dir.path().join("a")).await.unwrap(), None);
        fs::write(dir.path().join("b"), "x").unwrap();
        assert_eq!(names(dir.path()).await.unwrap(), ["b"]);
        assert!(names(&dir.path().join("b")).await.is_err(), "it is a file");
        assert!(read(dir.path()).await.is_err(), "it is a folder");
        make_private(&dir.path().join("c")).await.unwrap();
        assert!(dir.path().join("c").is_dir());
    }

    #[test]
    fn a_file_is_replaced_whole_with_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        replace_now(&path, b"one", 0o644).unwrap();
        replace_now(&path, b"2", 0o400).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"2");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o400);
        assert_eq!(fs::read_dir(dir.path().join("a")).unwrap().count(), 1);
    }
}
