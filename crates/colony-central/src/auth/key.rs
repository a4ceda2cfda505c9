//! The keys of a site's orchestrators.
//!
//! A certificate only names the site, and the certificate of a replaced
//! orchestrator stays valid for a while. The key is recorded when an
//! orchestrator joins and is kept when it renews, so the key identifies the
//! orchestrator, whatever its requests claim.

use std::collections::BTreeMap;

use colony_core::event::Incarnation;
use colony_core::id::SiteName;
use parking_lot::Mutex;

/// The last incarnation that joined with each key, by site and digest of the
/// key.
#[derive(Debug, Default)]
pub(crate) struct Keys(Mutex<BTreeMap<SiteName, BTreeMap<String, Incarnation>>>);

impl Keys {
    /// Records that an orchestrator of the site joined with the key of this
    /// digest.
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
