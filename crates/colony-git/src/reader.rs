//! The reading side: one site's part of the repository, as differences.
//!
//! `Watch` keeps a bare copy and returns the changes below
//! `deployments/<site>/` and in `sites/<site>.yaml` since a commit. A file that
//! cannot be a deployment becomes a finding; whether a change is acted on is
//! the core's decision.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use colony_core::id::{BlobId, GitRevision, SiteName};
use colony_core::margo::{Finding, Severity};
use colony_core::purge::marked;
use colony_core::site::{Commit, Content, File};
use gix::objs::tree::EntryKind;
use gix::{ObjectId, Repository};

use crate::cache::Cache;
use crate::error::Error;
use crate::path::is_document;
use crate::repo::walk::{self, Change};
use crate::repo::{self, BLOB_LIMIT, Entry, Reached, origin};
use crate::{FetchLimits, Remote, path};

/// A bare copy of the repository that follows one branch.
#[derive(Debug)]
pub struct Watch {
    cache: Cache,
    trees: AtomicU64,
    blobs: AtomicU64,
}

/// The results of `read` for files of the copy in `dir`, by id. Missing files,
/// and files that are too large or not text, are left out.
pub fn files<T>(
    dir: &Path,
    ids: &[BlobId],
    read: impl Fn(&str) -> Option<T>,
) -> Result<BTreeMap<BlobId, T>, Error> {
    let repo = repo::local(&repo::open(dir)?);
    let mut found = BTreeMap::new();
    for id in ids {
        let Some(object) = repo::object_id(id.as_str()) else { continue };
        if repo::size_of(&repo, object)?.is_none() {
            continue;
        }
        let bytes = repo::blob_read(&repo, object)?.ok();
        if let Some(it) = bytes.and_then(|it| read(std::str::from_utf8(&it).ok()?)) {
            found.insert(id.clone(), it);
        }
    }
    Ok(found)
}

/// The number of reads since the copy was opened.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Folders listed for a difference.
    pub trees: u64,
    /// Files whose content was read.
    pub blobs: u64,
}

impl Watch {
    /// Opens the copy in `dir`, or creates an empty one. Does not contact the
    /// remote.
    pub fn open(dir: &Path, remote: Remote, branch: &str) -> Result<Watch, Error> {
        let cache = Cache::open(dir, remote, path::branch_ref(branch)?)?;
        cache.sweep()?;
        Ok(Watch { cache, trees: AtomicU64::new(0), blobs: AtomicU64::new(0) })
    }

    /// Sets the limits of every later fetch.
    pub fn limited(self, limits: FetchLimits) -> Watch {
        Watch { cache: self.cache.limited(limits), ..self }
    }

    /// Sets another address or other credentials of the same repository.
    pub fn set_remote(&self, remote: Remote) {
        self.cache.set_remote(remote);
    }

    /// Fetches the branch and returns its head; `None` while it does not exist.
    pub fn fetch(&self) -> Result<Option<GitRevision>, Error> {
        self.cache.fetch()?.map(repo::revision).transpose()
    }

    /// The head of the branch at the last fetch.
    pub fn head(&self) -> Result<Option<GitRevision>, Error> {
        self.cache.checked(self.cache.head())?.map(repo::revision).transpose()
    }

    /// The site's part of the head as a difference to `base`; `None` if head
    /// and base are the same commit.
    ///
    /// Without a base, or with one that is not in the history, all files are
    /// listed.
    pub fn commit(
        &self,
        site: &SiteName,
        base: Option<&GitRevision>,
    ) -> Result<Option<Commit>, Error> {
        self.cache.checked(self.read(site, base))
    }

    /// Merges packs if there are many. Does not contact the remote; worth a
    /// call after every fetch.
    ///
    /// `base` is the commit the next difference starts from: it stays even if
    /// it is no longer on the branch.
    pub fn maintain(&self, base: Option<&GitRevision>) -> Result<(), Error> {
        let repo = self.cache.repo();
        let base = base.and_then(|it| known(&repo, it));
        self.cache.checked(self.cache.pack_up(base))
    }

    /// How many packs the copy has, and their bytes.
    pub fn footprint(&self) -> Result<(usize, u64), Error> {
        self.cache.footprint()
    }

    pub fn stats(&self) -> Stats {
        let read = |it: &AtomicU64| it.load(Ordering::Relaxed);
        Stats { trees: read(&self.trees), blobs: read(&self.blobs) }
    }

    fn read(&self, site: &SiteName, base: Option<&GitRevision>) -> Result<Option<Commit>, Error> {
        let Some(head) = self.cache.head()? else { return Ok(None) };
        let revision = repo::revision(head)?;
        if base == Some(&revision) {
            return Ok(None);
        }
        let repo = self.cache.repo();
        let known = base.and_then(|it| known(&repo, it));
        // The copy has the whole history: a base that is missing in it is not
        // on the branch.
        let rewritten = match known {
            Some(base) => !repo::is_ancestor(&repo, base, head)?,
            None => base.is_some(),
        };
        // Nothing was read at a commit without a folder to read: what it had
        // is not known, so all files are listed.
        let unread = |it| Ok::<bool, Error>(folder_at(&repo, it, site)?.is_err());
        let known = known.map(|it| Ok((it, unread(it)?))).transpose()?;
        let known = known.and_then(|(it, unread)| (!unread).then_some(it));
        let files = self.files(&repo, site, known, head)?;
        let base = known.and(base.cloned());
        Ok(Some(Commit { revision, base, rewritten, files }))
    }

