//! A bare copy of somebody's repository that follows one reference.
//!
//! Everything in it can be fetched again, so what turns out to be damaged is
//! thrown away at the next fetch.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gix::{ObjectId, Repository, ThreadSafeRepository};
use parking_lot::{Mutex, RwLock};

use crate::durable::{io, stale_lock_remove};
use crate::error::Error;
use crate::limit::FetchLimits;
use crate::{Remote, fetch, pack, repo};

const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n";

#[derive(Debug)]
pub(crate) struct Cache {
    dir: PathBuf,
    /// What is followed at the remote: a branch by its full name, or `HEAD`.
    source: String,
    /// Where it is, with the connections there.
    remote: Mutex<(Remote, Arc<fetch::Lines>)>,
    repo: RwLock<ThreadSafeRepository>,
    /// Fetches since it was opened: each may have brought a pack.
    fetches: AtomicUsize,
    suspect: AtomicBool,
    /// What brings packs and what packs them up take turns.
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

    /// Other limits of every fetch from here on.
    pub(crate) fn limited(self, limits: FetchLimits) -> Cache {
        Cache { limits, ..self }
    }

    /// A process that was killed in a fetch leaves its locks behind, and no fetch
    /// would ever go past them.
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

    /// Our name of what is followed.
    pub(crate) fn tracking(&self) -> String {
        let short = self.source.strip_prefix("refs/heads/").unwrap_or(&self.source);
        format!("refs/remotes/origin/{short}")
    }

    /// Where the remote stood when it was last asked.
    pub(crate) fn head(&self) -> Result<Option<ObjectId>, Error> {
        let repo = self.repo();
        let head = repo::head(&repo, &self.tracking())?;
        head.map(|it| repo::tree_of(&repo, it).map(|_| it)).transpose()
    }

    /// Asks the remote where it stands, and fetches what is missing.
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

    /// Packs up if many fetches have brought a pack each. `keep` may be a commit of a history
    /// that was rewritten since.
    pub(crate) fn pack_up(&self, keep: Option<ObjectId>) -> Result<(), Error> {
        let _turn = self.packing.lock();
        let Some(head) = self.head()? else { return Ok(()) };
        let tips: Vec<ObjectId> = [head].into_iter().chain(keep).collect();
        if pack::pack_up(&self.dir, &self.repo(), &tips)? {
            self.reopen()?;
        }
        Ok(())
    }

    /// Removes what a process that died left behind; nobody else may write to the copy.
    pub(crate) fn sweep(&self) -> Result<(), Error> {
        let _turn = self.packing.lock();
        pack::sweep(&self.dir)
    }

    /// How many packs there are, and their bytes.
    pub(crate) fn footprint(&self) -> Result<(usize, u64), Error> {
        pack::footprint(&self.dir)
    }

    /// Passes a result on; a failure to read makes the next fetch start from nothing.
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
        tracing::warn!(dir = %self.dir.display(), "the copy of the repository is damaged and is fetched anew");
        let mut repo = self.repo.write();
        std::fs::remove_dir_all(&self.dir).map_err(io("remove", &self.dir))?;
        *repo = ensure(&self.dir)?;
        Ok(())
    }
}

/// A copy that cannot even be opened is made anew.
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
