//! What a node has to remove beside containers: the volumes of deployments that
//! it removes and that Git marks to be purged, and the images of those with
//! `removeImage`.
//!
//! A function of placements, marks and settings. It is kept per node, because every
//! change of it needs another version of the node's manifest. A purge ends with
//! its placement: what is forced or retired is not purged.

use std::collections::BTreeSet;

use crate::id::{DeploymentId, NodeName, PlacementId};
use crate::site::step_context::StepContext;
use crate::site::{Deployment, Offer, Placement, Site};

impl Site {
    /// The node of the placement has to remove its volumes. A placement that no
    /// node has received has none.
    fn has_to_purge(&self, id: &PlacementId) -> bool {
        let marked = self.deployments.get(&id.deployment).is_some_and(Deployment::is_purged);
        marked && self.leaves(id)
    }

    /// Only with a file that is gone: another version of it may change the
    /// setting.
    fn has_to_remove_images(&self, id: &PlacementId) -> bool {
        let set = |it: &Deployment| {
            it.withdrawn && it.policy().is_some_and(|it| it.settings.remove_image)
        };
        self.deployments.get(&id.deployment).is_some_and(set) && self.leaves(id)
    }

    fn leaves(&self, id: &PlacementId) -> bool {
        let leaves = |it: &Placement| it.may_be_on_node && it.state().is_leaving();
        self.placements.get(id).is_some_and(leaves)
    }

    /// Updates what the node has to remove; returns whether that changed for
    /// volumes and for images.
    pub(in crate::site) fn set_cleanup(&mut self, id: &PlacementId) -> (bool, bool) {
        let (purges, images) = (self.has_to_purge(id), self.has_to_remove_images(id));
        let Some(site_node) = self.site_nodes.get_mut(&id.node) else { return (false, false) };
        let set = |ids: &mut BTreeSet<DeploymentId>, there| match there {
            true => ids.insert(id.deployment.clone()),
            false => ids.remove(&id.deployment),
        };
        let cleanup = &mut site_node.cleanup;
        (set(&mut cleanup.volumes, purges), set(&mut cleanup.images, images))
    }

    /// The node is one of colony's own and was asked to remove the volumes.
    pub(in crate::site) fn purges_on(&self, node: &NodeName, deployment: &DeploymentId) -> bool {
        let site_node = self.site_nodes.get(node);
        site_node.is_some_and(|it| it.is_ours() && it.cleanup.volumes.contains(deployment))
    }

    /// Another deployment of this name whose volumes the node has to remove
    /// first: volumes belong to the name in the document. Its removal may not
    /// have begun: in one step, either of the two may come first.
    pub(in crate::site) fn purge_before(
        &self,
        node: &NodeName,
        deployment: &Deployment,
    ) -> Option<DeploymentId> {
        let name = |it: &Deployment| Some(it.policy()?.spec.metadata.name.clone());
        let own = name(deployment);
        let goes = |id: &&DeploymentId| {
            let other = self.deployments.get(id).filter(|it| it.is_purged());
            other.is_some_and(|it| it.id != deployment.id && name(it) == own)
        };
        let delivered = |id: &&DeploymentId| {
            let id = PlacementId { deployment: (*id).clone(), node: node.clone() };
            self.placements.get(&id).is_some_and(|it| it.may_be_on_node)
        };
        self.site_nodes.get(node)?.placed.iter().filter(goes).find(delivered).cloned()
    }
}

impl StepContext<'_> {
    /// Records which deployments Git marks, and no longer marks.
    pub(in crate::site) fn take_marks(
        &mut self,
        marked: &BTreeSet<DeploymentId>,
        unmarked: &BTreeSet<DeploymentId>,
    ) {
        for (ids, purge) in [(marked, true), (unmarked, false)] {
            for id in ids {
                let Some(deployment) = self.site.deployments.get_mut(id) else { continue };
                if deployment.purge != purge {
                    deployment.purge = purge;
                    self.mark_changed(id);
                    // What waits for the purge of another one may go on.
                    self.queues_to_process.extend(self.site.index.pending_work.iter().cloned());
                }
            }
        }
    }

    /// The same as `update_purge` for all placements of a deployment.
    pub(in crate::site) fn update_purges(&mut self, deployment: &DeploymentId) {
        for node in self.nodes_of(deployment) {
            self.update_purge(&PlacementId { deployment: deployment.clone(), node });
        }
    }

    /// Updates the node's set after a change of the placement or of the mark.
    /// An earlier report of the removal does not count for a purge that is
    /// new, and what waits for the end of one may go on.
    pub(in crate::site) fn update_purge(&mut self, id: &PlacementId) {
        let (volumes, images) = self.site.set_cleanup(id);
        if !volumes && !images {
            return;
        }
        let version = self.raise_version(&id.node);
        if volumes && self.site.has_to_purge(id) {
            self.withdraw_since(id, version);
        } else if volumes {
            let placed = self.site.placed_on(&id.node);
            self.queues_to_process.extend(placed.into_iter().map(|it| it.deployment));
        }
    }

    fn withdraw_since(&mut self, id: &PlacementId, version: u64) {
        let Some(placement) = self.site.placements.get_mut(id) else { return };
        if let Offer::Withdrawn { since } = &mut placement.offer {
            *since = version;
            self.out.changed.placements.insert(id.clone());
        }
    }
}
