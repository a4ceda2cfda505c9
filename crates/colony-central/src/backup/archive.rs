//! The file of a backup: a tar archive with a fixed set of names.
//!
//! A backup may come from an untrusted source: each name is accepted once, the
//! size of each file is limited by its kind, and a truncated archive is
//! refused.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use tar::{Archive, Builder, Entry, EntryType, Header};

use super::{ABOUT, BUNDLE, DATABASE, KEYS};

/// The size limit of files that are held in memory: keys, and the description
/// of the backup.
const SMALL: u64 = 64 << 10;

/// The content of an entry.
#[derive(Debug)]
pub(super) enum Content {
    Text(String),
    File(PathBuf),
}

/// Makes a folder that only its owner can access.
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
    File::open(folder_of(file))?.sync_all()?;
    Ok(())
}

/// The folder that holds a file, also if the path has no folder part.
fn folder_of(file: &Path) -> &Path {
    let folder = file.parent().filter(|it| !it.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
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

/// Unpacks everything into `folder`; an unknown name is refused.
pub(super) fn read(file: &Path, folder: &Path) -> anyhow::Result<()> {
    let opened = File::open(file).with_context(|| format!("could not open {}", file.display()))?;
    let length = opened.metadata()?.len();
    unpack(opened, length, |name, content| {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            self::folder(parent)?;
        }
        keep(content, &path)
    })
}

/// Hands each file of an archive of `length` bytes to `keep`, whole.
pub(super) fn unpack(
    from: impl Read,
    length: u64,
    mut keep: impl FnMut(&'static str, &mut dyn Read) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut tar = Archive::new(from);
    let mut seen = BTreeSet::new();
    // Raw entries: extensions of a header would be held in memory, at any
    // length.
    for entry in tar.entries().map_err(|it| broken(&it))?.raw(true) {
        let mut entry = entry.map_err(|it| broken(&it))?;
        let name = name_of(&entry)?;
        if !seen.insert(name) {
            bail!("it holds `{name}` twice");
        }
        check(name, entry.size(), length.saturating_sub(entry.raw_file_position()))?;
        keep(name, &mut entry).with_context(|| format!("could not unpack {name}"))?;
    }
    match [ABOUT].iter().chain(&KEYS).find(|it| !seen.contains(**it)) {
        Some(missing) => bail!("it is cut off, or no backup: `{missing}` is missing"),
        None => Ok(()),
    }
}

fn broken(error: &std::io::Error) -> anyhow::Error {
    anyhow!("it is cut off, or no backup: {}", error.to_string().escape_debug())
}

fn name_of<R: Read>(entry: &Entry<'_, R>) -> anyhow::Result<&'static str> {
    let found = entry.path_bytes();
    let known = [ABOUT, DATABASE, BUNDLE].into_iter().chain(KEYS);
    let known = known.into_iter().find(|it| it.as_bytes() == found.as_ref());
    match known.filter(|_| entry.header().entry_type() == EntryType::Regular) {
        Some(name) => Ok(name),
        None => {
            let found = String::from_utf8_lossy(&found).escape_debug().to_string();
            bail!("this is not a backup of a central orchestrator: it contains `{found}`")
        }
    }
}

/// Checks the size of a file. The database and the repository are only limited
/// by the length of the archive.
fn check(name: &str, size: u64, left: u64) -> anyhow::Result<()> {
    if ![DATABASE, BUNDLE].contains(&name) && size > SMALL {
        bail!("`{name}` has {size} bytes; a file of its kind has {SMALL} at most");
    }
    if size > left {
        bail!("it is cut off: of the {size} bytes of `{name}` there are {left}");
    }
    Ok(())
}

fn keep(from: &mut dyn Read, path: &Path) -> anyhow::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    std::io::copy(from, &mut file)?;
    file.flush()?;
    file.sync_all()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_is_unpacked() {
        assert_eq!(
            unpacked_names(&packed(&whole())),
            "backup.json central.db ca/ca.key ca/ca.pem token.key admin.token"
        );
    }

    #[test]
    fn a_file_longer_than_its_kind_is_refused() {
        let mut files = whole();
        files[0].1 = "x".repeat(SMALL as usize);
        assert!(!unpacked_names(&packed(&files)).contains("at most"));
        files[0].1.push('x');
        check("`backup.json` has 65537 bytes; a file of its kind has 65536 at most", &files);
        let mut files = whole();
        files[1].1 = "x".repeat(SMALL as usize + 1);
        assert!(unpacked_names(&packed(&files)).starts_with("backup.json central.db"));
    }

    #[test]
    fn a_backup_that_is_cut_off_anywhere_is_refused() {
        let whole = packed(&whole());
        let end = whole.len() - 1024;
        for cut in (0..end).step_by(128) {
            let told = unpacked_names(&whole[..cut]);
            assert!(told.contains("cut off"), "cut at {cut}: {told}");
        }
    }

    #[test]
    fn a_backup_may_end_with_the_last_byte_of_its_last_file() {
        let mut files = whole();
        files.last_mut().expect("files").1 = "x".repeat(512);
        let bytes = packed(&files);
        let end = bytes.len() - 1024;
        assert!(
            unpacked_names(&bytes[..end]).ends_with("admin.token"),
            "{}",
            unpacked_names(&bytes[..end])
        );
        assert!(unpacked_names(&bytes[..end - 1]).starts_with("it is cut off: of the 512 bytes"));
    }

    #[test]
    fn a_file_that_is_named_without_a_folder_is_in_the_current_one() {
        for (file, folder) in [("backup.tar", "."), ("a/backup.tar", "a"), ("/backup.tar", "/")] {
            assert_eq!(folder_of(Path::new(file)), Path::new(folder));
        }
    }

    #[test]
    fn only_files_of_a_backup_are_taken_and_each_once() {
        let twice: Vec<_> = [whole(), whole()].concat();
        check("it holds `backup.json` twice", &twice);
        let strange = [("ca/../x\u{1b}[2J", String::new())];
        check(
            "this is not a backup of a central orchestrator: it contains `ca/../x\\u{1b}[2J`",
            &strange,
        );
    }

    #[test]
    fn a_size_nobody_has_is_refused_before_anything_is_kept() {
        let mut bytes = packed(&whole());
        let second = 1024;
        let mut header = Header::from_byte_slice(&bytes[second..second + 512]).clone();
        header.set_size(1 << 40);
        header.set_cksum();
        bytes[second..second + 512].copy_from_slice(header.as_bytes());
        let told = unpacked_names(&bytes);
        assert!(
            told.starts_with("it is cut off: of the 1099511627776 bytes of `central.db`"),
            "{told}"
        );
    }

    #[track_caller]
    fn check(expected: &str, files: &[(&str, String)]) {
        assert_eq!(unpacked_names(&packed(files)), expected);
    }

    fn whole() -> Vec<(&'static str, String)> {
        let names = [ABOUT, DATABASE].into_iter().chain(KEYS);
        names.map(|it| (it, format!("what {it} holds"))).collect()
    }

    fn packed(files: &[(&str, String)]) -> Vec<u8> {
        let mut tar = Builder::new(Vec::new());
        for (name, text) in files {
            let mut header = Header::new_gnu();
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(EntryType::Regular);
            header.set_size(text.len() as u64);
            header.set_cksum();
            tar.append(&header, text.as_bytes()).expect("memory");
        }
        tar.into_inner().expect("memory")
    }

    /// The names in their order, or the reason of the refusal.
    fn unpacked_names(bytes: &[u8]) -> String {
        let mut names = Vec::new();
        let unpacked = unpack(bytes, bytes.len() as u64, |name, content| {
            std::io::copy(content, &mut std::io::sink())?;
            names.push(name);
            Ok(())
        });
        unpacked.map_or_else(|it| format!("{it:#}"), |()| names.join(" "))
    }
}
