//! The projection of the central orchestrator: the state of every site, as
//! reported.
//!
//! `Fleet::apply` takes a batch of one site's log and returns the fresh events,
//! the rows to write and the effects for central. The shell persists rows and
//! events in one transaction and then responds to the local orchestrator. Every
//! other change marks its rows for `take_changed`. Central never guesses a
//! state: only an event of the site moves a placement, whether or not the
//! transition table allows it.
//!
//! A local orchestrator builds the same `SiteView` from its own state
//! (`Site::view`) and serves it as a fleet of one, so that both orchestrators
//! answer every question by the same code.
//!
//! Left out on purpose: the events themselves and their fleet-wide positions
//! (the store keeps them), and Git (the shell writes it).

mod changed;
mod effect;
mod events;
mod join;
mod orders;
mod persisted;
mod shared;
mod site_entry;
mod undo;
mod view;
mod why;

use std::collections::{BTreeMap, BTreeSet};

pub use changed::{Changed, RowKey};
pub use effect::{Effect, Revert, RevertDecision, RevertSkip, revert_decision};
pub use events::answer::AnswersTaken;
pub use events::batch::{Applied, BATCH_LIMIT, BatchRefusal, RECENT_LIMIT};
pub use events::placement::Flag;
pub use events::rollout::RolloutView;
pub use join::{HEARD_RECENTLY, JoinRefusal};
pub use orders::central_change::CentralChange;
pub use orders::deletion::Removal;
pub use orders::order_state::ReportedSite;
pub use persisted::row::{Row, RowBody};
pub use persisted::seed::{LeftOut, Seeded};
pub use shared::Shared;
pub use site_entry::StatusCounts;
pub use undo::Change;
pub use view::bucket::PlacementBucket;
pub use view::outcome::{Outcome, overall};
pub use view::rollup_status::RollupStatus;
pub use view::{
    Archive, DeploymentView, Head, Holds, NodeView, PlacementView, SITE_SILENT, SitePresence,
    SiteView,
};

use crate::id::{DeploymentName, SiteName};
use events::projection_writer::ProjectionWriter;
use site_entry::SiteEntry;
use undo::Undo;

/// Everything the central orchestrator knows of its sites.
///
/// A clone shares every site with the original until one of them writes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fleet {
    sites: BTreeMap<SiteName, SiteEntry>,
    /// The sites where a deployment of that name exists or is planned: rebuilt.
    names: BTreeMap<DeploymentName, Shared<BTreeSet<SiteName>>>,
    /// Rows that differ from what was last taken to be persisted.
    changed: Changed,
    undo: Undo,
}

/// A site that was never added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("site `{0}` does not exist")]
pub struct UnknownSite(pub SiteName);

impl Fleet {
    pub fn new() -> Fleet {
        Fleet::default()
    }

    /// A fleet of one site, as its own orchestrator sees it.
    pub fn of_site(site: SiteName, view: SiteView) -> Fleet {
        let own = |it: &DeploymentName| (it.clone(), BTreeSet::from([site.clone()]).into());
        let names = view.known_names().map(own).collect();
        let sites = BTreeMap::from([(site.clone(), view.into())]);
        Fleet { names, sites, ..Fleet::default() }
    }

    pub fn sites(&self) -> impl Iterator<Item = (&SiteName, &SiteView)> {
        self.sites.iter().map(|(site, view)| (site, &**view))
    }

    pub fn site(&self, site: &SiteName) -> Option<&SiteView> {
        self.sites.get(site).map(|it| &**it)
    }

    /// How many deployments of a site have which status.
    pub fn status_counts(&self, site: &SiteName) -> Option<&StatusCounts> {
        self.sites.get(site).map(SiteEntry::status_counts)
    }

    /// The names of all deployments that exist or are planned at any site.
    pub fn deployment_names(&self) -> impl Iterator<Item = &DeploymentName> {
        self.names.keys()
    }

    /// The sites where a deployment exists or is planned.
    pub fn sites_of(&self, name: &DeploymentName) -> impl Iterator<Item = (&SiteName, &SiteView)> {
        let sites = self.names.get(name).into_iter().flat_map(|it| it.iter());
        let found = sites.filter_map(|it| self.sites.get_key_value(it));
        found.map(|(site, view)| (site, &**view))
    }

    /// The rows that changed since the last call.
    #[must_use = "changed rows must be persisted"]
    pub fn take_changed(&mut self) -> Changed {
        std::mem::take(&mut self.changed)
    }

    fn writer<'a>(&'a mut self, site: &'a SiteName) -> Result<ProjectionWriter<'a>, UnknownSite> {
        let view = self.sites.get_mut(site).ok_or_else(|| UnknownSite(site.clone()))?;
        self.undo.keep(site, Some(view));
        Ok(ProjectionWriter::new(site, view, &mut self.names, &mut self.changed))
    }
}
