//! The disk of a process: rows, and what comes back from them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Rows by their key. What they are put together to is remembered as long as
/// nothing is written: many acts end with the same disk.
#[derive(Debug)]
pub(crate) struct Disk<K, R, C> {
    rows: BTreeMap<K, Arc<R>>,
    back: OnceLock<C>,
}

impl<K, R, C> Default for Disk<K, R, C> {
    fn default() -> Disk<K, R, C> {
        Disk { rows: BTreeMap::new(), back: OnceLock::new() }
    }
}

impl<K: Ord + Clone, R, C: Clone> Disk<K, R, C> {
    /// The disk with rows that were written, or removed.
    pub(crate) fn with(&self, changed: impl IntoIterator<Item = (K, Option<R>)>) -> Disk<K, R, C> {
        let mut rows = self.rows.clone();
        for (key, row) in changed {
            match row {
                Some(row) => rows.insert(key, Arc::new(row)),
                None => rows.remove(&key),
            };
        }
        Disk { rows, back: OnceLock::new() }
    }

    /// What comes back; `read` takes a row through the bytes it was stored as.
    pub(crate) fn restored(&self, read: fn(&R) -> R, restore: impl FnOnce(Vec<R>) -> C) -> C {
        let back = || restore(self.rows.values().map(|it| read(it)).collect());
        self.back.get_or_init(back).clone()
    }
}

/// A row through the bytes it is stored as.
macro_rules! through_bytes {
    () => {
        |it| {
            let text = serde_json::to_string(it).expect("a row can be written");
            serde_json::from_str(&text).expect("a row can be read")
        }
    };
}
pub(crate) use through_bytes;
