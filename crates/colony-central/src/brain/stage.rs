//! The changes that wait for the next commit.

use std::collections::BTreeSet;

use colony_core::fleet::Fleet;
use colony_core::id::SiteName;
use colony_store::{Error, Write};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::rows_of;

/// The fleet ahead of the disk, and the writes that bring the disk up to it.
#[derive(Debug)]
pub(super) struct Stage {
    pub fleet: Fleet,
    queue: Vec<Staged>,
    /// Sites of a failed commit: their state on disk is unknown.
    pub doubtful: BTreeSet<SiteName>,
    /// No further change is staged; the writer ends after the waiting ones.
    pub closed: bool,
}

/// A change that waits for its commit.
#[derive(Debug)]
pub(super) struct Staged {
    pub write: Write,
    /// The sites whose orchestrator is woken after the commit.
    pub alerted: BTreeSet<SiteName>,
    pub end: oneshot::Sender<Result<(), Error>>,
    alone: Option<Box<Alone>>,
}

/// A write that the database may refuse because of its content: it is committed
/// by itself, so that it fails alone, and nothing is staged on top of it before
/// its result is known.
#[derive(Debug)]
struct Alone {
    /// The fleet without this write.
    before: Option<Fleet>,
    _permit: OwnedSemaphorePermit,
}

/// Changes that share a transaction, and the fleet they lead to.
#[derive(Debug)]
pub(super) struct Group {
    pub members: Vec<Staged>,
    pub fleet: Fleet,
}

impl Stage {
    pub(super) fn new(fleet: Fleet) -> Stage {
        Stage { fleet, queue: Vec::new(), doubtful: BTreeSet::new(), closed: false }
    }

    /// Ends the open change and queues it with its rows.
    pub(super) fn push(
        &mut self,
        mut write: Write,
        permit: OwnedSemaphorePermit,
    ) -> oneshot::Receiver<Result<(), Error>> {
        let alone = write.may_be_refused().then(|| Box::new(self.alone(permit)));
        let change = self.fleet.change_finish();
        let mut rows = rows_of(&self.fleet, change.rows.keys());
        rows.append(&mut write.rows);
        write.rows = rows;
        let (end, ended) = oneshot::channel();
        self.queue.push(Staged { write, alerted: change.alerted, end, alone });
        ended
    }

    fn alone(&mut self, permit: OwnedSemaphorePermit) -> Alone {
        let mut before = self.fleet.clone();
        before.change_undo();
        Alone { before: Some(before), _permit: permit }
    }

    /// All changes that can be committed together next.
    pub(super) fn group(&mut self) -> Option<Group> {
        let first = self.queue.first()?;
        let length = match first.alone {
            Some(_) => 1,
            None => self.queue.iter().take_while(|it| it.alone.is_none()).count(),
        };
        let members: Vec<Staged> = self.queue.drain(..length).collect();
        let next = self.queue.first_mut().and_then(|it| it.alone.as_mut());
        let before = next.and_then(|it| it.before.take());
        Some(Group { members, fleet: before.unwrap_or_else(|| self.fleet.clone()) })
    }

    /// Resets the stage to the published fleet: nothing staged on top of a
    /// failed commit counts.
    pub(super) fn discard(
        &mut self,
        published: &Fleet,
        doubtful: BTreeSet<SiteName>,
    ) -> Vec<Staged> {
        self.fleet = published.clone();
        self.doubtful.extend(doubtful);
        std::mem::take(&mut self.queue)
    }
}
