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
