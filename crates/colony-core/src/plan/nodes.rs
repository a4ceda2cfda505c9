//! The nodes of a site as its reports describe them, for the choice.

use std::collections::{BTreeMap, BTreeSet};

use colony_margo::Digest;

use crate::choice::{Candidate, Candidates};
use crate::fleet::{DeploymentView, NodeView, PlacementView, SiteView};
use crate::id::NodeName;
use crate::state::State;

/// The nodes of a site as one deployment sees them.
pub(super) struct ReportedNodes<'a> {
    view: &'a SiteView,
    deployment: Option<&'a DeploymentView>,
    /// How many deployments are on each node.
    placed: BTreeMap<&'a NodeName, usize>,
}

impl<'a> ReportedNodes<'a> {
    pub(super) fn new(
        view: &'a SiteView,
        deployment: Option<&'a DeploymentView>,
    ) -> ReportedNodes<'a> {
        let mut placed: BTreeMap<&NodeName, usize> = BTreeMap::new();
        for node in view.placements.values().flat_map(|it| it.keys()) {
            *placed.entry(node).or_default() += 1;
        }
        ReportedNodes { view, deployment, placed }
    }

    fn of(&self, name: &'a NodeName, node: &'a NodeView) -> Candidate<'a> {
        Candidate {
            name,
            online: node.is_online(),
            cordoned: node.cordoned,
            capabilities: node.capabilities.as_ref(),
            placed: self.placed.get(name).copied().unwrap_or(0),
            settled: self.is_settled(name),
        }
    }

    /// The node runs what the site wants at the moment, before the change.
    fn is_settled(&self, node: &NodeName) -> bool {
        let Some(deployment) = self.deployment.filter(|it| !it.withdrawn) else { return false };
        let Some(placement) = placement(self.view, deployment, node) else { return false };
        let wanted = deployment.workload_wanted(deployment.accepted.workload, placement);
        placement.state == State::Installed && target(placement) == wanted
    }
}

impl Candidates for ReportedNodes<'_> {
    fn candidate(&self, node: &NodeName) -> Option<Candidate<'_>> {
        self.view.nodes.get_key_value(node).map(|(name, node)| self.of(name, node))
    }

    fn candidates(&self) -> impl Iterator<Item = Candidate<'_>> {
        self.view.nodes.iter().map(|(name, node)| self.of(name, node))
    }
}

pub(super) fn placement<'a>(
    view: &'a SiteView,
    deployment: &DeploymentView,
    node: &NodeName,
) -> Option<&'a PlacementView> {
    view.placements.get(&deployment.id)?.get(node)
}

/// What the node is to run.
pub(super) fn target(placement: &PlacementView) -> Option<Digest> {
    placement.revisions.target.as_ref().map(|it| it.workload)
}

/// The nodes a site has selected for a deployment. Nodes of a deployment that
/// is being removed stay selected, in case its file comes back.
pub(super) fn current(view: &SiteView, deployment: &DeploymentView) -> BTreeSet<NodeName> {
    let placed = view.placements_of(&deployment.id);
    let chosen = placed.filter(|it| deployment.withdrawn || !it.state.is_leaving());
    chosen.map(|it| it.id.node.clone()).collect()
}

impl DeploymentView {
    /// What runs at the site while Git holds `workload`: the last converged
    /// revision takes the place of a quarantined one.
    pub(super) fn workload_effective(&self, workload: Digest) -> Option<Digest> {
        if !self.quarantine.contains_key(&workload) {
            return Some(workload);
        }
        let fallback = self.last_converged.as_ref().map(|it| it.workload);
        fallback.filter(|it| !self.quarantine.contains_key(it))
    }

    /// The same for the node of a placement, which may have given up the
    /// revision.
    pub(super) fn workload_wanted(
        &self,
        workload: Digest,
        placement: &PlacementView,
    ) -> Option<Digest> {
        let effective = self.workload_effective(workload)?;
        let rejected = self.rejected.get(&placement.id.node);
        if rejected.is_none_or(|it| it.workload != effective) {
            return Some(effective);
        }
        let last_good = placement.revisions.last_good.as_ref().map(|it| it.workload);
        last_good.filter(|it| *it != effective)
    }
}
