//! The writing side of the deployments repository.
//!
//! `Deployments` is the one place that changes it: a batch of edits becomes one
//! commit, each edit only if its path still holds the expected blob. If the
//! repository is hosted here, the branch moves in-process; elsewhere, by a
//! push.

mod apply;
mod batch;
mod diff;
mod history;
pub(crate) mod hosted;
mod listing;
mod message;
pub(crate) mod parts;
mod push;

use std::collections::BTreeSet;
use std::path::Path;

use colony_core::id::{BlobId, GitRevision};
use gix::{ObjectId, Repository};
use parking_lot::Mutex;

pub use batch::{Batch, Commit, Conflict, Edit, Written};
pub use diff::unified_diff;
pub use parts::SiteParts;

use crate::cache::Cache;
use crate::error::Error;
use crate::repo::durable::LockHolder;
use crate::repo::{self, Reached, walk};
use crate::{Auth, FetchLimits, Remote, git, path};
use hosted::Hosted;
use listing::Listing;

/// The deployments repository, hosted here or elsewhere.
#[derive(Debug)]
pub struct Deployments {
    place: RepoKind,
    /// One writer of this process at a time; other writers are detected when
    /// the branch moves.
    writing: Mutex<()>,
    listing: Mutex<Listing>,
}

#[derive(Debug)]
enum RepoKind {
    Hosted(Hosted),
    Remote(Cache),
}

impl Deployments {
    /// The repository in `dir`, created with an empty first commit on `main` if
    /// it is missing.
    pub fn hosted(dir: &Path) -> Result<Deployments, Error> {
        Ok(Deployments::at(RepoKind::Hosted(Hosted::open(dir)?)))
    }

    /// A remote repository, through a bare copy in `dir`. Does not contact the
    /// remote.
    pub fn remote(dir: &Path, remote: Remote, branch: &str) -> Result<Deployments, Error> {
        pushable(&remote)?;
        let source = path::branch_ref(branch)?;
        Ok(Deployments::at(RepoKind::Remote(Cache::open(dir, remote, source)?)))
    }

    fn at(place: RepoKind) -> Deployments {
        Deployments { place, writing: Mutex::default(), listing: Mutex::default() }
    }

    /// Sets the limits of every later fetch.
    pub fn limited(self, limits: FetchLimits) -> Deployments {
        let place = match self.place {
            RepoKind::Hosted(hosted) => RepoKind::Hosted(hosted),
            RepoKind::Remote(cache) => RepoKind::Remote(cache.limited(limits)),
        };
        Deployments { place, ..self }
    }

    /// Sets another address or other credentials of the same repository.
    pub fn set_remote(&self, remote: Remote) -> Result<(), Error> {
        pushable(&remote)?;
        if let RepoKind::Remote(cache) = &self.place {
            cache.set_remote(remote);
        }
        Ok(())
    }

    /// Reads the head of the branch; fetches it if the repository is remote.
    pub fn refresh(&self) -> Result<Option<GitRevision>, Error> {
        let _writing = self.writing.lock();
        let head = match &self.place {
            RepoKind::Hosted(hosted) => hosted.head()?,
            RepoKind::Remote(cache) => cache.fetch()?,
        };
        head.map(repo::revision).transpose()
    }

    /// The last known head of the branch.
    pub fn head(&self) -> Result<Option<GitRevision>, Error> {
        self.head_id()?.map(repo::revision).transpose()
    }

    /// The file at `path` in the head; `None` if it is missing or not a file.
    pub fn blob_at(&self, path: &str) -> Result<Option<BlobId>, Error> {
        Ok(self.blobs_at(&[path])?.pop().flatten())
    }

    /// The same for many paths of one head, in their order: folders that they
    /// share are read once.
    pub fn blobs_at(&self, paths: &[impl AsRef<str>]) -> Result<Vec<Option<BlobId>>, Error> {
        paths.iter().try_for_each(|it| path::check(it.as_ref()))?;
        let Some((repo, root)) = self.root()? else { return Ok(vec![None; paths.len()]) };
        let blob = |path: &str| match self.checked(repo::entry_at(&repo, root, path))? {
            Some((entry, Reached::Path)) if entry.mode.is_blob() => {
                repo::blob_id(entry.id).map(Some)
            }
            Some(_) | None => Ok(None),
        };
        paths.iter().map(|it| blob(it.as_ref())).collect()
    }

    /// The sites whose folder holds a file called `file` at the head.
    pub fn sites_holding(&self, file: &str) -> Result<BTreeSet<String>, Error> {
        let Some((repo, root)) = self.root()? else { return Ok(BTreeSet::new()) };
        self.checked(self.listing.lock().holding(&repo, root, file))
    }

