//! An EN's journal: the bytes of a file, read by the role's own code.
//!
//! What a power cut leaves of the line that was being written is anything: a
//! part of it, the length without the content, or a stretch of something else.
//! The step whose line it was must not count then, and all before it must.

use colony_core::node::journal::{Entry, Rows, line, replay};
use colony_core::node::{Key, Row};

use crate::disk::Write;
use crate::rng::Rng;

/// When the role writes its journal anew, as in `colony-node/src/journal.rs`.
const SMALL: usize = 64 * 1024;
const GROWTH: usize = 4;

/// The file, and what it has to say.
#[derive(Debug, Clone, Default)]
pub(crate) struct Journal {
    bytes: Vec<u8>,
    rows: Rows,
    /// Its size when it was last written anew.
    compact: usize,
}

impl Journal {
    /// Appends a line and syncs it: from here on it survives everything but the disk.
    pub(crate) fn commit(&mut self, write: Write<Key, Row>) {
        let entries = entries(write);
        if entries.is_empty() {
            return;
        }
        self.bytes.extend(bytes(&entries));
        entries.into_iter().for_each(|it| it.apply(&mut self.rows));
        self.compact_if_grown(self.compact.saturating_mul(GROWTH).max(SMALL));
    }

    /// The power fails while a line is written; true if not all of it arrived.
    pub(crate) fn tear(&mut self, write: Write<Key, Row>, rng: &mut Rng) -> bool {
        let entries = entries(write);
        if entries.is_empty() {
            return false;
        }
        let whole = bytes(&entries);
        let arrived = torn(&whole, rng);
        let is_torn = arrived != whole;
        self.bytes.extend(arrived);
        if !is_torn {
            entries.into_iter().for_each(|it| it.apply(&mut self.rows));
        }
        is_torn
    }

    /// What a start reads, after it has cut off what does not count; or what
    /// is wrong with that.
    pub(crate) fn read(&mut self) -> Result<Vec<Row>, String> {
        let (rows, good) = replay(&self.bytes);
        self.bytes.truncate(good);
        if rows != self.rows {
            let (read, written) = (rows.len(), self.rows.len());
            return Err(format!("its journal says {read} rows, and {written} others were synced"));
        }
        self.compact_if_grown(SMALL);
        Ok(rows.into_values().collect())
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Row> {
        self.rows.get(&key.to_string())
    }

    /// Renamed over the old one when it is synced, so that a crash leaves one or
    /// the other, and both say the same.
    fn compact_if_grown(&mut self, limit: usize) {
        if self.bytes.len() <= limit {
            return;
        }
        let rows = self.rows.iter();
        let entries = rows.map(|(key, row)| Entry { key: key.clone(), row: Some(row.clone()) });
        self.bytes = bytes(&entries.collect::<Vec<_>>());
        self.compact = self.bytes.len();
    }
}

fn entries(write: Write<Key, Row>) -> Vec<Entry> {
    write.into_iter().map(|(key, row)| Entry { key: key.to_string(), row }).collect()
}

fn bytes(entries: &[Entry]) -> Vec<u8> {
    line(entries).expect("rows can be written")
}

/// What is there of a line that was never synced.
fn torn(whole: &[u8], rng: &mut Rng) -> Vec<u8> {
    let length = whole.len() as u64;
    let mut arrived = whole.to_vec();
    let cut = index(rng.range(0..length + 1));
    match rng.range(0..4) {
        0..2 => arrived.truncate(cut),
        2 => arrived[cut..].fill(0),
        _ => {
            let end = index(rng.range(0..length + 1));
            arrived[cut.min(end)..cut.max(end)].iter_mut().for_each(|it| *it = rng.next() as u8);
        }
    }
    arrived
}

fn index(at: u64) -> usize {
    usize::try_from(at).unwrap_or(0)
}
