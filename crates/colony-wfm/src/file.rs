//! Small files that survive a crash: written aside, synced, renamed.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::identity::IdentityError;

const MAX_BYTES: u64 = 1 << 20;
const FOR_OWNER: u32 = 0o600;
const FOR_ALL: u32 = 0o644;

/// Reads a small file; `None` if there is no such file.
pub fn read(path: &Path) -> Result<Option<String>, IdentityError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed("open", path, source)),
    };
    let mut text = String::new();
    let read = file.take(MAX_BYTES).read_to_string(&mut text);
    read.map_err(|source| failed("read", path, source))?;
    Ok(Some(text))
}

/// Writes a file that every user may read.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), IdentityError> {
    replace(path, text, FOR_ALL).map_err(|source| failed("write", path, source))
}

/// Writes a file that only its owner may read.
pub fn write_secret(path: &Path, text: &str) -> Result<(), IdentityError> {
    replace(path, text, FOR_OWNER).map_err(|source| failed("write", path, source))
}

/// Gives a file another name in the same folder.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), IdentityError> {
    let renamed = fs::rename(from, to).and_then(|()| colony_process::file::sync_folder_of(to));
    renamed.map_err(|source| failed("rename", from, source))
}

fn replace(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    colony_process::file::replace(path, text.as_bytes(), mode)
}

fn failed(doing: &'static str, path: &Path, source: io::Error) -> IdentityError {
    IdentityError::File { doing, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_that_is_not_there_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        assert!(read(&path).unwrap().is_none());
        write(&path, "x").unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some("x"));
        assert!(read(&path.join("b")).is_err(), "it cannot be looked for below a file");
    }
}
