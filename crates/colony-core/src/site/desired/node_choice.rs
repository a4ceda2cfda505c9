//! Which nodes of the site a deployment runs on; `choice` has the rule.

use std::collections::BTreeSet;

use crate::choice::{self, Candidate, Candidates, Unfit};
use crate::document::Document;
use crate::id::{DeploymentId, NodeName};
use crate::site::step_context::StepContext;
use crate::site::{Deployment, Site, SiteNode};

/// The nodes of a site as candidates for one deployment.
struct SiteNodes<'a> {
    site: &'a Site,
    deployment: &'a Deployment,
}

impl Candidates for SiteNodes<'_> {
    fn candidate(&self, node: &NodeName) -> Option<Candidate<'_>> {
        let site_node = self.site.site_nodes.get(node)?;
        let settled = self.deployment.rollout_index.up_to_date.contains(node);
        Some(Candidate { settled, ..site_node.candidate() })
    }

    fn candidates(&self) -> impl Iterator<Item = Candidate<'_>> {
        self.site.site_nodes.values().map(SiteNode::candidate)
    }
}

impl SiteNode {
    /// The node as a candidate for any deployment; the caller sets `settled`.
    fn candidate(&self) -> Candidate<'_> {
        Candidate {
            name: &self.name,
            online: self.is_online(),
            cordoned: self.cordoned,
            capabilities: self.capabilities(),
            placed: self.placed.len(),
            settled: false,
        }
    }
}

impl Site {
    /// Whether `site_node` may get `document`, or the first reason why not.
    pub(crate) fn fitness(&self, document: &Document, site_node: &SiteNode) -> Result<(), Unfit> {
        choice::fitness(document, &site_node.candidate())
    }

    /// The nodes that `deployment` should run on.
    fn choose(&self, deployment: &Deployment) -> BTreeSet<NodeName> {
        let Some(document) = deployment.policy() else { return deployment.nodes.clone() };
        let nodes = SiteNodes { site: self, deployment };
        choice::choose(document, &deployment.nodes, &nodes).nodes()
    }
}

impl StepContext<'_> {
    /// Chooses the nodes of a deployment again, and creates missing placements.
    pub(in crate::site) fn plan(&mut self, id: &DeploymentId) {
        let Some(deployment) = self.site.deployments.get(id) else { return };
        let nodes = self.site.choose(deployment);
        self.set_nodes(id, nodes);
        self.place_missing(id);
        self.update_index_of_deployment(id);
    }

    fn set_nodes(&mut self, id: &DeploymentId, nodes: BTreeSet<NodeName>) {
        let Some(deployment) = self.site.deployments.get_mut(id) else { return };
        if deployment.nodes != nodes {
            deployment.nodes = nodes;
            self.mark_changed(id);
        }
    }

    /// Places the deployment on every chosen node that should run something.
    pub(in crate::site) fn place_missing(&mut self, id: &DeploymentId) {
        let Some(deployment) = self.site.deployments.get(id) else { return };
        let missing = deployment.nodes.iter().filter(|node| {
            !deployment.placed.contains(*node) && deployment.want(node, None).is_some()
        });
        for node in missing.cloned().collect::<Vec<_>>() {
            self.create_placement(id, &node);
        }
    }

    /// Plans all deployments again that may use a changed node.
    pub(in crate::site) fn plan_for_node(&mut self, node: &NodeName) {
        let Some(site_node) = self.site.site_nodes.get(node) else { return };
        let may_use = |it: &&Deployment| {
            let fits = it.policy().is_some_and(|doc| self.site.fitness(doc, site_node).is_ok());
            !it.withdrawn && (fits || it.nodes.contains(node))
        };
        let all: Vec<DeploymentId> =
            self.site.deployments.values().filter(may_use).map(|it| it.id.clone()).collect();
        for id in all {
            self.plan(&id);
        }
    }
}
