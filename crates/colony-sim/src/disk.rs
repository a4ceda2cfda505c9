//! A disk: what was synced stays, and a power cut leaves part of the rest.
//!
//! Where the line is drawn follows the roles. An EN appends one line per step
//! to its journal and syncs it; an LO and CO commit the rows and events of a
//! step in one transaction; Git's objects are synced before its ref moves.
//! Nothing follows from a step before that point. What is torn has no end (no
//! checksum, no commit mark), so whoever reads it cuts it off: a torn write
//! comes out as the state before.

use std::collections::BTreeMap;

/// The rows of one write; without a row, the one that is there is deleted.
pub(crate) type Write<K, R> = Vec<(K, Option<R>)>;

/// The rows of one role.
#[derive(Debug, Clone)]
pub(crate) struct Disk<K, R> {
    rows: BTreeMap<K, R>,
    /// The part of an unfinished write that has reached the disk.
    torn: Write<K, R>,
}

impl<K: Ord, R> Disk<K, R> {
    pub(crate) fn new() -> Disk<K, R> {
        Disk { rows: BTreeMap::new(), torn: Vec::new() }
    }

    /// Writes and syncs: from here on it survives everything but the disk.
    pub(crate) fn commit(&mut self, write: Write<K, R>) {
        for (key, row) in write {
            match row {
                Some(row) => self.rows.insert(key, row),
                None => self.rows.remove(&key),
            };
        }
    }

    /// The power fails when `share` percent of the write have reached the disk.
    pub(crate) fn tear(&mut self, mut write: Write<K, R>, share: u64) {
        let reached = write.len() as u64 * share / 100;
        write.truncate(usize::try_from(reached).unwrap_or(0));
        self.torn = write;
    }

    /// What a start reads, after it has cut off what has no end.
    pub(crate) fn read(&mut self) -> impl Iterator<Item = &R> {
        self.torn.clear();
        self.rows.values()
    }

    pub(crate) fn get(&self, key: &K) -> Option<&R> {
        self.rows.get(key)
    }
}
