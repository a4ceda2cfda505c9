//! What health checks say, by run of a container.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use colony_core::node::Health;

#[derive(Debug, Default)]
pub(crate) struct Healths {
    by_run: Mutex<BTreeMap<String, Health>>,
}

impl Healths {
    pub(crate) fn get(&self, run: &str) -> Option<Health> {
        self.lock().get(run).cloned()
    }

    /// Returns whether it differs from what was known.
    pub(crate) fn set(&self, run: &str, health: Health) -> bool {
        let mut all = self.lock();
        if all.get(run) == Some(&health) {
            return false;
        }
        all.insert(run.to_owned(), health);
        true
    }

    pub(crate) fn keep(&self, runs: &BTreeSet<String>) {
        self.lock().retain(|run, _| runs.contains(run));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Health>> {
        self.by_run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
