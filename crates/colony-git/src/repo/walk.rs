//! Trees: all files below one, and the files in which two differ.
//!
//! A comparison reads only folders that differ: its cost depends on the change.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use colony_core::id::BlobId;
use gix::{ObjectId, Repository};

use crate::error::Error;
use crate::path::is_document;
use crate::repo::{self, DEPTH_LIMIT, Entry};

const FILES_LIMIT: usize = 1_000_000;

/// All regular files below `tree`, which is at `folder`.
pub(crate) fn files(
    repo: &Repository,
    tree: ObjectId,
    folder: &str,
) -> Result<Vec<(String, BlobId)>, Error> {
    let trees = AtomicU64::new(0);
    let changes = differences(repo, folder, None, Some(tree), &trees)?;
    let file = |it: Change| match it.new {
        Some(entry) if entry.mode.is_blob() => {
            Some(repo::blob_id(entry.id).map(|id| (it.path, id)))
        }
        Some(_) | None => None,
    };
    changes.into_iter().filter_map(file).collect()
}

/// A path at which two trees differ; every entry that is not a folder counts as
/// a file. So does a folder with the name of a document: it stands where a file
/// is expected, and is not looked into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) path: String,
    /// `None`: the file was removed.
    pub(crate) new: Option<Entry>,
}

/// The files in which `old` and `new` differ, both at `folder`.
pub(crate) fn differences(
    repo: &Repository,
    folder: &str,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    trees: &AtomicU64,
) -> Result<Vec<Change>, Error> {
    let mut walk = Walk { repo, trees, found: Vec::new() };
    walk.compare(folder, old, new, 0)?;
    Ok(walk.found)
}

struct Walk<'a> {
    repo: &'a Repository,
    trees: &'a AtomicU64,
    found: Vec<Change>,
}

impl Walk<'_> {
    fn compare(
        &mut self,
        folder: &str,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        depth: usize,
    ) -> Result<(), Error> {
        if old == new || depth > DEPTH_LIMIT {
            return Ok(());
        }
        let mut names: BTreeMap<Vec<u8>, (Option<Entry>, Option<Entry>)> = BTreeMap::new();
        for (name, entry) in self.entries(old)? {
            names.entry(name).or_default().0 = Some(entry);
        }
        for (name, entry) in self.entries(new)? {
            names.entry(name).or_default().1 = Some(entry);
        }
        for (name, (old, new)) in names {
            let path = format!("{folder}/{}", String::from_utf8_lossy(&name));
            self.entry(path, old, new, depth)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        path: String,
        old: Option<Entry>,
        new: Option<Entry>,
        depth: usize,
    ) -> Result<(), Error> {
        if old == new {
            return Ok(());
        }
        let is_folder = |it: &Entry| it.mode.is_tree() && !is_document(&path);
        let tree = |it: Option<Entry>| it.filter(is_folder).map(|it| it.id);
        let file = |it: Option<Entry>| it.filter(|it| !is_folder(it));
        if file(old) != file(new) {
            self.push(Change { path: path.clone(), new: file(new) })?;
        }
        self.compare(&path, tree(old), tree(new), depth + 1)
    }

    fn push(&mut self, change: Change) -> Result<(), Error> {
        if self.found.len() >= FILES_LIMIT {
            return Err(Error::TooMany { what: "files", limit: FILES_LIMIT });
        }
        self.found.push(change);
        Ok(())
    }

    fn entries(&self, tree: Option<ObjectId>) -> Result<Vec<(Vec<u8>, Entry)>, Error> {
        let Some(tree) = tree else { return Ok(Vec::new()) };
        self.trees.fetch_add(1, Ordering::Relaxed);
        repo::entries(self.repo, tree)
    }
}
