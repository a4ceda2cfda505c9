//! The file of a backup: a tar archive with names that are known before.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tar::{Archive, Builder, EntryType, Header};

use super::{ABOUT, BUNDLE, DATABASE, KEYS};

/// What goes into an entry.
#[derive(Debug)]
pub(super) enum Content {
    Text(String),
    File(PathBuf),
}

/// A folder for its owner only.
pub(super) fn folder(path: &Path) -> anyhow::Result<()> {
    let made = DirBuilder::new().mode(0o700).recursive(true).create(path);
    made.with_context(|| format!("could not make the folder {}", path.display()))
}

/// Writes all files to `aside` and renames it to `file`, whole or not at all.
pub(super) fn write(file: &Path, aside: &Path, files: &[(&str, Content)]) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    let out = options.write(true).create(true).truncate(true).mode(0o600).open(aside)?;
    let mut tar = Builder::new(out);
    for (name, content) in files {
        put(&mut tar, name, content).with_context(|| format!("could not add {name}"))?;
    }
    tar.into_inner()?.sync_all()?;
    std::fs::rename(aside, file)?;
    let folder = file.parent().filter(|it| !it.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(())
}

fn put(tar: &mut Builder<File>, name: &str, content: &Content) -> anyhow::Result<()> {
    let mut header = Header::new_gnu();
    header.set_mode(0o600);
    header.set_entry_type(EntryType::Regular);
    match content {
        Content::Text(text) => {
            header.set_size(u64::try_from(text.len())?);
            tar.append_data(&mut header, name, text.as_bytes())?;
        }
        Content::File(path) => {
            let file =
                File::open(path).with_context(|| format!("{} is missing", path.display()))?;
            header.set_size(file.metadata()?.len());
            tar.append_data(&mut header, name, file)?;
        }
    }
    Ok(())
}

/// Unpacks everything into `folder`; a name nobody gave is refused.
pub(super) fn read(file: &Path, folder: &Path) -> anyhow::Result<()> {
    let opened = File::open(file).with_context(|| format!("could not open {}", file.display()))?;
    let mut tar = Archive::new(opened);
    for entry in tar.entries().context("it is no backup")? {
        let mut entry = entry.context("it is cut off, or no backup")?;
        let name = entry.path()?.to_string_lossy().into_owned();
        if !is_known(&name) || entry.header().entry_type() != EntryType::Regular {
            bail!("it is no backup of a central orchestrator: it holds `{name}`");
        }
        let path = folder.join(&name);
        if let Some(parent) = path.parent() {
            self::folder(parent)?;
        }
        keep(&mut entry, &path).with_context(|| format!("could not unpack {name}"))?;
    }
    Ok(())
}

fn is_known(name: &str) -> bool {
    [ABOUT, DATABASE, BUNDLE].contains(&name) || KEYS.contains(&name)
}

fn keep(from: &mut impl Read, path: &Path) -> anyhow::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    std::io::copy(from, &mut file)?;
    file.flush()?;
    file.sync_all()?;
    Ok(())
}
