//! The centre lets Git follow a rollback.
//!
//! As `colony-central/src/writer`: the change is queued in the database, written
//! to Git, and taken off the queue. Whoever dies in between goes on with what is
//! queued, and an edit that is there already counts as done.

use std::sync::Arc;

use colony_core::fleet::{RevertDecision, revert_decision};
use colony_core::id::BlobId;

use crate::fate::Die;
use crate::world::World;

/// A change of the only file, if it still holds what is expected.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Queued {
    expected: BlobId,
    text: String,
}

impl World {
    /// There is something to follow, or to go on with.
    pub(crate) fn may_revert(&self) -> bool {
        self.central.queued.is_some() || self.revert_due().is_some()
    }

    /// Follows a rollback with a commit, if Git still holds the bad file; `true`
    /// if it was written.
    pub(crate) fn central_revert(&mut self) -> bool {
        if self.central.queued.is_none() {
            let Some(change) = self.revert_due() else { return false };
            if !self.queue(change) {
                return false;
            }
        }
        self.write_queued()
    }

    fn revert_due(&self) -> Option<Queued> {
        self.central.core.reverts_open().into_iter().find_map(|it| {
            match revert_decision(&it, self.git.file()) {
                RevertDecision::Restore(blob) => {
                    let text = self.git.text(&blob)?;
                    Some(Queued { expected: it.bad.blob, text })
                }
                RevertDecision::Skip(_) => None,
            }
        })
    }

    /// `false` if the centre died.
    fn queue(&mut self, change: Queued) -> bool {
        let die = self.fated(true);
        if die == Die::BeforePersist {
            self.central_restart("before it queued a revert");
            return false;
        }
        self.central().queued = Some(change);
        if die == Die::BeforeAct {
            self.central_restart("after it queued a revert");
        }
        die == Die::Never
    }

    fn write_queued(&mut self) -> bool {
        let Some(change) = self.central.queued.clone() else { return false };
        let writes = self.git.file() == Some(&change.expected);
        if writes {
            self.say("CO reverts the file in Git".to_owned());
            Arc::make_mut(&mut self.git).commit(Some(change.text));
        }
        match self.fated(true) {
            Die::BeforePersist => self.central_restart("before it noted the commit"),
            Die::Never => self.central().queued = None,
            Die::BeforeAct => {
                self.central().queued = None;
                self.central_restart("after it noted the commit");
            }
        }
        writes
    }
}
