//! Reads a gzip tar into an [`Archive`], trusting nothing in it.
//!
//! Refused are: more than the limits, anything but files, folders and links,
//! paths that are absolute or go up, links that leave, anything beside the one
//! directory, and names a compose file must not have. All bad entries of one
//! archive are named together.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use colony_core::margo::{Finding, Findings};
use flate2::read::GzDecoder;
use tar::EntryType;

use super::archive::{Archive, COMPOSE, Limits, flaw, walk};

/// Archives up to this size may have any compression ratio: a tar of a few
/// small files is mostly padding.
const RATIO_FREE: usize = 1 << 20;

/// The longest path of an entry.
const PATH: usize = 1_024;

const MISNAMED: [&str; 3] = ["compose.yml", "docker-compose.yaml", "docker-compose.yml"];

const BELOW: &str = "a path below the archive's one directory";

pub(super) fn unpack(bytes: &[u8], limits: &Limits) -> Result<Archive, Vec<Finding>> {
    let tar = decompress(bytes, limits).map_err(|it| vec![it])?;
    let mut reader = Reader::default();
    if let Err(fatal) = reader.read(&tar, limits) {
        reader.findings.push(fatal);
    }
    reader.finish()
}

fn decompress(bytes: &[u8], limits: &Limits) -> Result<Vec<u8>, Finding> {
    if bytes.len() > limits.compressed {
        let problem = format!("archive has {} bytes", bytes.len());
        return Err(flaw(None, problem, format!("at most {}", limits.compressed)));
    }
    let tight = bytes.len().saturating_mul(limits.ratio).max(RATIO_FREE);
    let ceiling = limits.total.min(tight);
    let mut tar = Vec::new();
    let mut decoder = GzDecoder::new(bytes).take(ceiling as u64 + 1);
    decoder.read_to_end(&mut tar).map_err(|error| {
        flaw(None, format!("archive cannot be unpacked: {error}"), "a whole gzip file")
    })?;
    if tar.len() > ceiling {
        let expected = format!("at most {} bytes, {} for each sent", limits.total, limits.ratio);
        return Err(flaw(None, format!("archive unpacks to more than {ceiling} bytes"), expected));
    }
    Ok(tar)
}

/// What was read so far; paths still begin with the archive's directory.
#[derive(Default)]
struct Reader {
    findings: Findings,
    folders: BTreeSet<String>,
    /// Files and links beside the directory.
    strays: BTreeSet<String>,
    files: BTreeMap<String, Vec<u8>>,
    links: BTreeMap<String, String>,
}

type Entry<'a, 't> = tar::Entry<'a, &'t [u8]>;

impl Reader {
    fn read(&mut self, tar: &[u8], limits: &Limits) -> Result<(), Finding> {
        let broken = |error| flaw(None, format!("archive is broken: {error}"), "a tar in a gzip");
        let mut archive = tar::Archive::new(tar);
        for (count, entry) in archive.entries().map_err(broken)?.enumerate() {
            if count == limits.entries {
                let expected = format!("at most {}", limits.entries);
                return Err(flaw(None, "archive has too many entries", expected));
            }
            self.entry(entry.map_err(broken)?, limits);
        }
        Ok(())
    }

    fn entry(&mut self, entry: Entry<'_, '_>, limits: &Limits) {
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            return;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        match inside(&name) {
            Err((problem, expected)) => self.refuse(&name, problem, expected),
            Ok(path) if path.is_empty() => {}
            Ok(path) => self.place(entry, kind, path, limits),
        }
    }

    fn place(&mut self, entry: Entry<'_, '_>, kind: EntryType, path: String, limits: &Limits) {
        let top = path.split('/').next().unwrap_or_default();
        match path.contains('/') || kind.is_dir() {
            true => _ = self.folders.insert(top.to_owned()),
            false => _ = self.strays.insert(top.to_owned()),
        }
        if self.files.contains_key(&path) || self.links.contains_key(&path) {
            return self.refuse(&path, "is in the archive twice", "each file once");
        }
        if kind.is_file() || kind.is_contiguous() {
            self.file(entry, path, limits);
        } else if kind.is_symlink() || kind.is_hard_link() {
            self.link(&entry, kind, path);
        } else if !kind.is_dir() {
            self.refuse(&path, "is not a file, folder or link", "plain files");
        }
    }

