//! Which records of the projection are to be written.

use std::collections::BTreeSet;

use crate::id::{DeploymentId, DeploymentName, NodeName, PlacementId, SiteName};
use crate::why::AnswerKey;

/// The rows to write; a row that no longer exists is to be deleted.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Changed {
    keys: BTreeSet<RowKey>,
}

impl Changed {
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub fn keys(&self) -> impl Iterator<Item = &RowKey> {
        self.keys.iter()
    }

    pub(super) fn mark(&mut self, key: RowKey) {
        self.keys.insert(key);
    }

    pub(super) fn forget(&mut self, site: &SiteName) {
        self.keys.retain(|it| it.site() != site);
    }
}

/// The name of a persisted row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKey {
    /// The end of the site's log and the state of the site as a whole.
    Site(SiteName),
    /// The holds of the site.
    Holds(SiteName),
    /// A file in Git that the site cannot use, by path.
    File(SiteName, String),
    Node(SiteName, NodeName),
    Deployment(SiteName, DeploymentId),
    Placement(SiteName, PlacementId),
    Target(SiteName, DeploymentName),
    Command(SiteName, u64),
    Archive(SiteName, DeploymentId),
    /// The answers of the site about one subject that is not as it should be.
    Answer(SiteName, AnswerKey),
}

impl RowKey {
    pub fn site(&self) -> &SiteName {
        match self {
            RowKey::Site(site)
            | RowKey::Holds(site)
            | RowKey::File(site, _)
            | RowKey::Node(site, _)
            | RowKey::Deployment(site, _)
            | RowKey::Placement(site, _)
            | RowKey::Target(site, _)
            | RowKey::Command(site, _)
            | RowKey::Archive(site, _)
            | RowKey::Answer(site, _) => site,
        }
    }
}
