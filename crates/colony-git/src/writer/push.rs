//! A remote repository: a commit on the last known head, pushed if that is
//! still the head.
//!
//! The lease makes the push a compare-and-swap: the remote refuses it if the
//! branch moved, and the edits are compared again with the head. If the answer
//! to a push is lost, a fetch shows whether the push arrived.

use std::time::Duration;

use gix::{ObjectId, Repository};

use super::apply::{self, AppliedBatch};
use super::{Batch, Written, message};
use crate::cache::Cache;
use crate::error::{Error, doing};
use crate::repo::durable;
use crate::transport::advice::advised;
use crate::{git, repo};

const TRIES: usize = 16;
const DOING: &str = "push to the repository";
/// git prints its first output when the server has answered; a batch is small,
/// but the connection may be slow.
const PATIENCE: git::Patience =
    git::Patience { first_word: Duration::from_secs(30), end: Duration::from_secs(300) };

/// The result of one push.
enum Pushed {
    Done,
    /// The branch is no longer at the expected head.
    Moved,
    Failed(Error),
}

pub(super) fn write(cache: &Cache, batch: &Batch) -> Result<Written, Error> {
    let mut head = cache.head()?;
    let mut fresh = false;
    for _ in 0..TRIES {
        let mut repo = cache.repo().with_object_memory();
        let applied = apply::apply(&repo, head, &batch.edits)?;
        // Only the present head of the remote can confirm that an edit is
        // already done or in conflict.
        if !fresh && (head.is_none() || doubtful(&applied)) {
            (head, fresh) = (cache.fetch()?, true);
            continue;
        }
        let Some(tree) = applied.tree else { return applied.written(None, head) };
        let commit = message::commit(&repo, batch, tree, head)?;
        keep(cache, &mut repo)?;
        colony_process::fail::hit(colony_process::fail::Point::CentralPushPrepared);
        match push(cache, head, commit)? {
            Pushed::Done => {
                colony_process::fail::hit(colony_process::fail::Point::CentralPushDone);
                track(cache, commit)?;
                return applied.written(Some(commit), Some(commit));
            }
            Pushed::Moved => (head, fresh) = (cache.fetch()?, true),
            Pushed::Failed(error) => return arrived(cache, applied, commit).unwrap_or(Err(error)),
        }
        if contains(cache, head, commit)? {
            return applied.written(Some(commit), head);
        }
    }
    Err(Error::Contended { doing: DOING, tries: TRIES })
}

fn doubtful(applied: &AppliedBatch) -> bool {
    applied.found_unchanged || !applied.conflicts.is_empty() || applied.tree.is_none()
}

/// Writes the objects of a commit to disk, for the git program.
fn keep(cache: &Cache, repo: &mut Repository) -> Result<(), Error> {
    let made = repo.objects.take_object_memory().unwrap_or_default();
    durable::objects_write(&cache.dir().join("objects"), made.iter())
}

/// Records the head of the remote; if the record is lost, the next fetch
/// restores it.
fn track(cache: &Cache, commit: ObjectId) -> Result<(), Error> {
    let constraint = gix::refs::transaction::PreviousValue::Any;
    let repo = cache.repo();
    let noted = repo.reference(cache.tracking(), commit, constraint, "push");
    noted.map(|_| ()).map_err(doing("record the pushed commit"))
}

/// The result of a failed push whose commit arrived all the same.
fn arrived(
    cache: &Cache,
    applied: AppliedBatch,
    commit: ObjectId,
) -> Option<Result<Written, Error>> {
    let head = cache.fetch().ok()?;
    let there = contains(cache, head, commit).ok()?;
    there.then(|| applied.written(Some(commit), head))
}

fn contains(cache: &Cache, head: Option<ObjectId>, commit: ObjectId) -> Result<bool, Error> {
    head.map_or(Ok(false), |head| repo::is_ancestor(&cache.repo(), commit, head))
}

