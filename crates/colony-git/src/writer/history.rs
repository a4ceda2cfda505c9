//! The commits that changed one path.

use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;
use gix::{ObjectId, Repository};

use super::Commit;
use crate::error::{Error, doing};
use crate::repo::{self, Reached};

/// A walk through a long history ends after this many commits.
const WALK_LIMIT: usize = 100_000;

pub(super) fn history(
    repo: &Repository,
    head: ObjectId,
    path: &str,
    limit: usize,
) -> Result<Vec<Commit>, Error> {
    let walk = repo
        .rev_walk([head])
        .sorting(Sorting::ByCommitTime(CommitTimeOrder::NewestFirst))
        .all()
        .map_err(doing("walk the history"))?;
    let mut found = Vec::new();
    for step in walk.take(WALK_LIMIT) {
        if found.len() >= limit {
            break;
        }
        let id = step.map_err(doing("walk the history"))?.id;
        found.extend(changed(repo, id, path)?);
    }
    Ok(found)
}

/// The commit, if its content at the path differs from every parent.
fn changed(repo: &Repository, id: ObjectId, path: &str) -> Result<Option<Commit>, Error> {
    let commit = repo.find_commit(id).map_err(doing("read a commit"))?;
    let own = blob(repo, id, path)?;
    let parents: Vec<ObjectId> = commit.parent_ids().map(gix::Id::detach).collect();
    let mut same = parents.is_empty() && own.is_none();
    for parent in parents {
        same = same || blob(repo, parent, path)? == own;
    }
    if same {
        return Ok(None);
    }
    let author = commit.author().map_err(doing("read a commit"))?;
    let message = commit.message().map_err(doing("read a commit"))?;
    Ok(Some(Commit {
        revision: repo::revision(id)?,
        at_ms: author.seconds().saturating_mul(1000),
        author: author.name.to_string(),
        subject: message.summary().to_string(),
        blob: own.map(repo::blob_id).transpose()?,
    }))
}

fn blob(repo: &Repository, commit: ObjectId, path: &str) -> Result<Option<ObjectId>, Error> {
    let found = repo::entry_at(repo, repo::tree_of(repo, commit)?, path)?;
    let file = found.filter(|(it, reached)| it.mode.is_blob() && *reached == Reached::Path);
    Ok(file.map(|(it, _)| it.id))
}
