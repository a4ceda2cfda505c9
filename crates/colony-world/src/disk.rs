//! The database of a local or central orchestrator: a transaction is stored
//! completely or not at all.
//!
//! Both commit the rows and events of a step in one SQLite transaction. SQLite
//! rolls a commit back that a power cut interrupts, so a torn commit leaves the
//! previous state, and so does one that a full disk refuses. No effect of a
//! step happens before its commit. A node has its own journal file, see
//! `journal.rs`.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The rows of one write; `None` deletes a row.
pub type Write<K, R> = Vec<(K, Option<R>)>;

/// The rows of one role by their key. The role that was restored from them is
/// kept until the next write: in the model, many acts end with the same disk.
#[derive(Debug, Clone)]
pub struct Disk<K, R, C> {
    rows: Arc<BTreeMap<K, Arc<R>>>,
    restored: Arc<OnceLock<C>>,
}

impl<K, R, C> Default for Disk<K, R, C> {
    fn default() -> Disk<K, R, C> {
        Disk { rows: Arc::default(), restored: Arc::new(OnceLock::new()) }
    }
}

impl<K: Ord + Clone, R: Serialize + DeserializeOwned, C: Clone> Disk<K, R, C> {
    /// Writes and syncs: the rows survive everything but the loss of the disk.
    pub fn commit(&mut self, write: Write<K, R>) {
        if write.is_empty() {
            return;
        }
        let rows = Arc::make_mut(&mut self.rows);
        for (key, row) in write {
            match row {
                Some(row) => rows.insert(key, Arc::new(row)),
                None => rows.remove(&key),
            };
        }
        self.forget_restored();
    }

    /// The role that `restore` makes of the rows.
    pub fn restored(&self, restore: impl FnOnce(Vec<R>) -> C) -> C {
        self.restored.get_or_init(|| restore(self.read(|_| true))).clone()
    }

    /// The next restore does not use the kept role: it has other settings.
    pub fn forget_restored(&mut self) {
        self.restored = Arc::new(OnceLock::new());
    }

    /// The rows that satisfy `is`, serialised and parsed again.
    pub fn read(&self, is: impl Fn(&R) -> bool) -> Vec<R> {
        let rows = self.rows.values().filter(|it| is(it));
        rows.map(|it| through_bytes(&**it)).collect()
    }
}

/// Serialises a value and parses it again, as a disk or a connection does.
pub fn through_bytes<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let text = serde_json::to_string(value).expect("the value can be written");
    serde_json::from_str(&text).expect("the value can be read")
}
