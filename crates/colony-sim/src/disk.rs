//! The database of an LO or of CO: a transaction is there whole or not at all.
//!
//! Both commit the rows and events of a step in one SQLite transaction. A power
//! cut in the middle is undone by SQLite from its own log, so a torn commit
//! comes out as the state before, and so does one that a full disk refuses.
//! Nothing follows from a step before its commit. What an EN has is a file of
//! its own, see `journal.rs`.

use std::collections::BTreeMap;

/// The rows of one write; without a row, the one that is there is deleted.
pub(crate) type Write<K, R> = Vec<(K, Option<R>)>;

/// The rows of one role.
#[derive(Debug, Clone)]
pub(crate) struct Disk<K, R> {
    rows: BTreeMap<K, R>,
}

impl<K: Ord, R> Disk<K, R> {
    pub(crate) fn new() -> Disk<K, R> {
        Disk { rows: BTreeMap::new() }
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

    pub(crate) fn read(&self) -> impl Iterator<Item = &R> {
        self.rows.values()
    }
}