    fn file(&mut self, entry: Entry<'_, '_>, path: String, limits: &Limits) {
        let mut bytes = Vec::new();
        match entry.take(limits.file as u64 + 1).read_to_end(&mut bytes) {
            Err(error) => self.refuse(&path, format!("cannot be read: {error}"), "a whole file"),
            Ok(length) if length > limits.file => {
                self.refuse(&path, "is too large", format!("at most {} bytes", limits.file));
            }
            Ok(_) => _ = self.files.insert(path, bytes),
        }
    }

    /// A symbolic link starts at its own folder, a hard link at the root.
    fn link(&mut self, entry: &Entry<'_, '_>, kind: EntryType, path: String) {
        let target = entry.link_name_bytes().unwrap_or_default();
        let target = String::from_utf8_lossy(&target).into_owned();
        let folder = match kind.is_symlink() {
            true => path.rsplit_once('/').map_or("", |it| it.0),
            false => "",
        };
        let goal = Some(&target).filter(|it| !it.starts_with('/')).and_then(|it| walk(folder, it));
        let top = |path: &str| path.split('/').next().unwrap_or_default().to_owned();
        match goal.filter(|it| top(it) == top(&path)) {
            Some(goal) => _ = self.links.insert(path, goal),
            None => self.refuse(&path, format!("links to `{}`", clip(&target)), BELOW),
        }
    }

    fn refuse(&self, name: &str, problem: impl Into<String>, expected: impl Into<String>) {
        self.findings.push(flaw(Some(name), problem, expected));
    }

    fn finish(self) -> Result<Archive, Vec<Finding>> {
        let top = self.top().unwrap_or_default();
        let archive = Archive { files: below(&self.files, &top), links: below(&self.links, &top) };
        let archive = Archive {
            links: archive.links.iter().map(|(from, to)| (from.clone(), strip(to, &top))).collect(),
            ..archive
        };
        if !self.findings.has_errors() {
            self.compose(&archive);
        }
        self.findings.finish(Some(archive)).map(|it| it.value)
    }

    /// The one top directory. Entries beside it are refused.
    fn top(&self) -> Option<String> {
        for stray in &self.strays {
            self.refuse(stray, "stands at the root of the archive", BELOW);
        }
        let mut folders = self.folders.iter();
        let first = folders.next();
        if first.is_none() && self.strays.is_empty() && self.findings.is_empty() {
            let expected = format!("one directory that holds `{COMPOSE}`");
            self.findings.push(flaw(None, "archive is empty", expected));
        }
        for more in folders {
            self.refuse(more, "is a second directory at the root", "exactly one");
        }
        first.cloned()
    }

    fn compose(&self, archive: &Archive) {
        if archive.find(COMPOSE).is_ok() {
            return;
        }
        let wrong = |it: &&str| MISNAMED.contains(it) || it.eq_ignore_ascii_case(COMPOSE);
        let found =
            archive.files.keys().chain(archive.links.keys()).map(String::as_str).find(wrong);
        let expected = format!("a file named exactly `{COMPOSE}` in the archive's directory");
        match found {
            Some(name) => self.refuse(name, "is not a name of a compose file", expected),
            None => self.refuse(COMPOSE, "is missing", expected),
        }
    }
}

/// The path of an entry without `.` parts, or what is wrong with it.
fn inside(name: &str) -> Result<String, (&'static str, &'static str)> {
    let strange = |c: char| c.is_control() || c == '\\' || c == '\u{fffd}';
    if name.len() > PATH || name.chars().any(strange) {
        return Err(("is not a usable name", "a path of UTF-8 text without control characters"));
    }
    if name.starts_with('/') {
        return Err(("is an absolute path", BELOW));
    }
    if name.split('/').any(|it| it == "..") {
        return Err(("goes up with `..`", BELOW));
    }
    walk("", name).ok_or(("goes up with `..`", BELOW))
}

fn below<T: Clone>(entries: &BTreeMap<String, T>, top: &str) -> BTreeMap<String, T> {
    entries.iter().map(|(path, it)| (strip(path, top), it.clone())).collect()
}

fn strip(path: &str, top: &str) -> String {
    let rest = path.strip_prefix(top).unwrap_or(path);
    rest.trim_start_matches('/').to_owned()
}

fn clip(text: &str) -> String {
    text.escape_debug().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_a_longest_length() {
        assert!(inside(&"x".repeat(PATH)).is_ok());
        assert!(inside(&"x".repeat(PATH + 1)).is_err());
        assert!(inside(&"x".repeat(PATH + 2)).is_err());
    }
}