    fn files(
        &self,
        repo: &Repository,
        site: &SiteName,
        base: Option<ObjectId>,
        head: ObjectId,
    ) -> Result<Vec<File>, Error> {
        let folder = folder_path(site);
        let settings = settings_change(repo, site, base, head)?;
        let old = base.map(|it| folder_at(repo, it, site)).transpose()?;
        let old = old.and_then(Result::ok).flatten();
        let (deployments, misplaced) = match folder_at(repo, head, site)? {
            Ok(new) => (walk::differences(repo, &folder, old, new, &self.trees)?, None),
            Err(entry) => (Vec::new(), Some(not_a_folder(folder.clone(), entry))),
        };
        let changes: Vec<Change> = settings.into_iter().chain(deployments).collect();
        let origins = match changes.is_empty() {
            true => BTreeMap::new(),
            false => origin::origins(repo, &folder, base, head)?,
        };
        let read = |it: Change| {
            let origin = origins.get(&it.path).cloned();
            Ok(brought_by(self.file(repo, site, it)?, origin))
        };
        changes.into_iter().map(read).chain(misplaced.map(Ok)).collect()
    }

    fn file(&self, repo: &Repository, site: &SiteName, change: Change) -> Result<File, Error> {
        let Change { path, new } = change;
        // Only its path counts, so it is not read.
        if let Some(id) = marked(site, &path).filter(|_| new.is_some_and(|it| it.mode.is_blob())) {
            return Ok(File { path, content: Content::Purge(id) });
        }
        // Other files that are not YAML are notes for people; the site ignores
        // them.
        let Some(entry) = new.filter(|_| is_document(&path)) else {
            return Ok(File::removed(&path));
        };
        if !entry.mode.is_blob() {
            let problem = format!("this is {}, not a regular file", kind_of(entry));
            return Ok(refused(path, problem, "a regular file"));
        }
        Ok(match repo::blob_read(repo, entry.id)? {
            Ok(text) => {
                self.blobs.fetch_add(1, Ordering::Relaxed);
                File::read(site, &path, &repo::blob_id(entry.id)?, &text)
            }
            Err(size) => {
                let problem = format!("the file has {size} bytes");
                refused(path, problem, &format!("at most {BLOB_LIMIT} bytes"))
            }
        })
    }
}

/// A file with the commit that last changed it.
fn brought_by(mut file: File, commit: Option<GitRevision>) -> File {
    if let Content::Deployment(document) = &mut file.content
        && let Some(document) = Arc::get_mut(document)
    {
        document.commit = commit;
    }
    file
}

fn known(repo: &Repository, base: &GitRevision) -> Option<ObjectId> {
    let id = repo::object_id(base.as_str())?;
    repo.find_commit(id).is_ok().then_some(id)
}

fn settings_change(
    repo: &Repository,
    site: &SiteName,
    base: Option<ObjectId>,
    head: ObjectId,
) -> Result<Option<Change>, Error> {
    let path = format!("sites/{site}.yaml");
    let file = |commit| {
        let found = repo::entry_at(repo, repo::tree_of(repo, commit)?, &path)?;
        Ok::<_, Error>(found.filter(|(_, reached)| *reached == Reached::Path).map(|(it, _)| it))
    };
    let old = base.map(file).transpose()?.flatten();
    let new = file(head)?;
    Ok((old != new).then_some(Change { path, new }))
}

fn folder_path(site: &SiteName) -> String {
    format!("deployments/{site}")
}

/// The folder of the site, if there is one; `Err` is what stands there, or
/// above it, in place of a folder.
fn folder_at(
    repo: &Repository,
    commit: ObjectId,
    site: &SiteName,
) -> Result<Result<Option<ObjectId>, Entry>, Error> {
    let found = repo::entry_at(repo, repo::tree_of(repo, commit)?, &folder_path(site))?;
    Ok(match found {
        None => Ok(None),
        Some((entry, _)) if entry.mode.is_tree() => Ok(Some(entry.id)),
        Some((entry, _)) => Err(entry),
    })
}

/// A finding that leaves every deployment as it is.
fn not_a_folder(path: String, entry: Entry) -> File {
    let problem = format!("this is {}, not a folder; deployments stay as they are", kind_of(entry));
    refused(path, problem, "a folder")
}

/// What stands where a file is expected.
fn kind_of(entry: Entry) -> &'static str {
    match entry.mode.kind() {
        EntryKind::Tree => "a folder",
        EntryKind::Link => "a link",
        EntryKind::Commit => "a submodule",
        EntryKind::Blob | EntryKind::BlobExecutable => "a file",
    }
}

fn refused(path: String, problem: String, expected: &str) -> File {
    let finding = Finding {
        file: Some(path.clone()),
        line: 1,
        column: 1,
        path: String::new(),
        severity: Severity::Error,
        problem,
        expected: expected.to_owned(),
    };
    File { path, content: Content::Refused(vec![finding]) }
}
