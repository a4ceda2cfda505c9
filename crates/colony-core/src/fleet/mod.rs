//! The brain of the central orchestrator's projection: what every site said.
//!
//! `Fleet::apply` takes a batch of one site's log and answers with what was
//! fresh, the rows to write and what CO has to do about it; the shell persists
//! rows and events in one transaction and then answers the LO. Every other
//! change marks its rows for `take_changed`. CO never guesses a state: only an
//! event of the site moves a placement, whether or not the table allows it.
//!
//! A local orchestrator builds the same `SiteView` from its own state
//! (`Site::view`) and serves it as a fleet of one, so that both orchestrators
//! answer every question by the same code.
//!
//! Left out on purpose: the events themselves and their fleet-wide positions
//! (the store keeps them), and Git (the shell writes it).

mod answer;
mod batch;
mod changed;
mod command;
mod delete;
mod deployment;
mod effect;
mod fold;
mod join;
mod moving;
mod order_state;
mod outcome;
mod pen;
mod projection;
mod rollout;
mod row;
mod seed;
mod shared;
mod standing;
mod tally;
mod target;
mod undo;
mod verdict;
mod view;
mod why;

use std::collections::{BTreeMap, BTreeSet};

pub use answer::AnswersTaken;
pub use batch::{Applied, BATCH_LIMIT, BatchRefusal, RECENT_LIMIT};
pub use changed::{Changed, RowKey};
pub use effect::{Effect, Revert, RevertDecision, RevertSkip, revert_decision};
pub use join::{HEARD_RECENTLY, JoinRefusal};
pub use moving::Flag;
pub use order_state::ReportedSite;
pub use outcome::{Outcome, overall};
pub use rollout::RolloutView;
pub use row::{Row, RowBody};
pub use seed::{LeftOut, Seeded};
pub use shared::Shared;
pub use standing::Standing;
pub use tally::Share;
pub use target::Target;
pub use undo::Change;
pub use view::{
    Archive, DeploymentView, Head, Holds, NodeView, PlacementView, SITE_SILENT, SitePresence,
    SiteView,
};

use crate::id::{DeploymentName, SiteName};
use pen::Pen;
use undo::Undo;

/// Everything the central orchestrator knows of its sites.
///
/// A clone shares every site with the original until one of them writes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fleet {
    sites: BTreeMap<SiteName, Shared<SiteView>>,
    /// The sites where something of that name is or is to be: rebuilt.
    names: BTreeMap<DeploymentName, Shared<BTreeSet<SiteName>>>,
    /// Rows that differ from what was last taken to be persisted.
    changed: Changed,
    undo: Undo,
}

/// A site nobody has added.
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

    /// The names of all deployments that are somewhere, or are to be.
    pub fn deployment_names(&self) -> impl Iterator<Item = &DeploymentName> {
        self.names.keys()
    }

    /// The sites where a deployment is, or is to be.
    pub fn sites_of(&self, name: &DeploymentName) -> impl Iterator<Item = (&SiteName, &SiteView)> {
        let sites = self.names.get(name).into_iter().flat_map(|it| it.iter());
        let found = sites.filter_map(|it| self.sites.get_key_value(it));
        found.map(|(site, view)| (site, &**view))
    }

    /// The rows that changed since this was last asked.
    #[must_use = "changed rows must be persisted"]
    pub fn take_changed(&mut self) -> Changed {
        std::mem::take(&mut self.changed)
    }

    fn pen<'a>(&'a mut self, site: &'a SiteName) -> Result<Pen<'a>, UnknownSite> {
        let view = self.sites.get_mut(site).ok_or_else(|| UnknownSite(site.clone()))?;
        self.undo.keep(site, Some(view));
        Ok(Pen::new(site, view, &mut self.names, &mut self.changed))
    }
}