fn push(cache: &Cache, head: Option<ObjectId>, commit: ObjectId) -> Result<Pushed, Error> {
    let address = cache.remote().address()?;
    let source = cache.source();
    let header = address.authorization.as_ref().map(|it| format!("Authorization: {it}"));
    let settings: Vec<(&str, &str)> = match &header {
        Some(it) => vec![("http.extraHeader", it), ("credential.helper", "")],
        None => Vec::new(),
    };
    let lease = head.map(|it| it.to_string()).unwrap_or_default();
    let mut command = git::command(cache.dir(), &settings);
    command.args(["push", "--porcelain", "--progress", "--no-verify"]);
    command.arg(format!("--force-with-lease={source}:{lease}"));
    command.args(["--", &address.url, &format!("{commit}:{source}")]);
    let output = match git::run_within(command, DOING, PATIENCE) {
        Ok(output) => output,
        // The push may have arrived all the same.
        Err(error @ Error::Remote { .. }) => return Ok(Pushed::Failed(error)),
        Err(error) => return Err(error),
    };
    if output.status.success() {
        return Ok(Pushed::Done);
    }
    let line = refusal(&String::from_utf8_lossy(&output.stdout));
    let said = address.redact(&git::output_text(&without_progress(&output.stderr)));
    Ok(push_result(line.map(|it| address.redact(&it)), said))
}

/// Progress is requested as a sign of life and removed from error messages.
fn without_progress(said: &[u8]) -> Vec<u8> {
    const PROGRESS: [&str; 7] = [
        "Enumerating objects",
        "Counting objects",
        "Compressing objects",
        "Writing objects",
        "Delta compression",
        "Total ",
        "remote: Resolving deltas",
    ];
    let text = String::from_utf8_lossy(said);
    let lines = text.split(['\r', '\n']);
    let kept = lines.filter(|it| !PROGRESS.iter().any(|start| it.starts_with(start)));
    kept.collect::<Vec<_>>().join("\n").into_bytes()
}

/// The reason on the line of the pushed branch: `!\t<from>:<to>\t[rejected]
/// (stale info)`.
fn refusal(porcelain: &str) -> Option<String> {
    let line = porcelain.lines().find(|it| it.starts_with('!'))?;
    line.split('\t').nth(2).map(str::to_owned)
}

fn push_result(refusal: Option<String>, said: String) -> Pushed {
    const MOVED: [&str; 9] = [
        "stale info",
        "fetch first",
        "non-fast-forward",
        "cannot lock ref",
        "failed to update ref",
        "incorrect old value",
        "already exists",
        "failed to lock",
        "remote ref updated since checkout",
    ];
    // Rules of the branch, which refuse every content.
    const CLOSED: [&str; 4] =
        ["protected branch", "branch is currently checked out", "deny updating", "read-only"];
    let doing = DOING;
    match refusal {
        Some(reason) if MOVED.iter().any(|it| reason.contains(it)) => Pushed::Moved,
        Some(reason) => {
            let closed = CLOSED.iter().any(|it| reason.contains(it));
            let problem = if said.is_empty() { reason } else { format!("{reason}: {said}") };
            Pushed::Failed(match closed {
                true => Error::Refused { doing, problem },
                false => Error::Rejected { doing, problem },
            })
        }
        None => match advised(said) {
            (problem, true) => Pushed::Failed(Error::Refused { doing, problem }),
            (problem, false) => Pushed::Failed(Error::Remote { doing, problem }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_branch_that_moved_is_tried_again() {
        check("!\ta:b\t[rejected] (stale info)", "", "moved");
        check(
            "!\ta:b\t[remote rejected] (cannot lock ref 'refs/heads/main': is at x)",
            "",
            "moved",
        );
        check("!\ta:b\t[remote rejected] (pre-receive hook declined)", "no", "rejected");
        check("!\ta:b\t[remote rejected] (protected branch hook declined)", "", "refused");
        check("", "fatal: Authentication failed for 'https://h/'", "refused");
        check("", "The requested URL returned error: 403", "refused");
        check("", "Could not resolve host: h", "remote");
    }

    #[test]
    fn complaints_come_without_progress() {
        let said =
            b"Writing objects:  50%\rWriting objects: 100% (3/3), done.\nTotal 3\nremote: no\n";
        assert_eq!(git::output_text(&without_progress(said)), "remote: no");
    }

    #[track_caller]
    fn check(porcelain: &str, said: &str, expected: &str) {
        let actual = match push_result(refusal(porcelain), said.to_owned()) {
            Pushed::Done => "done",
            Pushed::Moved => "moved",
            Pushed::Failed(Error::Refused { .. }) => "refused",
            Pushed::Failed(Error::Rejected { .. }) => "rejected",
            Pushed::Failed(Error::Remote { .. }) => "remote",
            Pushed::Failed(_) => "else",
        };
        assert_eq!(actual, expected, "{porcelain} {said}");
    }
}