    /// A file's text; `None` if the file is not in the repository, is too large
    /// or not UTF-8. None of these is an error of the repository.
    pub fn text(&self, blob: &BlobId) -> Result<Option<String>, Error> {
        let repo = self.repo();
        let Some(id) = repo::object_id(blob.as_str()) else { return Ok(None) };
        if repo::size_of(&repo, id)?.is_none() {
            return Ok(None);
        }
        let read = self.checked(repo::blob_read(&repo, id))?;
        Ok(read.ok().and_then(|it| String::from_utf8(it).ok()))
    }

    /// All files of the head below `folder`, with their full paths.
    pub fn list(&self, folder: &str) -> Result<Vec<(String, BlobId)>, Error> {
        path::check(folder)?;
        let Some((repo, root)) = self.root()? else { return Ok(Vec::new()) };
        match self.checked(repo::entry_at(&repo, root, folder))? {
            Some((entry, Reached::Path)) if entry.mode.is_tree() => {
                self.checked(walk::files(&repo, entry.id, folder))
            }
            Some(_) | None => Ok(Vec::new()),
        }
    }

    /// Writes the edits whose paths hold the expected content, as one commit.
    /// When this returns, the commit is durable on the branch, here or at the
    /// remote.
    pub fn write(&self, batch: &Batch) -> Result<Written, Error> {
        Edit::check_all(&batch.edits)?;
        let _writing = self.writing.lock();
        match &self.place {
            RepoKind::Hosted(hosted) => hosted.write(batch),
            RepoKind::Remote(cache) => cache.checked(push::write(cache, batch)),
        }
    }

    /// The commits that changed `path`, newest first.
    pub fn history(&self, path: &str, limit: usize) -> Result<Vec<Commit>, Error> {
        path::check(path)?;
        let Some(head) = self.head_id()? else { return Ok(Vec::new()) };
        self.checked(history::history(&self.repo(), head, path, limit))
    }

    /// The parts of a commit by site; `None` if the commit is unknown.
    pub fn site_parts(&self, revision: &GitRevision) -> Result<Option<SiteParts>, Error> {
        self.checked(parts::parts(&self.repo(), revision))
    }

    /// Paths of deployment files that none of these sites reads.
    pub fn strays(&self, sites: &BTreeSet<String>) -> Result<Vec<String>, Error> {
        let Some(head) = self.head_id()? else { return Ok(Vec::new()) };
        self.checked(parts::strays(&self.repo(), head, sites))
    }

    /// Whether `old` is `new` or an ancestor of it; `false` if either is unknown.
    pub fn is_ancestor(&self, old: &GitRevision, new: &GitRevision) -> Result<bool, Error> {
        let repo = self.repo();
        let known =
            |it: &GitRevision| repo::object_id(it.as_str()).filter(|it| repo.has_object(it));
        match (known(old), known(new)) {
            (Some(old), Some(new)) => repo::is_ancestor(&repo, old, new),
            (Some(_) | None, _) => Ok(false),
        }
    }

    /// Packs the objects if there are many loose ones. Call it every few hours.
    pub fn maintain(&self) -> Result<(), Error> {
        const DOING: &str = "repack the repository";
        let mut command = git::command(self.dir(), &[]);
        command.args(["gc", "--auto", "--quiet"]);
        // `git gc` locks references, too.
        let _holder = LockHolder::new(self.dir());
        let output = git::run(command, DOING)?;
        match output.status.success() {
            true => Ok(()),
            false => Err(Error::Git { doing: DOING, problem: git::output_text(&output.stderr) }),
        }
    }

    fn root(&self) -> Result<Option<(Repository, ObjectId)>, Error> {
        let Some(head) = self.head_id()? else { return Ok(None) };
        let repo = self.repo();
        let root = self.checked(repo::tree_of(&repo, head))?;
        Ok(Some((repo, root)))
    }

    fn head_id(&self) -> Result<Option<ObjectId>, Error> {
        match &self.place {
            RepoKind::Hosted(hosted) => hosted.head(),
            RepoKind::Remote(cache) => cache.checked(cache.head()),
        }
    }

    fn repo(&self) -> Repository {
        match &self.place {
            RepoKind::Hosted(hosted) => hosted.repo(),
            RepoKind::Remote(cache) => cache.repo(),
        }
    }

    fn dir(&self) -> &Path {
        match &self.place {
            RepoKind::Hosted(hosted) => hosted.dir(),
            RepoKind::Remote(cache) => cache.dir(),
        }
    }

    fn checked<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        match &self.place {
            RepoKind::Hosted(_) => result,
            RepoKind::Remote(cache) => cache.checked(result),
        }
    }
}

/// Pushes use the git program, which cannot use a certificate in memory.
fn pushable(remote: &Remote) -> Result<(), Error> {
    remote.address()?;
    match remote.auth {
        Auth::Mtls { .. } => Err(Error::Address {
            url: remote.url.clone(),
            problem: "a repository that is written to is reached by path, token or ssh",
        }),
        Auth::None | Auth::Token(_) | Auth::Ssh => Ok(()),
    }
}
