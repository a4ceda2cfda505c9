//! The files in the folders of the sites, kept from one head to the next.
//!
//! A folder with the same id has the same files and is not read again, so the
//! cost of a query depends on the changes since the last one, not on the number
//! of sites.

use std::collections::{BTreeMap, BTreeSet};

use gix::{ObjectId, Repository};

use super::parts;
use crate::error::Error;
use crate::repo;

/// The names of the files in each folder of `deployments`.
#[derive(Debug, Default)]
pub(super) struct Listing(BTreeMap<String, Folder>);

#[derive(Debug)]
struct Folder {
    id: ObjectId,
    files: BTreeSet<Box<[u8]>>,
}

impl Listing {
    /// Updates the listing to the tree `root` and returns the folders that hold
    /// a file called `file`.
    pub(super) fn holding(
        &mut self,
        repo: &Repository,
        root: ObjectId,
        file: &str,
    ) -> Result<BTreeSet<String>, Error> {
        let mut known = std::mem::take(&mut self.0);
        for (name, entry) in parts::below(repo, root, "deployments")? {
            if !entry.mode.is_tree() {
                continue;
            }
            let folder = match known.remove(&name).filter(|it| it.id == entry.id) {
                Some(folder) => folder,
                None => Folder { id: entry.id, files: files(repo, entry.id)? },
            };
            self.0.insert(name, folder);
        }
        let holds = |it: &&Folder| it.files.contains(file.as_bytes());
        Ok(self.0.iter().filter(|it| holds(&it.1)).map(|it| it.0.clone()).collect())
    }
}

fn files(repo: &Repository, folder: ObjectId) -> Result<BTreeSet<Box<[u8]>>, Error> {
    let entries = repo::entries(repo, folder)?.into_iter();
    Ok(entries.filter(|it| it.1.mode.is_blob()).map(|it| it.0.into_boxed_slice()).collect())
}
