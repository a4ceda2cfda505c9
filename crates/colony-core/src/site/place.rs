//! Which nodes a deployment runs on.
//!
//! Placements are sticky: a node that has the deployment keeps it as long as
//! it is meant by the target and the selector. Losing eligibility later is a
//! finding for `why`, not an eviction.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use crate::document::{Document, Target};
use crate::id::{DeploymentId, NodeName};
use crate::site::turn::Turn;
use crate::site::{Deployment, Member, Site};

/// Whether a node is offline, how much is placed on it, and its index.
type Ranking = BinaryHeap<Reverse<(bool, usize, usize)>>;

/// Why a node does not get a deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The target names another node.
    NotNamed,
    /// A label is missing or has another value.
    Label {
        key: String,
        wanted: String,
    },
    NoCapabilities,
    ProfileType(String),
    Constraints(Vec<String>),
    Cordoned,
}

impl Unfit {
    /// The deployment's file excludes the node, whatever the node is like.
    fn is_choice(&self) -> bool {
        matches!(self, Unfit::NotNamed | Unfit::Label { .. })
    }
}

impl Site {
    /// Whether `member` may get `document`, and all that speaks against it.
    pub(crate) fn fitness(&self, document: &Document, member: &Member) -> Result<(), Unfit> {
        if let Target::Node(node) = &document.target
            && *node != member.name
        {
            return Err(Unfit::NotNamed);
        }
        let Some(capabilities) = member.capabilities() else { return Err(Unfit::NoCapabilities) };
        for (key, wanted) in &document.settings.selector {
            let label = capabilities.labels().get(key);
            if !label.is_some_and(|it| label_is(it, wanted)) {
                return Err(Unfit::Label { key: key.clone(), wanted: wanted.clone() });
            }
        }
        let profile = &document.spec.spec.profile;
        if !capabilities.supports(&profile.kind) {
            return Err(Unfit::ProfileType(profile.kind.clone()));
        }
        let constraints = profile.constraints.as_ref();
        constraints
            .map_or(Ok(()), |it| it.evaluate(capabilities))
            .map_err(|it| Unfit::Constraints(it.iter().map(ToString::to_string).collect()))?;
        if member.cordoned { Err(Unfit::Cordoned) } else { Ok(()) }
    }

    /// The nodes `deployment` should run on from here on.
    fn choose(&self, deployment: &Deployment) -> BTreeSet<NodeName> {
        let Some(document) = deployment.policy() else { return deployment.nodes.clone() };
        let wanted = document.settings.replicas.map_or(usize::MAX, |it| it as usize);
        let kept = deployment.nodes.iter().filter_map(|it| self.members.get(it));
        let mut kept: Vec<&Member> = kept.filter(|it| self.is_meant(document, it)).collect();
        kept.sort_by_key(|it| self.attachment(deployment, it));
        let missing = wanted.saturating_sub(kept.len());
        let free = self.free(document, deployment).take(missing);
        kept.into_iter().take(wanted).chain(free).map(|it| it.name.clone()).collect()
    }

    /// Other nodes that may get it, the best first. Whether a node fits is
    /// asked only of as many as are taken.
    fn free<'a>(
        &'a self,
        document: &'a Document,
        deployment: &'a Deployment,
    ) -> impl Iterator<Item = &'a Member> {
        let mut ranked: Option<(Vec<&Member>, Ranking)> = None;
        let next = move || {
            let (members, heap) = ranked.get_or_insert_with(|| self.ranked(deployment));
            heap.pop().and_then(|Reverse((_, _, it))| members.get(it).copied())
        };
        let members = std::iter::from_fn(next);
        members.filter(|it| self.fitness(document, it).is_ok())
    }

    /// The members that do not have it, by name, and a heap that gives their
    /// indices: those online first, then those with the least placed on them.
    fn ranked(&self, deployment: &Deployment) -> (Vec<&Member>, Ranking) {
        let others = self.members.values().filter(|it| !deployment.nodes.contains(&it.name));
        let others: Vec<&Member> = others.collect();
        let rank = |(at, it): (usize, &&Member)| Reverse((!it.is_online(), it.placed.len(), at));
        let ranking = others.iter().enumerate().map(rank).collect();
        (others, ranking)
    }

    /// The deployment's file does not exclude the node.
    fn is_meant(&self, document: &Document, member: &Member) -> bool {
        self.fitness(document, member).err().is_none_or(|it| !it.is_choice())
    }

    /// Who keeps its placement first when replicas are taken away.
    fn attachment(&self, deployment: &Deployment, member: &Member) -> (bool, bool, NodeName) {
        let settled = deployment.lanes.settled.contains(&member.name);
        (!settled, !member.is_online(), member.name.clone())
    }
}

pub(super) fn label_is(label: &serde_json::Value, wanted: &str) -> bool {
    match label {
        serde_json::Value::String(text) => text == wanted,
        serde_json::Value::Array(items) => items.iter().any(|it| label_is(it, wanted)),
        serde_json::Value::Bool(value) => wanted.parse() == Ok(*value),
        serde_json::Value::Number(value) => *value.to_string() == *wanted,
        serde_json::Value::Null | serde_json::Value::Object(_) => false,
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
