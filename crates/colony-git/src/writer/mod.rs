//! The writer's side of the deployments repository.
//!
//! `Deployments` is the one place that changes it: a batch of edits becomes one
//! commit, each edit only where the path still holds the blob it expects.
//! Hosted here, the branch moves in-process; elsewhere, by a push.

mod batch;
mod diff;
mod history;
pub(crate) mod hosted;
mod listing;
mod message;
pub(crate) mod parts;
mod push;
mod stage;

use std::collections::BTreeSet;
use std::path::Path;

use colony_core::id::{BlobId, GitRevision};
use gix::{ObjectId, Repository};
use parking_lot::Mutex;

pub use batch::{Batch, Commit, Conflict, Edit, Written};
pub use diff::unified_diff;
pub use parts::SiteParts;

use crate::cache::Cache;
use crate::durable::Holder;
use crate::error::Error;
use crate::repo::{self, Reached};
use crate::{Auth, FetchLimits, Remote, git, path, walk};
use hosted::Hosted;
use listing::Listing;

/// The deployments repository, hosted here or elsewhere.
#[derive(Debug)]
pub struct Deployments {
    place: Place,
    /// One writer of this process at a time; others are met at the branch.
    writing: Mutex<()>,
    listing: Mutex<Listing>,
}

#[derive(Debug)]
enum Place {
    Here(Hosted),
    There(Cache),
}

impl Deployments {
    /// The repository in `dir`, made with an empty first commit on `main` if it is not there.
    pub fn hosted(dir: &Path) -> Result<Deployments, Error> {
        Ok(Deployments::at(Place::Here(Hosted::open(dir)?)))
    }

    /// Somebody's repository, through a bare copy in `dir`. Asks nobody yet.
    pub fn remote(dir: &Path, remote: Remote, branch: &str) -> Result<Deployments, Error> {
        pushable(&remote)?;
        let source = path::branch_ref(branch)?;
        Ok(Deployments::at(Place::There(Cache::open(dir, remote, source)?)))
    }

    fn at(place: Place) -> Deployments {
        Deployments { place, writing: Mutex::default(), listing: Mutex::default() }
    }

    /// Other limits of every fetch from here on.
    pub fn limited(self, limits: FetchLimits) -> Deployments {
        let place = match self.place {
            Place::Here(hosted) => Place::Here(hosted),
            Place::There(cache) => Place::There(cache.limited(limits)),
        };
        Deployments { place, ..self }
    }

    /// Another address or other credentials of the same repository.
    pub fn set_remote(&self, remote: Remote) -> Result<(), Error> {
        pushable(&remote)?;
        if let Place::There(cache) = &self.place {
            cache.set_remote(remote);
        }
        Ok(())
    }

    /// Learns where the branch stands; asks the remote if there is one.
    pub fn refresh(&self) -> Result<Option<GitRevision>, Error> {
        let _writing = self.writing.lock();
        let head = match &self.place {
            Place::Here(hosted) => hosted.head()?,
            Place::There(cache) => cache.fetch()?,
        };
        head.map(repo::revision).transpose()
    }

    /// Where the branch stood when it was last seen.
    pub fn head(&self) -> Result<Option<GitRevision>, Error> {
        self.head_id()?.map(repo::revision).transpose()
    }

    /// What the head holds at `path`, if that is a file.
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

    /// A file's text; `None` if the repository never had the file, or if the file
    /// is too large or not UTF-8. The repository itself is fine then.
    pub fn text(&self, blob: &BlobId) -> Result<Option<String>, Error> {
        let repo = self.repo();
        let Some(id) = repo::object_id(blob.as_str()) else { return Ok(None) };
        if repo::size_of(&repo, id)?.is_none() {
            return Ok(None);
        }
        let read = self.checked(repo::blob_read(&repo, id))?;
        Ok(read.ok().and_then(|it| String::from_utf8(it).ok()))
    }

    /// All files of the head below `folder`, with their whole paths.
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

    /// Writes the edits whose paths hold what they expect, as one commit. When this
    /// returns, the commit is durable on the branch, here or at the remote.
    pub fn write(&self, batch: &Batch) -> Result<Written, Error> {
        Edit::check_all(&batch.edits)?;
        let _writing = self.writing.lock();
        match &self.place {
            Place::Here(hosted) => hosted.write(batch),
            Place::There(cache) => cache.checked(push::write(cache, batch)),
        }
    }

    /// The commits that changed `path`, newest first.
    pub fn history(&self, path: &str, limit: usize) -> Result<Vec<Commit>, Error> {
        path::check(path)?;
        let Some(head) = self.head_id()? else { return Ok(Vec::new()) };
        self.checked(history::history(&self.repo(), head, path, limit))
    }

    /// What of a commit concerns which site; `None` if the commit is not there.
    pub fn site_parts(&self, revision: &GitRevision) -> Result<Option<SiteParts>, Error> {
        self.checked(parts::parts(&self.repo(), revision))
    }

    /// Files of deployments that none of these sites reads, by path.
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

    /// Packs objects up if there are many loose ones. Worth a call every few hours.
    pub fn maintain(&self) -> Result<(), Error> {
        const DOING: &str = "pack the repository up";
        let mut command = git::command(self.dir(), &[]);
        command.args(["gc", "--auto", "--quiet"]);
        // It locks references, too.
        let _holder = Holder::new(self.dir());
        let output = git::run(command, DOING)?;
        match output.status.success() {
            true => Ok(()),
            false => Err(Error::Git { doing: DOING, problem: git::said(&output.stderr) }),
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
            Place::Here(hosted) => hosted.head(),
            Place::There(cache) => cache.checked(cache.head()),
        }
    }

    fn repo(&self) -> Repository {
        match &self.place {
            Place::Here(hosted) => hosted.repo(),
            Place::There(cache) => cache.repo(),
        }
    }

    fn dir(&self) -> &Path {
        match &self.place {
            Place::Here(hosted) => hosted.dir(),
            Place::There(cache) => cache.dir(),
        }
    }

    fn checked<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        match &self.place {
            Place::Here(_) => result,
            Place::There(cache) => cache.checked(result),
        }
    }
}

/// The git program pushes, and it cannot use a certificate that is only in memory.
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
