//! A node's journal: the bytes of a file, parsed by the role's own code.
//!
//! After a power cut, the line that was being written may be anything: a part
//! of it, the right length without the content, or other bytes. Its step must
//! not count then, and all steps before it must.

use std::sync::Arc;

use colony_core::node::journal::{Entry, Rows, line, replay};
use colony_core::node::{Key, Row};

use crate::disk::Write;

/// When the role compacts its journal, as in `colony-node/src/brain/journal.rs`.
const SMALL: usize = 64 * 1024;
const GROWTH: usize = 4;

/// The file, and the rows in it.
///
/// The file is kept in the parts that were written, so that states of the model
/// have the earlier parts in common.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    parts: Vec<Arc<[u8]>>,
    size: usize,
    rows: Arc<Rows>,
    /// Its size after the last compaction.
    compact: usize,
}

impl Journal {
    /// Appends a line and syncs it: it survives everything but the loss of the
    /// disk.
    pub fn commit(&mut self, write: Write<Key, Row>) {
        let entries = entries(write);
        if entries.is_empty() {
            return;
        }
        self.append(bytes(&entries));
        self.apply(entries);
        self.compact_if_grown(self.compact.saturating_mul(GROWTH).max(SMALL));
    }

    /// Power fails while a line is written, and the disk has what `torn` makes
    /// of it; true if that is not the whole line.
    pub fn tear(&mut self, write: Write<Key, Row>, torn: impl FnOnce(&[u8]) -> Vec<u8>) -> bool {
        let entries = entries(write);
        if entries.is_empty() {
            return false;
        }
        let whole = bytes(&entries);
        let arrived = torn(&whole);
        let is_torn = arrived != whole;
        self.append(arrived);
        if !is_torn {
            self.apply(entries);
        }
        is_torn
    }

    /// The rows that a start reads, after it has cut off the incomplete end; or
    /// an error if they differ from the synced ones.
    pub fn read(&mut self) -> Result<Vec<Row>, String> {
        let mut bytes = self.parts.concat();
        let (rows, good) = replay(&bytes);
        if good < bytes.len() {
            bytes.truncate(good);
            self.replace(bytes);
        }
        if rows != *self.rows {
            let (read, written) = (rows.len(), self.rows.len());
            return Err(format!("its journal says {read} rows, and {written} others were synced"));
        }
        self.compact_if_grown(SMALL);
        Ok(rows.into_values().collect())
    }

    pub fn get(&self, key: &Key) -> Option<&Row> {
        self.rows.get(&key.to_string())
    }

    fn append(&mut self, part: Vec<u8>) {
        self.size += part.len();
        self.parts.push(part.into());
    }

    fn replace(&mut self, bytes: Vec<u8>) {
        self.size = bytes.len();
        self.parts = vec![bytes.into()];
    }

    fn apply(&mut self, entries: Vec<Entry>) {
        let rows = Arc::make_mut(&mut self.rows);
        entries.into_iter().for_each(|it| it.apply(rows));
    }

    /// The compacted file is renamed over the old one after it is synced, so
    /// that a crash leaves one of them, and both contain the same rows.
    fn compact_if_grown(&mut self, limit: usize) {
        if self.size <= limit {
            return;
        }
        let rows = self.rows.iter();
        let entries = rows.map(|(key, row)| Entry { key: key.clone(), row: Some(row.clone()) });
        self.replace(bytes(&entries.collect::<Vec<_>>()));
        self.compact = self.size;
    }
}

fn entries(write: Write<Key, Row>) -> Vec<Entry> {
    write.into_iter().map(|(key, row)| Entry { key: key.to_string(), row }).collect()
}

fn bytes(entries: &[Entry]) -> Vec<u8> {
    line(entries).expect("rows can be written")
}
