//! The commit that last changed each file.
//!
//! One walk for all files, from the newest commit until every file has its
//! commit. Commits pushed by people count like those of colony.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

use colony_core::id::GitRevision;
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;
use gix::{ObjectId, Repository};

use crate::error::{Error, doing};
use crate::repo::{self, Reached, walk};

const DOING: &str = "walk the history";
/// Files that were last changed more than this many commits ago get no commit.
const WALK_LIMIT: usize = 10_000;

/// Maps each file below `folder` that changed between `old` and `head`, or every
/// file if there is no `old`, to the commit that last changed it.
pub(crate) fn origins(
    repo: &Repository,
    folder: &str,
    old: Option<ObjectId>,
    head: ObjectId,
) -> Result<BTreeMap<String, GitRevision>, Error> {
    let mut unresolved = changed(repo, folder, old, head)?;
    let order = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
    let walk = repo.rev_walk([head]).with_hidden(old).sorting(order);
    let mut found = BTreeMap::new();
    for step in walk.all().map_err(doing(DOING))?.take(WALK_LIMIT) {
        if unresolved.is_empty() {
            break;
        }
        let commit = step.map_err(doing(DOING))?.id;
        for (path, id) in introduced_by(repo, folder, commit)? {
            if unresolved.get(&path) == Some(&id) {
                unresolved.remove(&path);
                found.insert(path, repo::revision(commit)?);
            }
        }
    }
    Ok(found)
}

/// The files of a commit that none of its parents has with the same content.
fn introduced_by(
    repo: &Repository,
    folder: &str,
    commit: ObjectId,
) -> Result<BTreeMap<String, ObjectId>, Error> {
    let object = repo.find_commit(commit).map_err(doing("read a commit"))?;
    let mut parents = object.parent_ids().map(gix::Id::detach);
    let mut new = changed(repo, folder, parents.next(), commit)?;
    for parent in parents {
        let root = repo::tree_of(repo, parent)?;
        let mut inherited = Vec::new();
        for (path, id) in &new {
            let there = repo::entry_at(repo, root, path)?;
            if there.is_some_and(|(it, reached)| it.id == *id && reached == Reached::Path) {
                inherited.push(path.clone());
            }
        }
        new.retain(|it, _| !inherited.contains(it));
    }
    Ok(new)
}

/// The files below `folder` in `new` that are missing or different in `old`.
fn changed(
    repo: &Repository,
    folder: &str,
    old: Option<ObjectId>,
    new: ObjectId,
) -> Result<BTreeMap<String, ObjectId>, Error> {
    let tree = |commit| -> Result<Option<ObjectId>, Error> {
        let found = repo::entry_at(repo, repo::tree_of(repo, commit)?, folder)?;
        let folder = found.filter(|(it, reached)| it.mode.is_tree() && *reached == Reached::Path);
        Ok(folder.map(|(it, _)| it.id))
    };
    let old = old.map(tree).transpose()?.flatten();
    // The walk counts what it reads; the count is of no interest here.
    let all = walk::differences(repo, folder, old, tree(new)?, &AtomicU64::new(0))?;
    let file = |it: walk::Change| Some((it.path, it.new.filter(|it| it.mode.is_blob())?.id));
    Ok(all.into_iter().filter_map(file).collect())
}
