//! Which of a site's orchestrators has which key.
//!
//! A certificate names the site alone, and that of a replaced orchestrator is good
//! for a while. Its key was told when it joined, and stays when it renews; so it is
//! known by that, whatever it says of itself.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use colony_core::event::Incarnation;

/// The incarnation that joined last with each key.
#[derive(Debug, Default)]
pub(crate) struct Keys(Mutex<BTreeMap<String, Incarnation>>);

impl Keys {
    /// An orchestrator joined with the key of this digest.
    pub(crate) fn add(&self, key: &str, incarnation: Incarnation) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = known.entry(key.to_owned()).or_insert(incarnation);
        *last = incarnation.max(*last);
    }

    pub(crate) fn get(&self, key: &str) -> Option<Incarnation> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }
}
