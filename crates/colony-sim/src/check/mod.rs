//! The invariants, checked after every step of everybody.
//!
//! - no transition outside the table, none that starts elsewhere than it says;
//! - nothing is under way on a node that is offline;
//! - the log has no gap and no change, also over crashes;
//! - never more nodes down by our own action than the strategy allows;
//! - manifest versions never go back, and one version has one content;
//! - only a revision's own fault, or an operator, quarantines it;
//! - only a look at the engine makes a workload INSTALLED;
//! - a node removes no deployment that it is to run, and forgets no report;
//! - a workload that is well and wanted is not stopped by us;
//! - no acknowledged event is lost, also over backups, as long as somebody has it;
//! - an order of CO's that is said to be executed was executed;
//! - a site places, removes and restarts what a plan of the commit lists;
//! - what is not final has a specific `why` (also asked at random moments, in
//!   `ask.rs`, of the sites and of CO).

mod central;
mod log;
mod node;
mod plan;
mod site;

use std::collections::{BTreeMap, BTreeSet};

use colony_core::event::{Incarnation, Log};
use colony_core::id::{DeploymentId, PlacementId, SiteName};
use colony_core::site::Action;
use colony_core::state::State;
use colony_margo::Digest;

use crate::central::Stored;

/// What the invariants need to remember.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    states: BTreeMap<(usize, PlacementId), State>,
    /// Whose attempt runs beside what was there.
    beside: BTreeSet<(usize, PlacementId)>,
    /// The deployments of a step in which a staged revision was replaced.
    replaced: Vec<DeploymentId>,
    logs: BTreeMap<usize, Log>,
    /// The newest manifest each node was served, by each LO.
    served: BTreeMap<(usize, usize), (u64, Digest)>,
    accepted: BTreeMap<usize, u64>,
    /// How many events of each log CO has acknowledged.
    acknowledged: BTreeMap<(SiteName, Incarnation), usize>,
    /// What the sites did for which of CO's orders.
    orders: BTreeMap<(usize, u64), Action>,
}

/// What CO has stored, by log.
type Logs = BTreeMap<(SiteName, Incarnation), Stored>;

impl Checker {
    /// A new LO of the site starts from what CO told it.
    pub(crate) fn begin(&mut self, site: usize, log: Log, states: BTreeMap<PlacementId, State>) {
        self.served.retain(|key, _| key.0 != site);
        self.states.retain(|key, _| key.0 != site);
        self.beside.retain(|key| key.0 != site);
        self.states.extend(states.into_iter().map(|(id, state)| ((site, id), state)));
        self.logs.insert(site, log);
    }

    /// The LO of `site` is known as `ghost` from here on.
    pub(crate) fn haunts(&mut self, site: usize, ghost: usize) {
        let old = std::mem::take(&mut self.states);
        let rename = |((it, id), state)| ((if it == site { ghost } else { it }, id), state);
        self.states = old.into_iter().map(rename).collect();
        self.logs.extend(self.logs.get(&site).cloned().map(|it| (ghost, it)));
    }

    /// What CO lacks of the log of an LO that is replaced is lost with it.
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

    /// A log of which CO has less than it acknowledged.
    pub(crate) fn lost_events(&self, stored: &Logs) -> Option<String> {
        let there = |key| stored.get(key).map_or(0, Vec::len);
        let lost = self.acknowledged.iter().find(|(key, count)| there(key) < **count)?;
        let ((site, incarnation), count) = lost;
        let there = there(lost.0);
        Some(format!(
            "CO has {there} of {count} events of incarnation {incarnation} of {site} that it acknowledged"
        ))
    }

    /// What an LO served a node last.
    pub(crate) fn served(&self, site: usize, node: usize) -> Option<(u64, Digest)> {
        self.served.get(&(site, node)).copied()
    }

    pub(crate) fn executed(&mut self, site: usize, number: u64, action: Action) {
        self.orders.insert((site, number), action);
    }

    /// The site forgets a device that is gone for good, with its versions.
    pub(crate) fn retired(&mut self, node: usize) {
        self.forget_node(node);
        self.served.retain(|key, _| key.1 != node);
    }

    /// The node lost its memory, so nothing it accepted before counts.
    pub(crate) fn forget_node(&mut self, node: usize) {
        self.accepted.remove(&node);
    }
}
