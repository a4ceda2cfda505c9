//! The parts of a commit by site: its folder and its settings.
//!
//! Two trees are read for all sites together. Equal ids mean equal content, so
//! two commits are compared without looking into any folder.

use std::collections::{BTreeMap, BTreeSet};

use colony_core::id::GitRevision;
use gix::{ObjectId, Repository};

use crate::error::Error;
use crate::path::is_document;
use crate::repo::{self, Reached};

/// The most files that are listed for one folder.
const STRAYS_LIMIT: usize = 100;

/// The parts of all sites at one commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SiteParts {
    /// By the name of the folder or file; the site may not exist.
    parts: BTreeMap<String, Part>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Part {
    folder: Option<ObjectId>,
    settings: Option<ObjectId>,
}

impl SiteParts {
    /// Whether the part of a site is the same at both commits.
    pub fn same_for(&self, other: &SiteParts, site: &str) -> bool {
        self.parts.get(site) == other.parts.get(site)
    }

    /// The sites whose part differs between the commits.
    pub fn differing(&self, other: &SiteParts) -> BTreeSet<String> {
        let names = self.parts.keys().chain(other.parts.keys());
        names.filter(|it| !self.same_for(other, it)).cloned().collect()
    }
}

/// `None` if the commit is unknown.
pub(super) fn parts(repo: &Repository, revision: &GitRevision) -> Result<Option<SiteParts>, Error> {
    let Some(commit) = repo::object_id(revision.as_str()).filter(|it| repo.has_object(it)) else {
        return Ok(None);
    };
    let root = repo::tree_of(repo, commit)?;
    let mut parts: BTreeMap<String, Part> = BTreeMap::new();
    for (name, entry) in below(repo, root, "deployments")? {
        parts.entry(name).or_default().folder = Some(entry.id);
    }
    for (name, entry) in below(repo, root, "sites")? {
        if let Some(site) = name.strip_suffix(".yaml") {
            parts.entry(site.to_owned()).or_default().settings = Some(entry.id);
        }
    }
    Ok(Some(SiteParts { parts }))
}

/// Deployment files that no site reads: beside the folders, or in the folder of
/// an unknown site.
pub(super) fn strays(
    repo: &Repository,
    head: ObjectId,
    sites: &BTreeSet<String>,
) -> Result<Vec<String>, Error> {
    let root = repo::tree_of(repo, head)?;
    let mut found = Vec::new();
    for (name, entry) in below(repo, root, "deployments")? {
        let path = format!("deployments/{name}");
        if !entry.mode.is_tree() && is_document(&path) {
            found.push(path);
        } else if entry.mode.is_tree() && !sites.contains(&name) {
            let files = crate::repo::walk::files(repo, entry.id, &path)?;
            let files = files.into_iter().map(|it| it.0).filter(|it| is_document(it));
            found.extend(files.take(STRAYS_LIMIT));
        }
    }
    Ok(found)
}

/// The entries of a folder by name; empty if the folder does not exist.
pub(super) fn below(
    repo: &Repository,
    root: ObjectId,
    folder: &str,
) -> Result<Vec<(String, repo::Entry)>, Error> {
    match repo::entry_at(repo, root, folder)? {
        Some((entry, Reached::Path)) if entry.mode.is_tree() => {
            let named = |(name, entry): (Vec<u8>, repo::Entry)| {
                (String::from_utf8_lossy(&name).into_owned(), entry)
            };
            Ok(repo::entries(repo, entry.id)?.into_iter().map(named).collect())
        }
        Some(_) | None => Ok(Vec::new()),
    }
}
