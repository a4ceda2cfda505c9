//! Application registries in Git: every `margo.yaml` of a tree.

use std::path::Path;

use crate::{Error, Remote};

/// The packages of a registry at one revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packages {
    /// The commit; of a plain folder a digest of what was read.
    pub revision: String,
    pub packages: Vec<PackageFile>,
    /// Paths of `margo.yaml` files that are too large to be read.
    pub skipped: Vec<String>,
}

/// One `margo.yaml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageFile {
    /// The folder it stands in, `` for the root.
    pub path: String,
    pub text: Vec<u8>,
}

/// Reads a registry: a repository, through a bare copy of it in `dir`, or a plain folder.
pub fn packages(_dir: &Path, _remote: &Remote, _branch: Option<&str>) -> Result<Packages, Error> {
    todo!()
}
