//! Forced deletions: a site ends its wait for confirmations as soon as it has
//! begun the removal.
//!
//! A site can only be ordered to force a removal that it has begun, and it
//! learns of the removal from Git. So the request, called a wish here, is
//! stored until the site reports that it has seen the removal, and becomes an
//! order in the same transaction.

use std::collections::BTreeMap;

use colony_core::event::{Body, Event};
use colony_core::id::{DeploymentId, SiteName};
use colony_store::CentralStore;
use parking_lot::Mutex;
use serde_json::{Value, json};

const PREFIX: &str = "force/";

/// Open wishes by site and deployment, with the operator that forced the
/// deletion.
#[derive(Debug, Default)]
pub(crate) struct PendingForcedDeletions(Mutex<BTreeMap<(SiteName, DeploymentId), String>>);

impl PendingForcedDeletions {
    /// Reads the wishes that were open before a restart.
    pub(crate) async fn restore(
        store: &CentralStore,
    ) -> Result<PendingForcedDeletions, colony_store::Error> {
        let forces = PendingForcedDeletions::default();
        for (key, value) in store.notes(PREFIX).await? {
            let wish = key.strip_prefix(PREFIX).and_then(|it| it.split_once('/'));
            let Some((site, id)) = wish else { continue };
            if let (Ok(site), Ok(id), Some(by)) = (site.parse(), id.parse(), value.as_str()) {
                forces.0.lock().insert((site, id), by.to_owned());
            }
        }
        Ok(forces)
    }

    pub(crate) fn add(&self, wishes: &[(SiteName, DeploymentId)], by: &str) {
        let mut open = self.0.lock();
        wishes.iter().for_each(|it| drop(open.insert(it.clone(), by.to_owned())));
    }

    /// The wishes that become due with these events.
    pub(crate) fn due(&self, events: &[Event]) -> Vec<((SiteName, DeploymentId), String)> {
        let open = self.0.lock();
        let gone = events.iter().filter_map(|it| {
            let Body::DeploymentWithdrawn { deployment, .. } = &it.body else { return None };
            Some((it.site.clone(), deployment.clone()))
        });
        gone.filter_map(|it| open.get(&it).cloned().map(|by| (it, by))).collect()
    }

    pub(crate) fn done(&self, wish: &(SiteName, DeploymentId)) {
        self.0.lock().remove(wish);
    }
}

/// A wish as it is stored; without an operator it is done.
pub(crate) fn note((site, id): &(SiteName, DeploymentId), by: Option<&str>) -> (String, Value) {
    (format!("{PREFIX}{site}/{id}"), json!(by))
}
