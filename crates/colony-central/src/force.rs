//! Forced deletions: the wait for a confirmation ends as soon as it began.
//!
//! A site can only be told to force what it is taking away, and it learns of
//! that from Git. So the wish is kept here until the site says that it has seen
//! the removal, and becomes an order in the same transaction.

use std::collections::BTreeMap;

use colony_core::event::{Body, Event};
use colony_core::id::{DeploymentId, SiteName};
use colony_store::CentralStore;
use parking_lot::Mutex;
use serde_json::{Value, json};

const PREFIX: &str = "force/";

/// Wishes by site and deployment, with who has them.
#[derive(Debug, Default)]
pub(crate) struct Forces(Mutex<BTreeMap<(SiteName, DeploymentId), String>>);

impl Forces {
    /// Reads the wishes that were open before a restart.
    pub(crate) async fn restore(store: &CentralStore) -> Result<Forces, colony_store::Error> {
        let forces = Forces::default();
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

    /// The wishes whose time has come with these events.
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

/// A wish as it is kept; without a name it is over.
pub(crate) fn note((site, id): &(SiteName, DeploymentId), by: Option<&str>) -> (String, Value) {
    (format!("{PREFIX}{site}/{id}"), json!(by))
}
