//! The brain of the central orchestrator's projection: what every site said.
//!
//! `Fleet::apply` takes a batch of one site's log and answers with what was
//! fresh, the rows to write and what CO has to do about it; the shell persists
//! rows and events in one transaction and then answers the LO. Every other
//! change marks its rows for `take_changed`. CO never guesses a state: only an
//! event of the site moves a placement, whether or not the table allows it.
//!
//! Left out on purpose: the events themselves and their fleet-wide positions
//! (the store keeps them), Git (the shell writes it), and why a placement
//! waits inside its site (the LO knows).

mod batch;
mod cause;
mod changed;
mod command;
mod delete;
mod deployment;
mod effect;
mod fold;
mod join;
mod moving;
mod order_state;
mod pen;
mod rollout;
mod row;
mod seed;
mod sentence;
mod standing;
mod tally;
mod target;
mod verdict;
mod view;
mod why;

use std::collections::{BTreeMap, BTreeSet};

pub use batch::{Applied, BATCH_LIMIT, BatchRefusal, RECENT_LIMIT};
pub use cause::{FleetCause, Owner};
pub use changed::{Changed, RowKey};
pub use effect::{Effect, Revert, RevertDecision, RevertSkip, revert_decision};
pub use join::{HEARD_RECENTLY, JoinRefusal};
pub use moving::Flag;
pub use order_state::ReportedSite;
pub use rollout::RolloutView;
pub use row::{Row, RowBody};
pub use seed::{LeftOut, Seeded};
pub use standing::Standing;
pub use tally::Share;
pub use target::Target;
pub use view::{
    Archive, DeploymentView, Head, HeldHistory, HeldRemoval, Holds, NodeView, PlacementView,
    RolledBack, RunningLost, SiteView,
};
pub use why::{LO_SILENT, Why};

use crate::id::{DeploymentName, SiteName};
use pen::Pen;

/// Everything the central orchestrator knows of its sites.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fleet {
    sites: BTreeMap<SiteName, SiteView>,
    /// The sites where something of that name is or is to be: rebuilt.
    names: BTreeMap<DeploymentName, BTreeSet<SiteName>>,
    /// Rows that differ from what was last taken to be persisted.
    changed: Changed,
}

/// A site nobody has added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("site `{0}` does not exist")]
pub struct UnknownSite(pub SiteName);

impl Fleet {
    pub fn new() -> Fleet {
        Fleet::default()
    }

    pub fn sites(&self) -> impl Iterator<Item = (&SiteName, &SiteView)> {
        self.sites.iter()
    }

    pub fn site(&self, site: &SiteName) -> Option<&SiteView> {
        self.sites.get(site)
    }

    /// The names of all deployments that are somewhere, or are to be.
    pub fn deployment_names(&self) -> impl Iterator<Item = &DeploymentName> {
        self.names.keys()
    }

    /// The sites where a deployment is, or is to be.
    pub fn sites_of(&self, name: &DeploymentName) -> impl Iterator<Item = (&SiteName, &SiteView)> {
        let sites = self.names.get(name).into_iter().flatten();
        sites.filter_map(|it| self.sites.get_key_value(it))
    }

    /// The rows that changed since this was last asked.
    #[must_use = "changed rows must be persisted"]
    pub fn take_changed(&mut self) -> Changed {
        std::mem::take(&mut self.changed)
    }

    fn pen<'a>(&'a mut self, site: &'a SiteName) -> Result<Pen<'a>, UnknownSite> {
        let view = self.sites.get_mut(site).ok_or_else(|| UnknownSite(site.clone()))?;
        Ok(Pen::new(site, view, &mut self.names, &mut self.changed))
    }
}
