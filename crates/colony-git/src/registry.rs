//! Application registries: every `margo.yaml` of a repository or plain folder.
//!
//! Packages are not parsed here: only their paths and texts are read.

mod folder;

use std::path::Path;

use gix::{ObjectId, Repository};

use crate::cache::Cache;
use crate::error::Error;
use crate::repo::{self, BLOB_LIMIT, DEPTH_LIMIT};
use crate::transport::remote::Kind;
use crate::{FetchLimits, Remote, path};

const FILE: &str = "margo.yaml";
const PACKAGES_LIMIT: usize = 10_000;
const ENTRIES_LIMIT: usize = 500_000;
/// For all packages together: the same small file may be in ten thousand
/// folders.
const TEXT_LIMIT: u64 = 64 * 1024 * 1024;

/// The packages of a registry at one revision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Packages {
    /// The commit; for a plain folder, a digest of the files.
    pub revision: String,
    pub packages: Vec<PackageFile>,
    /// Paths of `margo.yaml` entries that are too large, or not regular files.
    pub skipped: Vec<String>,
}

/// One `margo.yaml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageFile {
    /// Its folder; empty for the root.
    pub path: String,
    pub text: Vec<u8>,
}

/// Reads a registry: a repository, through a bare copy of it in `dir`, or a
/// plain folder.
///
/// Without a branch, the default branch of the repository is read.
pub fn packages(
    dir: &Path,
    remote: &Remote,
    branch: Option<&str>,
    limits: FetchLimits,
) -> Result<Packages, Error> {
    if let Kind::Path(path) = remote.address()?.kind
        && path.is_dir()
        && !is_repository(&path)
    {
        return folder::read(&path);
    }
    let source = branch.map_or_else(|| Ok("HEAD".to_owned()), path::branch_ref)?;
    let cache = Cache::open(dir, remote.clone(), source)?.limited(limits);
    match cache.fetch()? {
        Some(head) => {
            let found = cache.checked(read(&cache.repo(), head))?;
            // Many packs are slower to read, not wrong.
            if let Err(error) = cache.pack_up(None) {
                tracing::warn!(dir = %dir.display(), "could not pack a registry's copy up: {error}");
            }
            Ok(found)
        }
        None => Ok(Packages::default()),
    }
}

/// Whether a registry is a plain folder on this machine.
pub fn is_folder(remote: &Remote) -> bool {
    match remote.address().map(|it| it.kind) {
        Ok(Kind::Path(path)) => path.is_dir() && !is_repository(&path),
        Ok(Kind::Http | Kind::Ssh) | Err(_) => false,
    }
}

fn is_repository(path: &Path) -> bool {
    path.join(".git").exists() || (path.join("HEAD").exists() && path.join("objects").is_dir())
}

fn read(repo: &Repository, head: ObjectId) -> Result<Packages, Error> {
    let packages = Packages { revision: head.to_string(), ..Packages::default() };
    let mut found = PackageScan { packages, ..PackageScan::default() };
    found.tree(repo, repo::tree_of(repo, head)?, "", 0)?;
    Ok(found.packages)
}

#[derive(Default)]
struct PackageScan {
    packages: Packages,
    entries: usize,
    bytes: u64,
}

impl PackageScan {
    fn tree(
        &mut self,
        repo: &Repository,
        tree: ObjectId,
        folder: &str,
        depth: usize,
    ) -> Result<(), Error> {
        for (name, entry) in repo::entries(repo, tree)? {
            self.count()?;
            let path = join(folder, &String::from_utf8_lossy(&name));
            if name == FILE.as_bytes() {
                let text = match entry.mode.is_blob() {
                    true => repo::blob_read(repo, entry.id)?.ok(),
                    false => None,
                };
                self.file(folder, text)?;
            } else if entry.mode.is_tree() && depth < DEPTH_LIMIT {
                self.tree(repo, entry.id, &path, depth + 1)?;
            }
        }
        Ok(())
    }

    fn count(&mut self) -> Result<(), Error> {
        self.entries += 1;
        match self.entries > ENTRIES_LIMIT {
            true => Err(Error::TooMany { what: "entries of a registry", limit: ENTRIES_LIMIT }),
            false => Ok(()),
        }
    }

    fn file(&mut self, folder: &str, text: Option<Vec<u8>>) -> Result<(), Error> {
        let Some(text) = text.filter(|it| it.len() as u64 <= BLOB_LIMIT) else {
            self.packages.skipped.push(join(folder, FILE));
            return Ok(());
        };
        if self.packages.packages.len() >= PACKAGES_LIMIT {
            return Err(Error::TooMany { what: "packages of a registry", limit: PACKAGES_LIMIT });
        }
        self.bytes += text.len() as u64;
        if self.bytes > TEXT_LIMIT {
            let what = "all packages of the registry together".to_owned();
            return Err(Error::TooLarge { what, found: self.bytes, limit: TEXT_LIMIT });
        }
        self.packages.packages.push(PackageFile { path: folder.to_owned(), text });
        Ok(())
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
