//! Files that are replaced as a whole and survive a power cut.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Replaces the content of a file: write aside, fsync, rename, fsync of the
/// folder. A reader sees all of it or the previous content.
///
/// `mode` applies before the first byte is written, whatever the umask is.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let aside = aside(path);
    // A file left by a crash would keep its mode if it were opened again.
    match fs::remove_file(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&aside)?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    sync_folder_of(path)
}

/// Makes the name of a file durable.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}

fn aside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_and_mode_are_replaced_also_after_a_crash() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a");
        fs::write(dir.path().join("a.tmp"), "left by a crash").expect("it is written");
        for (text, mode) in [("one", 0o644), ("two", 0o600)] {
            replace(&path, text.as_bytes(), mode).expect("it is replaced");
            assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
            let found = fs::metadata(&path).expect("it is there").permissions().mode();
            assert_eq!(found & 0o777, mode);
        }
        assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 1, "nothing is left aside");
    }

    #[test]
    fn file_below_a_file_is_an_error() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a");
        replace(&path, b"x", 0o600).expect("it is replaced");
        replace(&path.join("b"), b"x", 0o600).expect_err("a is not a folder");
    }

    /// Tests run in the folder of the crate.
    #[test]
    fn name_without_a_folder_is_in_the_current_one() {
        sync_folder_of(Path::new("Cargo.toml")).expect("the current folder is synced");
    }
}
