//! A bare copy of a remote repository that follows one reference.
//!
//! Everything in it can be fetched again, so a damaged copy is discarded at the
//! next fetch.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gix::{ObjectId, Repository, ThreadSafeRepository};
use parking_lot::{Mutex, RwLock};

use crate::error::Error;
use crate::repo::durable::{io, stale_lock_remove};
use crate::repo::pack;
use crate::transport::fetch;
use crate::transport::limit::FetchLimits;
use crate::{Remote, repo};

const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n";

#[derive(Debug)]
pub(crate) struct Cache {
    dir: PathBuf,
    /// The reference to follow at the remote: a branch by its full name, or
    /// `HEAD`.
    source: String,
    /// The remote and the open connections to it.
    remote: Mutex<(Remote, Arc<fetch::Lines>)>,
    repo: RwLock<ThreadSafeRepository>,
    /// Fetches since the repository was opened: each may have added a pack.
    fetches: AtomicUsize,
    suspect: AtomicBool,
    /// Fetching and packing exclude each other.
    packing: Mutex<()>,
    limits: FetchLimits,
}

impl Cache {
    pub(crate) fn open(dir: &Path, remote: Remote, source: String) -> Result<Cache, Error> {
        remote.address()?;
        let repo = ensure(dir)?;
        let cache = Cache {
            dir: dir.to_owned(),
            source,
            remote: Mutex::new((remote, Arc::default())),
            repo: RwLock::new(repo),
            fetches: AtomicUsize::new(0),
            suspect: AtomicBool::new(false),
            packing: Mutex::new(()),
            limits: FetchLimits::default(),
        };
        cache.unlock()?;
        if cache.head().is_err() {
            cache.suspect.store(true, Ordering::Relaxed);
        }
        Ok(cache)
    }

    /// Sets the limits of every later fetch.
    pub(crate) fn limited(self, limits: FetchLimits) -> Cache {
        Cache { limits, ..self }
    }

    /// A process that was killed during a fetch leaves its locks behind, and
    /// every later fetch would fail on them.
    fn unlock(&self) -> Result<(), Error> {
        let locked = [self.tracking(), "packed-refs".to_owned()];
        locked.iter().try_for_each(|it| stale_lock_remove(&self.dir, it))
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    pub(crate) fn repo(&self) -> Repository {
        repo::local(&self.repo.read())
    }

    pub(crate) fn remote(&self) -> Remote {
        self.remote.lock().0.clone()
    }

    pub(crate) fn set_remote(&self, remote: Remote) {
        *self.remote.lock() = (remote, Arc::default());
    }

    /// The local name of the followed reference.
    pub(crate) fn tracking(&self) -> String {
        let short = self.source.strip_prefix("refs/heads/").unwrap_or(&self.source);
        format!("refs/remotes/origin/{short}")
    }

    /// The head of the remote at the last fetch.
    pub(crate) fn head(&self) -> Result<Option<ObjectId>, Error> {
        let repo = self.repo();
        let head = repo::head(&repo, &self.tracking())?;
        head.map(|it| repo::tree_of(&repo, it).map(|_| it)).transpose()
    }

    /// Reads the head of the remote and fetches the missing objects.
    pub(crate) fn fetch(&self) -> Result<Option<ObjectId>, Error> {
        let _turn = self.packing.lock();
        if self.suspect.swap(false, Ordering::Relaxed) {
            self.renew()?;
        }
        if self.fetches.fetch_add(1, Ordering::Relaxed) >= repo::SPARE_PACKS {
            self.reopen()?;
        }
        let (remote, lines) = self.remote.lock().clone();
        let names = (self.source.as_str(), self.tracking());
        fetch::fetch(&self.repo(), (&remote, &lines), (names.0, &names.1), self.limits)
    }

    /// Merges packs if many fetches have added one each. `keep` stays, even if
    /// it belongs to a history that was rewritten since.
    pub(crate) fn pack_up(&self, keep: Option<ObjectId>) -> Result<(), Error> {
        let _turn = self.packing.lock();
        let Some(head) = self.head()? else { return Ok(()) };
        let tips: Vec<ObjectId> = [head].into_iter().chain(keep).collect();
        if pack::pack_up(&self.dir, &self.repo(), &tips)? {
            self.reopen()?;
        }
        Ok(())
    }

    /// Removes the files of a process that died. No other process may write to
    /// the copy.
    pub(crate) fn sweep(&self) -> Result<(), Error> {
        let _turn = self.packing.lock();
        pack::sweep(&self.dir)
    }

    /// How many packs there are, and their bytes.
    pub(crate) fn footprint(&self) -> Result<(usize, u64), Error> {
        pack::footprint(&self.dir)
    }

    /// Passes a result on; a failure to read makes the next fetch start with an
    /// empty copy.
    pub(crate) fn checked<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(Error::Repository { .. } | Error::Corrupt { .. }) = &result {
            self.suspect.store(true, Ordering::Relaxed);
        }
        result
    }

    /// An open repository has room for a fixed number of packs.
    fn reopen(&self) -> Result<(), Error> {
        let mut repo = self.repo.write();
        *repo = repo::open(&self.dir)?;
        self.fetches.store(1, Ordering::Relaxed);
        Ok(())
    }

    fn renew(&self) -> Result<(), Error> {
        tracing::warn!(dir = %self.dir.display(), "the copy of the repository is damaged and is fetched again");
        let mut repo = self.repo.write();
        std::fs::remove_dir_all(&self.dir).map_err(io("remove", &self.dir))?;
        *repo = ensure(&self.dir)?;
        Ok(())
    }
}

/// Opens the copy; one that cannot be opened is deleted and recreated.
fn ensure(dir: &Path) -> Result<ThreadSafeRepository, Error> {
    let open = || repo::ensure(dir, "refs/heads/colony-none", CONFIG);
    match open() {
        Err(Error::Repository { .. }) => {
            std::fs::remove_dir_all(dir).map_err(io("remove", dir))?;
            open()
        }
        other => other,
    }
}
