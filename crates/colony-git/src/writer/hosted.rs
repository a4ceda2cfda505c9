//! The repository that the central orchestrator hosts: the branch moves
//! in-process.
//!
//! People may push to it at the same time; both sides take git's own lock of
//! the branch and compare its head before they move it.

use std::path::{Path, PathBuf};

use gix::{ObjectId, Repository, ThreadSafeRepository};

use super::{Batch, Written, apply, message};
use crate::error::Error;
use crate::repo;
use crate::repo::durable;

pub(crate) const BRANCH: &str = "refs/heads/main";
const TRIES: usize = 32;

/// History is never rewritten; a push is checked, limited in size, flushed to
/// disk, and waits while colony holds the lock of the branch.
pub(crate) const CONFIG: &str = "\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
\tfsync = all
\tfilesRefLockTimeout = 10000
[receive]
\tdenyNonFastForwards = true
\tdenyDeletes = true
\tfsckObjects = true
\tmaxInputSize = 67108864
\tautogc = false
[gc]
\tautoDetach = false
";

#[derive(Debug)]
pub(super) struct Hosted {
    dir: PathBuf,
    repo: ThreadSafeRepository,
}

impl Hosted {
    pub(super) fn open(dir: &Path) -> Result<Hosted, Error> {
        let repo = repo::ensure(dir, BRANCH, CONFIG)?;
        let hosted = Hosted { dir: dir.to_owned(), repo };
        durable::stale_lock_remove(dir, BRANCH)?;
        hosted.first_commit()?;
        Ok(hosted)
    }

    /// A repository without a commit could not be cloned by its branch.
    fn first_commit(&self) -> Result<(), Error> {
        if self.head()?.is_some() {
            return Ok(());
        }
        let mut repo = self.repo().with_object_memory();
        let commit = message::first_commit(&repo)?;
        self.publish(&mut repo, None, commit).map(|_| ())
    }

    pub(super) fn write(&self, batch: &Batch) -> Result<Written, Error> {
        for _ in 0..TRIES {
            let mut repo = self.repo().with_object_memory();
            let head = self.head()?;
            let applied = apply::apply(&repo, head, &batch.edits)?;
            let Some(tree) = applied.tree else { return applied.written(None, head) };
            let commit = message::commit(&repo, batch, tree, head)?;
            if self.publish(&mut repo, head, commit)? {
                return applied.written(Some(commit), Some(commit));
            }
        }
        Err(Error::Contended { doing: "move the branch", tries: TRIES })
    }

    /// Makes the objects in memory durable, then moves the branch to them.
    fn publish(
        &self,
        repo: &mut Repository,
        head: Option<ObjectId>,
        commit: ObjectId,
    ) -> Result<bool, Error> {
        let made = repo.objects.take_object_memory().unwrap_or_default();
        durable::objects_write(&self.dir.join("objects"), made.iter())?;
        colony_process::fail::hit(colony_process::fail::Point::CentralObjectsWritten);
        durable::ref_update(&self.dir, BRANCH, head, commit, || self.head())
    }

    pub(super) fn head(&self) -> Result<Option<ObjectId>, Error> {
        repo::head(&self.repo(), BRANCH)
    }

    pub(super) fn repo(&self) -> Repository {
        repo::local(&self.repo)
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }
}
