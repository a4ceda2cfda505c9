//! Wakes the tasks that wait for changes of one site.

use std::collections::{BTreeMap, BTreeSet};

use colony_core::id::SiteName;
use parking_lot::Mutex;
use tokio::sync::watch;

/// One channel per site: a wake-up means "look again" and carries no content.
#[derive(Debug, Default)]
pub(crate) struct SiteNotifier(Mutex<BTreeMap<SiteName, watch::Sender<u64>>>);

impl SiteNotifier {
    /// Receives every wake-up from here on.
    pub(crate) fn listen(&self, site: &SiteName) -> watch::Receiver<u64> {
        self.0.lock().entry(site.clone()).or_default().subscribe()
    }

    pub(crate) fn ring(&self, sites: &BTreeSet<SiteName>) {
        if sites.is_empty() {
            return;
        }
        let notifier = self.0.lock();
        for bell in sites.iter().filter_map(|it| notifier.get(it)) {
            bell.send_modify(|it| *it = it.wrapping_add(1));
        }
    }

    pub(crate) fn ring_one(&self, site: &SiteName) {
        self.ring(&BTreeSet::from([site.clone()]));
    }
}
