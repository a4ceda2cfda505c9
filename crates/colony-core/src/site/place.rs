//! Which nodes of the site a deployment runs on; `choice` has the rule.

use std::collections::BTreeSet;

use crate::choice::{self, Candidate, Candidates, Unfit};
use crate::document::Document;
use crate::id::{DeploymentId, NodeName};
use crate::site::turn::Turn;
use crate::site::{Deployment, Member, Site};

/// The nodes of a site as one deployment sees them.
struct SiteNodes<'a> {
    site: &'a Site,
    deployment: &'a Deployment,
}

impl Candidates for SiteNodes<'_> {
    fn candidate(&self, node: &NodeName) -> Option<Candidate<'_>> {
        let member = self.site.members.get(node)?;
        let settled = self.deployment.lanes.settled.contains(node);
        Some(Candidate { settled, ..member.candidate() })
    }

    fn candidates(&self) -> impl Iterator<Item = Candidate<'_>> {
        self.site.members.values().map(Member::candidate)
    }
}

impl Member {
    /// The node, apart from what it runs of a certain deployment.
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
    /// Whether `member` may get `document`, or what speaks against it.
    pub(crate) fn fitness(&self, document: &Document, member: &Member) -> Result<(), Unfit> {
        choice::fitness(document, &member.candidate())
    }

    /// The nodes `deployment` should run on from here on.
    fn choose(&self, deployment: &Deployment) -> BTreeSet<NodeName> {
        let Some(document) = deployment.policy() else { return deployment.nodes.clone() };
        let nodes = SiteNodes { site: self, deployment };
        choice::choose(document, &deployment.nodes, &nodes).nodes()
    }
}

impl Turn<'_> {
    /// Chooses the nodes of a deployment again, and places what is missing.
    pub(super) fn plan(&mut self, id: &DeploymentId) {
        let Some(deployment) = self.site.deployments.get(id) else { return };
        let nodes = self.site.choose(deployment);
        self.set_nodes(id, nodes);
        self.place_missing(id);
        self.reclassify_all(id);
    }

    fn set_nodes(&mut self, id: &DeploymentId, nodes: BTreeSet<NodeName>) {
        let Some(deployment) = self.site.deployments.get_mut(id) else { return };
        if deployment.nodes != nodes {
            deployment.nodes = nodes;
            self.touch(id);
        }
    }

    /// Places the deployment on every chosen node that should run something.
    pub(super) fn place_missing(&mut self, id: &DeploymentId) {
        let Some(deployment) = self.site.deployments.get(id) else { return };
        let missing = deployment.nodes.iter().filter(|node| {
            !deployment.placed.contains(*node) && deployment.want(node, None).is_some()
        });
        for node in missing.cloned().collect::<Vec<_>>() {
            self.place(id, &node);
        }
    }

    /// A node changed: deployments that may use it look again.
    pub(super) fn plan_for_node(&mut self, node: &NodeName) {
        let Some(member) = self.site.members.get(node) else { return };
        let may_use = |it: &&Deployment| {
            let fits = it.policy().is_some_and(|doc| self.site.fitness(doc, member).is_ok());
            !it.withdrawn && (fits || it.nodes.contains(node))
        };
        let all: Vec<DeploymentId> =
            self.site.deployments.values().filter(may_use).map(|it| it.id.clone()).collect();
        for id in all {
            self.plan(&id);
        }
    }
}
