//! Health checks of containers: what is run and when, and the results by run of
//! a container.

pub(crate) mod check;
pub(crate) mod complaint;
pub(crate) mod watch;
pub(crate) mod watched;

use std::collections::{BTreeMap, BTreeSet};

use colony_core::node::Health;
use parking_lot::Mutex;

#[derive(Debug, Default)]
pub(crate) struct Healths {
    by_run: Mutex<BTreeMap<String, Health>>,
}

impl Healths {
    pub(crate) fn get(&self, run: &str) -> Option<Health> {
        self.by_run.lock().get(run).cloned()
    }

    /// Stores the health of a run; true if it changed.
    pub(crate) fn set(&self, run: &str, health: Health) -> bool {
        let mut all = self.by_run.lock();
        if all.get(run) == Some(&health) {
            return false;
        }
        all.insert(run.to_owned(), health);
        true
    }

    pub(crate) fn keep(&self, runs: &BTreeSet<String>) {
        self.by_run.lock().retain(|run, _| runs.contains(run));
    }
}
