//! The names that events of this site use.
//!
//! The site knows a removed deployment by its id only; its name is read from
//! the event log.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

use colony_core::attempt::Revision;
use colony_core::document::FileFacts;
use colony_core::event::{Body, Event, Names, Seq};
use colony_core::id::{BlobId, DeploymentId, DeploymentName};
use colony_core::site::Site;

use super::FormerVersions;

pub(super) struct SiteNames<'a> {
    pub site: &'a Site,
    pub former: &'a FormerNames,
    pub versions: &'a FormerVersions,
    /// Files whose version was requested and is not known yet.
    pub missing: RefCell<BTreeSet<BlobId>>,
}

impl Names for SiteNames<'_> {
    fn deployment(&self, id: &DeploymentId) -> String {
        let present = self.site.deployment(id).map(|it| it.name.to_string());
        let former = || self.former.0.lock().names.get(id).map(ToString::to_string);
        present.or_else(former).unwrap_or_else(|| id.to_string())
    }

    fn version(&self, id: &DeploymentId, revision: &Revision) -> Option<String> {
        if let Some(document) = self.site.deployment(id).and_then(|it| it.document(revision)) {
            return Some(FileFacts::of(&document.spec).version);
        }
        let known = self.versions.known(&revision.blob).map(|it| it.version.clone());
        if known.is_none() {
            self.missing.borrow_mut().insert(revision.blob.clone());
        }
        known
    }
}

/// The names of deployments that were found in the log so far.
#[derive(Debug, Default)]
pub(crate) struct FormerNames(Mutex<FormerName>);

#[derive(Debug, Default)]
struct FormerName {
    names: BTreeMap<DeploymentId, DeploymentName>,
    /// The number of the last event that was read.
    last: Seq,
}

impl FormerNames {
    /// Whether all deployments of the events have a name.
    pub(super) fn suffice(&self, site: &Site, events: &[Event]) -> bool {
        let known = &self.0.lock().names;
        let mut named = events.iter().filter_map(|it| it.body.deployment());
        named.all(|it| site.deployment(it).is_some() || known.contains_key(it))
    }

    pub(super) fn next(&self) -> Seq {
        self.0.lock().last + 1
    }

    /// Collects the names from the next events of the log.
    pub(super) fn read(&self, events: &[Event]) {
        let mut known = self.0.lock();
        for event in events {
            if let Body::DeploymentAccepted { deployment, name, .. }
            | Body::DeploymentWithdrawn { deployment, name, .. } = &event.body
            {
                known.names.insert(deployment.clone(), name.clone());
            }
            known.last = known.last.max(event.seq);
        }
    }
}
