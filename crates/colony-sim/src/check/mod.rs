//! The invariants, checked after every step of every role.
//!
//! - no transition outside the table, and each starts from the recorded state;
//! - no attempt is in progress on a node that is offline;
//! - the log has no gap and no change, also over crashes;
//! - never more nodes down by our own action than the strategy allows;
//! - manifest versions never decrease, and one version has one content;
//! - only a revision's own fault, or an operator, quarantines it;
//! - only an observation of the engine makes a workload INSTALLED;
//! - a node removes no deployment that it is to run, and forgets no report;
//! - a volume is removed only if Git says so, and is gone when the site says so;
//! - colony does not stop a workload that is healthy and wanted;
//! - no acknowledged event is lost, also over backups, while a live LO has it;
//! - a command of CO that is reported as executed was executed;
//! - a site places, removes and restarts what a plan of the commit lists;
//! - a state that is not final has a specific `why` (also checked at random
//!   moments, in `ask.rs`, at the sites and at CO).

mod answers;
mod ask;
mod central;
mod label;
mod log;
mod node;
mod plan;
mod reckoning;
mod site;
pub(crate) mod strategy;

use std::collections::{BTreeMap, BTreeSet};

use colony_core::event::{Incarnation, Log};
use colony_core::id::{DeploymentId, PlacementId, SiteName};
use colony_core::margo::Digest;
use colony_core::site::Action;
use colony_core::state::State;

use colony_world::Stored;

pub(crate) use plan::ExpectedPlan;

/// The history that the invariants need.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    states: BTreeMap<(usize, PlacementId), State>,
    /// Placements whose attempt runs beside the active version.
    staged: BTreeSet<(usize, PlacementId)>,
    /// The deployments of a step in which a staged revision was replaced.
    replaced: Vec<DeploymentId>,
    logs: BTreeMap<usize, Log>,
    /// The newest manifest each node was served, by each LO.
    served: BTreeMap<(usize, usize), (u64, Digest)>,
    accepted: BTreeMap<usize, u64>,
    /// How many events of each log CO has acknowledged.
    acknowledged: BTreeMap<(SiteName, Incarnation), usize>,
    /// The actions that the sites executed, by the number of CO's command.
    orders: BTreeMap<(usize, u64), Action>,
}

/// The events that CO has stored, by log.
type Logs = BTreeMap<(SiteName, Incarnation), Stored>;

impl Checker {
    /// A fresh LO of the site starts from the seed of CO.
    pub(crate) fn begin(&mut self, site: usize, log: Log, states: BTreeMap<PlacementId, State>) {
        self.served.retain(|key, _| key.0 != site);
        self.states.retain(|key, _| key.0 != site);
        self.staged.retain(|key| key.0 != site);
        self.states.extend(states.into_iter().map(|(id, state)| ((site, id), state)));
        self.logs.insert(site, log);
    }

    /// The replaced LO of `site` continues as `ghost`.
    pub(crate) fn haunts(&mut self, site: usize, ghost: usize) {
        let old = std::mem::take(&mut self.states);
        let rename = |((it, id), state)| ((if it == site { ghost } else { it }, id), state);
        self.states = old.into_iter().map(rename).collect();
        self.logs.extend(self.logs.get(&site).cloned().map(|it| (ghost, it)));
    }

    /// Events of a replaced LO that CO lacks are lost with it.
    pub(crate) fn successor(&mut self, name: &SiteName, incarnation: Incarnation, stored: &Logs) {
        let key = (name.clone(), incarnation);
        let there = stored.get(&key).map_or(0, Vec::len);
        self.acknowledged.entry(key).and_modify(|it| *it = there.min(*it));
    }

    /// Only the logs of `alive` can be sent again to a CO that has `stored`.
    pub(crate) fn forgive(&mut self, alive: &BTreeSet<(SiteName, Incarnation)>, stored: &Logs) {
        for (key, count) in &mut self.acknowledged {
            if !alive.contains(key) {
                *count = stored.get(key).map_or(0, Vec::len).min(*count);
            }
        }
    }

    /// A log of which CO has fewer events than it acknowledged.
    pub(crate) fn lost_events(&self, stored: &Logs) -> Option<String> {
        let there = |key| stored.get(key).map_or(0, Vec::len);
        let lost = self.acknowledged.iter().find(|(key, count)| there(key) < **count)?;
        let ((site, incarnation), count) = lost;
        let there = there(lost.0);
        Some(format!(
            "CO has {there} of {count} events of incarnation {incarnation} of {site} that it acknowledged"
        ))
    }

    /// The last manifest that an LO served to a node.
    pub(crate) fn served(&self, site: usize, node: usize) -> Option<(u64, Digest)> {
        self.served.get(&(site, node)).copied()
    }

    pub(crate) fn executed(&mut self, site: usize, number: u64, action: Action) {
        self.orders.insert((site, number), action);
    }

    /// The site forgets a retired device, with its manifest versions.
    pub(crate) fn retired(&mut self, node: usize) {
        self.forget_node(node);
        self.served.retain(|key, _| key.1 != node);
    }

    /// The node was reinstalled, so the versions it accepted before do not
    /// count.
    pub(crate) fn forget_node(&mut self, node: usize) {
        self.accepted.remove(&node);
    }
}
