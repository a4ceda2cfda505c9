//! The Git writer of the central orchestrator: a durable queue, compare and
//! swap per file, rollbacks.
//!
//! As `colony-central/src/writer`: a change stays in the queue until its outcome
//! is recorded. Power may fail before Git's ref is synced (nothing happened) or
//! after it and before the record (the change is already in Git, and counts as
//! done the second time).

use colony_core::fleet::{Revert, RevertDecision, revert_decision};
use colony_core::id::{BlobId, DeploymentName, SiteName};
use colony_testkit::blob;

use crate::git;
use crate::host::{Breach, Host, Role};
use crate::role::central::CentralShell;

/// One file to be written or removed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Change {
    pub site: SiteName,
    pub name: DeploymentName,
    /// The blob that Git must have for the change to be made.
    pub expected: Option<BlobId>,
    pub text: Option<String>,
    /// The mark of a purge, written or removed with the file.
    pub mark: Option<(String, Option<String>)>,
    /// The change follows a rollback; otherwise an operator requested it.
    pub reverts: bool,
}

impl Change {
    pub fn path(&self) -> String {
        git::path(&self.site, &self.name)
    }
}

/// Queues changes and writes them.
pub trait WriterShell: Host {
    /// The change that follows a rollback, if Git still has the bad version and
    /// no change of that file is queued.
    fn revert_due(&self, revert: &Revert) -> Option<Change> {
        let roles = self.roles();
        let path = git::path(&revert.site, &revert.name);
        let RevertDecision::Restore(good) = revert_decision(revert, roles.git.blob_at_head(&path))
        else {
            return None;
        };
        if roles.central.changes.values().any(|it| it.path() == path) {
            return None;
        }
        let (site, name) = (revert.site.clone(), revert.name.clone());
        let (expected, text) = (Some(revert.bad.blob.clone()), roles.git.text(&good));
        Some(Change { site, name, expected, text, mark: None, reverts: true })
    }

    /// Queues the changes that follow rollbacks. They are derived from the
    /// state, so no crash loses one.
    fn central_queue_reverts(&mut self) {
        for revert in self.roles().central.core.reverts_open() {
            let Some(change) = self.revert_due(&revert) else { continue };
            if change.text.is_none() {
                let what = format!("Git has lost the good content of {}", change.path());
                return self.breach(Breach::Git, what);
            }
            if !self.central_queue(change) && !self.roles().central.process.up {
                return;
            }
        }
    }

    /// Queues a change, with all other changed rows; `false` if it was not
    /// stored, or the process died before it could answer.
    fn central_queue(&mut self, change: Change) -> bool {
        self.central_record(|central| {
            central.changes_count += 1;
            central.changes.insert(central.changes_count, change);
        })
    }

    /// A file that does not have the expected content is left unchanged: the
    /// earlier edit wins.
    fn central_push(&mut self, number: u64) {
        let roles = self.roles();
        let change = roles.central.changes.get(&number).cloned();
        let Some(change) = change.filter(|_| roles.central.process.up) else { return };
        let path = change.path();
        let found = roles.git.blob_at_head(&path).cloned();
        let wanted = change.text.as_deref().map(blob);
        if found != wanted && found == change.expected {
            if !self.survives_push("before Git's ref was synced") {
                return;
            }
            self.observe_push(&change);
            let file = (path, change.text.clone());
            let files = [Some(file), change.mark.clone()].into_iter().flatten();
            self.roles_mut().git.commit(files.collect());
            if !self.survives_push("after it wrote Git, before it recorded that") {
                return;
            }
        }
        self.central_record_change(number, &change, found);
    }

    /// The outcome and the end of the change are one transaction.
    fn central_record_change(&mut self, number: u64, change: &Change, found: Option<BlobId>) {
        let now = self.present(Role::Central).wall;
        let wanted = change.text.as_deref().map(blob);
        let git = &self.roles().git;
        let (head, there) = (git.head().clone(), git.blob_at_head(&change.path()).cloned());
        let (site, name) = (&change.site, &change.name);
        let core = &mut self.roles_mut().central.core;
        if there == wanted {
            let _ = core.change_committed(site, name, head, there, now);
        } else {
            let pair = (change.expected.clone(), found);
            let _ = core.change_conflict(site, name, pair, "", now);
            self.observe_conflict(change);
        }
        self.central_record(|it| drop(it.changes.remove(&number)));
    }
}

impl<H: Host> WriterShell for H {}
