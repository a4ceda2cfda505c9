//! The reader's side: one site's part of the repository, by difference.

use std::path::Path;

use colony_core::id::{GitRevision, SiteName};

use crate::{Error, Remote};

/// A bare copy of the repository that follows one branch.
#[derive(Debug)]
pub struct Watch {}

/// What reading has cost since the copy was opened.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    pub trees: u64,
    pub blobs: u64,
}

impl Watch {
    pub fn open(_dir: &Path, _remote: Remote, _branch: &str) -> Result<Watch, Error> {
        todo!()
    }

    pub fn set_remote(&mut self, _remote: Remote) {
        todo!()
    }

    /// Asks the remote, and returns where the branch stands; `None` while it does not exist.
    pub fn fetch(&self) -> Result<Option<GitRevision>, Error> {
        todo!()
    }

    /// Where the branch stood when it was last fetched.
    pub fn head(&self) -> Result<Option<GitRevision>, Error> {
        todo!()
    }

    /// The site's part of the head as a difference to `base`; `None` if they are the same.
    pub fn commit(
        &self,
        _site: &SiteName,
        _base: Option<&GitRevision>,
    ) -> Result<Option<colony_core::site::Commit>, Error> {
        todo!()
    }

    pub fn stats(&self) -> Stats {
        todo!()
    }
}
