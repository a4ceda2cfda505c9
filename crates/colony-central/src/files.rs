//! Small files of the data directory, and randomness.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;
use ring::rand::{SecureRandom, SystemRandom};

/// The text of a file, if there is one.
pub(crate) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("could not read {}", path.display())),
    }
}

/// Puts a file there for its owner only, whole or not at all.
pub(crate) fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    write(path, text).with_context(|| format!("could not write {}", path.display()))
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let fresh = path.with_extension("tmp");
    let mut file =
        OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&fresh, path)?;
    match path.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

/// Random bytes from the system.
pub(crate) fn random<const N: usize>() -> anyhow::Result<[u8; N]> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| anyhow::anyhow!("the system has no randomness"))?;
    Ok(bytes)
}

pub(crate) fn random_hex(bytes: usize) -> anyhow::Result<String> {
    let random = random::<32>()?;
    Ok(hex(random.get(..bytes).unwrap_or(&random)))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_for_its_owner_only() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a.token");
        assert_eq!(read(&path).expect("it is read"), None);
        for text in ["one", "2"] {
            replace(&path, text).expect("it is written");
            assert_eq!(read(&path).expect("it is read").as_deref(), Some(text));
        }
        let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(
            std::fs::read_dir(dir.path()).expect("a folder").count(),
            1,
            "nothing beside it"
        );
        assert!(read(&path.join("b")).is_err(), "it cannot be looked for below a file");
    }

    #[test]
    fn random_bytes_differ_and_are_written_as_hex() {
        assert_ne!(random::<32>().expect("randomness"), random::<32>().expect("randomness"));
        assert_eq!(random_hex(4).expect("randomness").len(), 8);
        assert_eq!(random_hex(99).expect("randomness").len(), 64);
        assert_eq!(hex(&[0, 0x0a, 0xff]), "000aff");
    }
}
