//! Compares edits with a head: to be written, already done, or in conflict.

use std::collections::BTreeSet;

use colony_core::id::BlobId;
use gix::objs::Kind;
use gix::objs::tree::EntryKind;
use gix::{ObjectId, Repository};

use super::{Conflict, Edit, Written, diff};
use crate::error::{Error, doing};
use crate::path;
use crate::repo::{self, BLOB_LIMIT, Entry, Reached};

const EDITS_LIMIT: usize = 100_000;

/// The result of applying a batch to a head.
#[derive(Debug)]
pub(super) struct AppliedBatch {
    /// The tree to commit; `None` if there is nothing to write.
    pub(super) tree: Option<ObjectId>,
    /// The content of every path that is not in conflict.
    contents: Vec<(String, Option<ObjectId>)>,
    pub(super) conflicts: Vec<Conflict>,
    /// Some path already held the wanted content.
    pub(super) found_unchanged: bool,
}

enum Verdict {
    Write(Option<ObjectId>),
    Unchanged(Option<ObjectId>),
    Conflict(Conflict),
}

impl Edit {
    /// Refuses edits that no head could accept; call it before they are queued.
    pub fn check_all(edits: &[Edit]) -> Result<(), Error> {
        if edits.len() > EDITS_LIMIT {
            return Err(Error::TooMany { what: "edits in one batch", limit: EDITS_LIMIT });
        }
        let mut seen = BTreeSet::new();
        for edit in edits {
            path::check(&edit.path)?;
            if !seen.insert(edit.path.as_str()) {
                let problem = "it is edited twice in one batch";
                return Err(Error::Path { path: edit.path.clone(), problem });
            }
            let found = edit.text.as_ref().map_or(0, |it| it.len() as u64);
            if found > BLOB_LIMIT {
                return Err(Error::TooLarge { what: edit.path.clone(), found, limit: BLOB_LIMIT });
            }
        }
        Ok(())
    }
}

/// Compares every edit with `head`, and writes the resulting tree.
pub(super) fn apply(
    repo: &Repository,
    head: Option<ObjectId>,
    edits: &[Edit],
) -> Result<AppliedBatch, Error> {
    let root = match head {
        Some(head) => repo::tree_of(repo, head)?,
        None => ObjectId::empty_tree(repo.object_hash()),
    };
    let mut applied = AppliedBatch {
        tree: None,
        contents: Vec::new(),
        conflicts: Vec::new(),
        found_unchanged: false,
    };
    let mut tree = repo.edit_tree(root).map_err(doing("edit the tree"))?;
    let mut changed = false;
    // Edits that depend on others come after them.
    let (first, then): (Vec<&Edit>, Vec<&Edit>) =
        edits.iter().partition(|it| it.only_with.is_none());
    for edit in first.into_iter().chain(then) {
        if applied.conflicts.iter().any(|it| edit.only_with.as_ref() == Some(&it.path)) {
            continue;
        }
        match check_edit(repo, root, edit)? {
            Verdict::Write(blob) => {
                write(repo, &mut tree, edit)?;
                applied.contents.push((edit.path.clone(), blob));
                changed = true;
            }
            Verdict::Unchanged(blob) => {
                applied.contents.push((edit.path.clone(), blob));
                applied.found_unchanged = true;
            }
            Verdict::Conflict(conflict) => applied.conflicts.push(conflict),
        }
    }
    if changed {
        applied.tree = Some(tree.write().map_err(doing("write the tree"))?.detach());
    }
    Ok(applied)
}

impl AppliedBatch {
    /// The result of the batch once `commit` is on the branch.
    pub(super) fn written(
        self,
        commit: Option<ObjectId>,
        head: Option<ObjectId>,
    ) -> Result<Written, Error> {
        let done = |(path, blob): (String, Option<ObjectId>)| {
            Ok::<_, Error>((path, blob.map(repo::blob_id).transpose()?))
        };
        Ok(Written {
            revision: commit.map(repo::revision).transpose()?,
            head: head.map(repo::revision).transpose()?,
            done: self.contents.into_iter().map(done).collect::<Result<_, _>>()?,
            conflicts: self.conflicts,
        })
    }
}

fn check_edit(repo: &Repository, root: ObjectId, edit: &Edit) -> Result<Verdict, Error> {
    let found = repo::entry_at(repo, root, &edit.path)?;
    let wanted = edit.text.as_ref().map(|it| id_of(repo, it)).transpose()?;
    let held = match found {
        Some((entry, Reached::Path)) if entry.mode.is_blob() => Some(entry.id),
        None => None,
        Some((entry, _)) => return conflict(repo, edit, Some(entry)),
    };
    if held == wanted {
        return Ok(Verdict::Unchanged(wanted));
    }
    if held.map(repo::blob_id).transpose()? == edit.expected {
        return Ok(Verdict::Write(wanted));
    }
    conflict(repo, edit, found.map(|(entry, _)| entry))
}

fn conflict(repo: &Repository, edit: &Edit, found: Option<Entry>) -> Result<Verdict, Error> {
    let diff = diff::between(repo, &edit.path, found, edit.text.as_deref())?;
    let found: Option<BlobId> = found.map(|it| repo::blob_id(it.id)).transpose()?;
    let (path, expected) = (edit.path.clone(), edit.expected.clone());
    Ok(Verdict::Conflict(Conflict { path, expected, found, diff }))
}

fn write(
    repo: &Repository,
    tree: &mut gix::object::tree::Editor<'_>,
    edit: &Edit,
) -> Result<(), Error> {
    let path = edit.path.as_str();
    match &edit.text {
        Some(text) => {
            let blob = repo.write_blob(text).map_err(doing("write a file"))?.detach();
            tree.upsert(path, EntryKind::Blob, blob).map_err(doing("edit the tree"))?;
        }
        None => {
            tree.remove(path).map_err(doing("edit the tree"))?;
        }
    }
    Ok(())
}

fn id_of(repo: &Repository, text: &str) -> Result<ObjectId, Error> {
    gix::objs::compute_hash(repo.object_hash(), Kind::Blob, text.as_bytes())
        .map_err(doing("hash a file"))
}
