//! Which of a site's orchestrators has which key.
//!
//! A certificate names the site alone, and that of a replaced orchestrator is
//! good for a while. Its key was recorded when it joined and stays when it
//! renews, so an orchestrator is known by its key, whatever it says of itself.

use std::collections::BTreeMap;

use colony_core::event::Incarnation;
use colony_core::id::SiteName;
use parking_lot::Mutex;

/// The incarnation that joined last with each key, by site and digest of the key.
#[derive(Debug, Default)]
pub(crate) struct Keys(Mutex<BTreeMap<SiteName, BTreeMap<String, Incarnation>>>);

impl Keys {
    /// An orchestrator of the site joined with the key of this digest.
    pub(crate) fn add(&self, site: &SiteName, key: &str, incarnation: Incarnation) {
        let mut sites = self.0.lock();
        let keys = sites.entry(site.clone()).or_default();
        let last = keys.entry(key.to_owned()).or_insert(incarnation);
        *last = incarnation.max(*last);
    }

    pub(crate) fn get(&self, site: &SiteName, key: &str) -> Option<Incarnation> {
        self.0.lock().get(site)?.get(key).copied()
    }

    /// Whether an orchestrator of the site joined with any key.
    pub(crate) fn has_any(&self, site: &SiteName) -> bool {
        self.0.lock().contains_key(site)
    }
}
