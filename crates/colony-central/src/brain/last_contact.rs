//! The last contact of each site: in memory at once, on disk periodically.
//!
//! Every request of a site counts as a sign of life, and a fleet has thousands
//! of sites. So signs of life are collected here, and one transaction stores
//! all of them. A crash loses those since the last transaction; the next
//! request of each site replaces them.

use std::collections::BTreeMap;
use std::time::Duration;

use colony_core::fleet::SITE_SILENT;
use colony_core::id::SiteName;
use colony_core::time::Timestamp;
use colony_store::{Error, Write};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::Brain;

/// How often signs of life are stored. Together with the longest poll of a site
/// it must stay below `SITE_SILENT`.
const HEARD_PERIOD: Duration = Duration::from_secs(15);

/// The sites that were heard since the last flush, with the time.
#[derive(Debug, Default)]
pub(super) struct LastHeard {
    sites: Mutex<BTreeMap<SiteName, Timestamp>>,
    /// Triggers a flush at once: a site that counted as silent is back.
    back: Notify,
}

impl Brain {
    /// Records a contact of the site at `now`, after `last`; does not wait for
    /// the store.
    pub(crate) fn record_contact(&self, site: &SiteName, last: Option<Timestamp>, now: Timestamp) {
        let mut heard = self.shared.heard.sites.lock();
        match heard.get_mut(site) {
            Some(at) => *at = now,
            None => drop(heard.insert(site.clone(), now)),
        }
        drop(heard);
        if last.is_none_or(|it| now.since(it) >= SITE_SILENT) {
            self.shared.heard.back.notify_one();
        }
    }

    /// Stores signs of life until `stop`.
    pub(crate) async fn heard_keep(&self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(HEARD_PERIOD) => {}
                () = self.shared.heard.back.notified() => {}
            }
            if let Err(error) = self.heard_flush().await {
                tracing::warn!("could not store the last contact of the sites: {error}");
            }
        }
    }

    /// Stores the signs of life since the last call, in one transaction.
    pub(crate) async fn heard_flush(&self) -> Result<(), Error> {
        let heard = std::mem::take(&mut *self.shared.heard.sites.lock());
        if heard.is_empty() {
            return Ok(());
        }
        let stored = self
            .write(|fleet| {
                for (site, at) in &heard {
                    let last = fleet.site(site).and_then(|it| it.head.last_heard);
                    if last != Some(*at) {
                        // The site may have been removed since.
                        fleet.record_contact(site, *at).ok();
                    }
                }
                Ok::<_, Error>(((), Write::default()))
            })
            .await;
        if stored.is_err() {
            let mut later = self.shared.heard.sites.lock();
            for (site, at) in heard {
                later.entry(site).or_insert(at);
            }
        }
        stored
    }
}
