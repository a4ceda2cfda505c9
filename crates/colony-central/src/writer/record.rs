//! Records the result of a batch in one transaction: targets, events, the
//! queue.

use std::collections::BTreeMap;

use colony_core::event::CentralEvent;
use colony_core::fleet::Fleet;
use colony_core::id::{BlobId, GitRevision};
use colony_core::time::Timestamp;
use colony_git::{Conflict, Written};
use colony_store::{Change, NewEvent, Write};

use crate::brain::{Brain, own_event};
use crate::clock;
use crate::repo::{path_parts, site_of};

/// Records a batch that was pushed, or was already in Git.
pub(super) async fn record(
    brain: &Brain,
    changes: &[Change],
    written: &Written,
) -> anyhow::Result<()> {
    let now = clock::wall();
    brain.write(|fleet| Ok(((), outcome(fleet, changes, written, now)))).await
}

fn outcome(fleet: &mut Fleet, changes: &[Change], written: &Written, now: Timestamp) -> Write {
    let mut write = Write::default();
    let done: BTreeMap<&str, &Option<BlobId>> =
        written.done.iter().map(|it| (it.0.as_str(), &it.1)).collect();
    let conflicts: BTreeMap<&str, &Conflict> =
        written.conflicts.iter().map(|it| (it.path.as_str(), it)).collect();
    for change in changes {
        for edit in &change.edits {
            let path = edit.path.as_str();
            let event = match (done.get(path), conflicts.get(path), &written.head) {
                (_, Some(conflict), _) => conflicted(fleet, change, conflict, now),
                (Some(blob), None, Some(commit)) => {
                    committed(fleet, change, path, (*blob).clone(), commit, now)
                }
                // There was no file to remove.
                (_, None, _) => cleared(fleet, &edit.path),
            };
            write.events.extend(event);
        }
        write.changes_done.push(change.id.clone());
    }
    write
}

/// Records a change that Git refuses: its targets fail, and it leaves the
/// queue.
pub(super) async fn record_refusal(
    brain: &Brain,
    change: &Change,
    reason: &str,
) -> anyhow::Result<()> {
    let now = clock::wall();
    brain.write(|fleet| Ok(((), refused(fleet, change, reason, now)))).await
}

fn refused(fleet: &mut Fleet, change: &Change, reason: &str, now: Timestamp) -> Write {
    let mut write = Write { changes_done: vec![change.id.clone()], ..Write::default() };
    for edit in &change.edits {
        let parts = path_parts(&edit.path);
        if let Some((site, name)) = &parts {
            // The site may have been removed since.
            fleet.change_refused(site, name, edit.expected.clone(), reason, now).ok();
        }
        let (site, name) = parts.map_or((site_of(&edit.path), None), |it| (Some(it.0), Some(it.1)));
        let event = CentralEvent::Refused {
            path: edit.path.clone(),
            reason: reason.to_owned(),
            message: change.message.clone(),
            change: change.id.clone(),
        };
        let place = (site.as_ref(), name.as_ref());
        write.events.push(own_event(&event, &change.actor, now, place));
    }
    write
}

fn cleared(fleet: &mut Fleet, path: &str) -> Option<NewEvent> {
    let (site, name) = path_parts(path)?;
    fleet.change_dropped(&site, &name).ok();
    None
}

fn committed(
    fleet: &mut Fleet,
    change: &Change,
    path: &str,
    blob: Option<BlobId>,
    commit: &GitRevision,
    now: Timestamp,
) -> Option<NewEvent> {
    let (site, name) = path_parts(path)?;
    // A site that was removed since has no targets.
    fleet.change_committed(&site, &name, commit.clone(), blob.clone(), now).ok();
    let event = CentralEvent::Committed {
        commit: commit.clone(),
        path: path.to_owned(),
        blob,
        message: change.message.clone(),
        change: change.id.clone(),
    };
    Some(own_event(&event, &change.actor, now, (Some(&site), Some(&name))))
}

fn conflicted(
    fleet: &mut Fleet,
    change: &Change,
    conflict: &Conflict,
    now: Timestamp,
) -> Option<NewEvent> {
    let (site, name) = path_parts(&conflict.path)?;
    let pair = (conflict.expected.clone(), conflict.found.clone());
    fleet.change_conflict(&site, &name, pair, &conflict.diff, now).ok();
    let event = CentralEvent::Conflict {
        path: conflict.path.clone(),
        expected: conflict.expected.clone(),
        found: conflict.found.clone(),
        diff: conflict.diff.clone(),
        message: change.message.clone(),
        change: change.id.clone(),
    };
    Some(own_event(&event, &change.actor, now, (Some(&site), Some(&name))))
}
