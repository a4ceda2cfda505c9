//! Canaries that are selected by a label, and devices that gain and lose it.

use std::collections::BTreeMap;

use colony_core::document::{Strategy, Subset};
use colony_core::event::{Body, Event, Transition};
use colony_core::id::{NodeName, PlacementId};
use colony_core::site::{Deployment, Placement, Site, Step};
use colony_core::transition::Trigger;

use crate::coverage::Trial;
use crate::world::World;

type Labels = BTreeMap<String, String>;

impl World {
    /// While a step selects by label, no node without the label gets the
    /// revision.
    pub(crate) fn check_labels(&mut self, site: usize, step: &Step) {
        let core = &self.roles.sites[site].core;
        let given: Vec<(NodeName, bool)> =
            step.events.iter().filter_map(|it| given_by_label(core, it)).collect();
        for (node, has) in given {
            self.coverage.trial(Trial::LabelCanary);
            if !has {
                self.violate(format!("{node} was made a canary and lacks the label"));
            }
        }
    }

    /// Counts a change of a label that a rollout in progress selects by.
    pub(crate) fn note_label(&mut self, node: usize) {
        let device = &self.roles.nodes[node];
        let trial = if device.labelled { Trial::LabelGained } else { Trial::LabelLost };
        let mut deployments = self.roles.sites[device.site].core.deployments();
        if deployments.any(|it| it.nodes().contains(&device.name) && labels(it).is_some()) {
            self.coverage.trial(trial);
        }
    }

    /// If no node that could be the canary has the label, an operator adds it
    /// to all of them.
    pub(crate) fn label_canaries(&mut self, site: usize) {
        let core = &self.roles.sites[site].core;
        let waiting = core.deployments().filter(|it| it.is_rolling_out() && labels(it).is_some());
        let lacking: Vec<Vec<NodeName>> = waiting.map(|it| able(core, it)).collect();
        for nodes in lacking {
            let all = 0..self.roles.nodes.len();
            let able: Vec<usize> =
                all.filter(|it| nodes.contains(&self.roles.nodes[*it].name)).collect();
            if able.iter().any(|it| self.roles.nodes[*it].labelled) {
                continue;
            }
            able.into_iter().for_each(|it| self.relabel(it));
        }
    }
}

/// The labels by which the open step of a rollout selects, if it does.
fn labels(deployment: &Deployment) -> Option<&Labels> {
    let Strategy::Canary(canary) = &deployment.policy()?.settings.strategy else { return None };
    match &canary.first {
        Subset::Labels(labels)
            if deployment.rollout().step == 0 && !deployment.step_allows_all_nodes() =>
        {
            Some(labels)
        }
        Subset::Labels(_) | Subset::Share(_) => None,
    }
}

/// The nodes that neither refuse the wanted revision nor rolled back from it.
fn able(core: &Site, deployment: &Deployment) -> Vec<NodeName> {
    let refused = |node: &NodeName| {
        let id = PlacementId { deployment: deployment.id.clone(), node: node.clone() };
        core.placement(&id).is_some_and(Placement::is_refused)
    };
    let rejected = |node: &NodeName| {
        let rejected = deployment.rejected().get(node);
        rejected.is_some_and(|it| it.workload == deployment.accepted().workload)
    };
    deployment.nodes().iter().filter(|it| !refused(it) && !rejected(it)).cloned().collect()
}

/// The node that got a revision in a step with labels, and whether it has them.
fn given_by_label(core: &Site, event: &Event) -> Option<(NodeName, bool)> {
    let Body::StateTransition(it) = &event.body else { return None };
    let deployment = core.deployment(&it.deployment).filter(|_| is_begun(it))?;
    let target = it.revisions.target.as_ref().map(|it| it.workload);
    let forward = target == Some(deployment.accepted().workload);
    let labels = labels(deployment).filter(|_| forward)?;
    Some((it.node.clone(), has(core, &it.node, labels)))
}

fn is_begun(it: &Transition) -> bool {
    matches!(it.trigger, Trigger::Start | Trigger::Revised | Trigger::Superseded)
}

fn has(core: &Site, node: &NodeName, labels: &Labels) -> bool {
    let own = core.site_node(node).and_then(|it| it.capabilities()).map(|it| it.labels());
    let is = |(key, wanted): (&String, &String)| {
        own.and_then(|it| it.get(key)).is_some_and(|it| it.as_str() == Some(wanted))
    };
    labels.iter().all(is)
}
