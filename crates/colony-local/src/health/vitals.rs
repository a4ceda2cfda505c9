//! The last health report of each node: readiness, and image pulls.
//!
//! Valid only while the node is online: kept in memory alone, and requested
//! again after a start.

use std::collections::BTreeMap;
use std::sync::Arc;

use colony_api::site::PullHealth;
use colony_core::id::NodeName;
use colony_core::site::Site;
use colony_wfm::{NodeReport, PullView};
use parking_lot::Mutex;

/// The last report of each node; cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Vitals(Arc<Mutex<BTreeMap<NodeName, NodeReport>>>);

impl Vitals {
    /// Stores a report; `true` if it differs from the last.
    pub(crate) fn put(&self, node: &NodeName, report: NodeReport) -> bool {
        let mut reports = self.0.lock();
        if reports.get(node) == Some(&report) {
            return false;
        }
        reports.insert(node.clone(), report);
        true
    }

    /// Whether the node has sent a report.
    pub(crate) fn has(&self, node: &NodeName) -> bool {
        self.0.lock().contains_key(node)
    }

    /// Whether the node is ready, and why not; unknown while the node is
    /// offline.
    pub(crate) fn readiness(&self, site: &Site, node: &NodeName) -> (Option<bool>, Vec<String>) {
        match self.of(site, node) {
            Some(it) => (Some(it.ready), it.reasons),
            None => (None, Vec::new()),
        }
    }

    /// Nodes that are online and report that they are not ready.
    pub(crate) fn unready(&self, site: &Site) -> BTreeMap<NodeName, Vec<String>> {
        let reports = self.0.lock();
        let unready = reports.iter().filter(|it| !it.1.ready);
        let heard = unready.filter(|it| site.site_node(it.0).is_some_and(|it| it.is_online()));
        heard.map(|(node, it)| (node.clone(), it.reasons.clone())).collect()
    }

    /// The image pulls of the node.
    pub(crate) fn pulls(&self, site: &Site, node: &NodeName) -> Vec<PullHealth> {
        let progress = self.of(site, node).map(|it| it.progress).unwrap_or_default();
        progress.into_iter().map(pull).collect()
    }

    /// Forgets nodes that have left.
    pub(crate) fn forget(&self, site: &Site) {
        self.0.lock().retain(|node, _| site.site_node(node).is_some());
    }

    fn of(&self, site: &Site, node: &NodeName) -> Option<NodeReport> {
        site.site_node(node).filter(|it| it.is_online())?;
        self.0.lock().get(node).cloned()
    }
}

fn pull(it: PullView) -> PullHealth {
    let PullView { deployment, done_bytes, total_bytes } = it;
    PullHealth { deployment, done_bytes, total_bytes }
}
