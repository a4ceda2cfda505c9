//! The objects of a pack, newest first, each with a similar one as its base.
//!
//! A file or folder is similar to the object that a later commit has at its
//! path. The newest is stored whole, since it is read most.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;
use gix::{ObjectId, Repository};

use super::DOING;
use crate::error::{Error, doing};
use crate::repo;

/// One object of a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) id: ObjectId,
    /// An earlier item of the same kind, used as base.
    pub(crate) like: Option<usize>,
}

/// All objects that the commits reach.
pub(super) fn reachable(repo: &Repository, tips: &[ObjectId]) -> Result<Vec<Item>, Error> {
    let order = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
    let walk = repo.rev_walk(tips.iter().copied()).sorting(order).all().map_err(doing(DOING))?;
    let mut found = ObjectOrder::default();
    for step in walk {
        let commit = step.map_err(doing(DOING))?.id;
        found.commit(repo, commit, &|_| true)?;
    }
    Ok(found.items)
}

/// Exactly these objects, reachable or not.
pub(super) fn contained(repo: &Repository, ids: &BTreeSet<ObjectId>) -> Result<Vec<Item>, Error> {
    let mut found = ObjectOrder::default();
    for commit in commits(repo, ids)?.into_values().rev().flatten() {
        found.commit(repo, commit, &|it| ids.contains(it))?;
    }
    for id in ids.iter().filter(|it| !found.seen.contains(*it)) {
        found.items.push(Item { id: *id, like: None });
    }
    Ok(found.items)
}

fn commits(
    repo: &Repository,
    ids: &BTreeSet<ObjectId>,
) -> Result<BTreeMap<i64, Vec<ObjectId>>, Error> {
    let mut all: BTreeMap<i64, Vec<ObjectId>> = BTreeMap::new();
    for id in ids {
        if repo.find_header(*id).map_err(doing(DOING))?.kind() == gix::objs::Kind::Commit {
            let commit = repo.find_commit(*id).map_err(doing(DOING))?;
            let at = commit.time().map_err(doing(DOING))?.seconds;
            all.entry(at).or_default().push(*id);
        }
    }
    Ok(all)
}

#[derive(Default)]
struct ObjectOrder {
    items: Vec<Item>,
    seen: HashSet<ObjectId>,
    /// The last item found at a path; folders have a mark.
    last: HashMap<Vec<u8>, usize>,
}

impl ObjectOrder {
    fn commit(
        &mut self,
        repo: &Repository,
        commit: ObjectId,
        wanted: &dyn Fn(&ObjectId) -> bool,
    ) -> Result<(), Error> {
        if !self.seen.insert(commit) {
            return Ok(());
        }
        self.items.push(Item { id: commit, like: None });
        let mut folders = vec![(repo::tree_of(repo, commit)?, b"/".to_vec())];
        while let Some((tree, path)) = folders.pop() {
            if !wanted(&tree) || !self.seen.insert(tree) {
                continue;
            }
            self.push(tree, path.clone());
            for (name, entry) in repo::entries(repo, tree)? {
                if entry.mode.is_commit() || self.seen.contains(&entry.id) || !wanted(&entry.id) {
                    continue;
                }
                let path = [path.as_slice(), name.as_slice()].concat();
                match entry.mode.is_tree() {
                    true => folders.push((entry.id, [path.as_slice(), b"/"].concat())),
                    false => {
                        self.seen.insert(entry.id);
                        self.push(entry.id, path);
                    }
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, id: ObjectId, path: Vec<u8>) {
        let like = self.last.insert(path, self.items.len());
        self.items.push(Item { id, like });
    }
}
