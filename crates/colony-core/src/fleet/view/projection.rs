//! A site's own state as the view that the fleet has of it.
//!
//! The central orchestrator folds the site's events into a `SiteView`; the site
//! builds the same view from its state. The two are equal in every field that a
//! site can know (`tests/fleet_core`, and after every step of a simulation).
//! Only the central orchestrator knows targets, open commands, archives, and
//! the time of the site's last request.

use std::collections::BTreeMap;

use crate::fleet::view::{DeploymentView, Head, Holds, NodeView, PlacementView, SiteView};
use crate::site::{Deployment, Placement, Site, SiteNode};
use crate::time::Now;

impl Site {
    /// The site as the central orchestrator sees it once it has all events.
    pub fn view(&self, now: Now) -> SiteView {
        let mut view = SiteView {
            head: self.head_view(now),
            holds: Holds {
                holds: self.holds().clone(),
                removal: self.held_removal().cloned(),
                history: self.held_history().cloned(),
            },
            files: self.refused_files().clone(),
            nodes: self.site_nodes().map(|it| (it.name.clone(), node_view(it))).collect(),
            ..SiteView::default()
        };
        for deployment in self.deployments() {
            let (id, name) = (deployment.id.clone(), deployment.name.clone());
            view.names.entry(name).or_default().insert(id.clone());
            view.deployments.insert(id, deployment_view(deployment, now));
        }
        for placement in self.placements() {
            let nodes: &mut BTreeMap<_, _> =
                view.placements.entry(placement.id.deployment.clone()).or_default();
            nodes.insert(placement.id.node.clone(), placement_view(placement));
        }
        view
    }

    fn head_view(&self, now: Now) -> Head {
        Head {
            log: Some(self.log().clone()),
            last_heard: Some(now.wall),
            git: self.git().cloned(),
            ready: self.is_ready() || self.fenced_by().is_some(),
            commands_done: self.commands_done(),
            ..Head::default()
        }
    }
}

fn placement_view(placement: &Placement) -> PlacementView {
    PlacementView {
        id: placement.id.clone(),
        state: placement.state(),
        since: placement.since,
        attempt: placement.attempt_number(),
        revisions: placement.revisions.clone(),
        failure: placement.failure_in_last_event().cloned(),
        retry: placement.retry_in_last_event(),
        staged: placement.staging().target_is_staged(),
        running: placement.active_failure().cloned(),
        flagged: None,
    }
}

fn node_view(site_node: &SiteNode) -> NodeView {
    NodeView {
        presence: site_node.presence(),
        since: site_node.since(),
        cordoned: site_node.is_cordoned(),
        capabilities: site_node.capabilities().cloned(),
    }
}

fn deployment_view(deployment: &Deployment, now: Now) -> DeploymentView {
    DeploymentView {
        id: deployment.id.clone(),
        name: deployment.name.clone(),
        accepted: deployment.accepted().clone(),
        since: deployment.since(),
        commit: deployment.commit().cloned(),
        withdrawn: deployment.is_withdrawn(),
        last_converged: deployment.last_converged().cloned(),
        quarantine: deployment.quarantine().clone(),
        rejected: deployment.rejected().clone(),
        stopped: deployment.stopped().cloned(),
        rollout: deployment.rollout_view(now),
        rolled_back: deployment.rolled_back().cloned(),
    }
}
