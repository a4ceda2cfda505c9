//! The writer's side of the deployments repository.

mod batch;

use std::path::Path;

use colony_core::id::{BlobId, GitRevision};

pub use batch::{Batch, Commit, Conflict, Edit, Written};

use crate::{Error, Remote};

/// The deployments repository, hosted here or elsewhere.
#[derive(Debug)]
pub struct Deployments {}

impl Deployments {
    pub fn hosted(_dir: &Path) -> Result<Deployments, Error> {
        todo!()
    }

    pub fn remote(_dir: &Path, _remote: Remote, _branch: &str) -> Result<Deployments, Error> {
        todo!()
    }

    pub fn set_remote(&mut self, _remote: Remote) -> Result<(), Error> {
        todo!()
    }

    pub fn refresh(&self) -> Result<Option<GitRevision>, Error> {
        todo!()
    }

    pub fn head(&self) -> Result<Option<GitRevision>, Error> {
        todo!()
    }

    pub fn blob_at(&self, _path: &str) -> Result<Option<BlobId>, Error> {
        todo!()
    }

    pub fn text(&self, _blob: &BlobId) -> Result<Option<String>, Error> {
        todo!()
    }

    pub fn list(&self, _folder: &str) -> Result<Vec<(String, BlobId)>, Error> {
        todo!()
    }

    pub fn write(&self, _batch: &Batch) -> Result<Written, Error> {
        todo!()
    }

    pub fn history(&self, _path: &str, _limit: usize) -> Result<Vec<Commit>, Error> {
        todo!()
    }

    pub fn is_ancestor(&self, _old: &GitRevision, _new: &GitRevision) -> Result<bool, Error> {
        todo!()
    }

    pub fn maintain(&self) -> Result<(), Error> {
        todo!()
    }
}
