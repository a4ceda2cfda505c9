//! How a revision spreads at a site: which nodes go first, and what follows.

use std::time::Duration;

use super::site::DocumentPlanner;
use super::{Plan, PlanAction, PlanStep, PlanTarget};
use crate::choice;
use crate::document::{BlueGreen, Canary, Gate, Promote, Strategy, Subset};
use crate::id::NodeName;
use crate::state::State;

/// Adds the steps of a canary or of blue-green; other strategies have one step.
pub(super) fn add_to(plan: &mut Plan, site: &DocumentPlanner<'_>, targets: &[PlanTarget]) {
    let workload = site.document.revision.workload;
    // A rollout of the same workload continues in its current step.
    let is_new = site.deployment.is_none_or(|it| it.accepted.workload != workload);
    let last_converged = site.deployment.and_then(|it| it.last_converged.as_ref());
    if !is_new || last_converged.is_some_and(|it| it.workload == workload) {
        return;
    }
    let spread = Spread::new(site, targets);
    let steps = match &site.document.settings.strategy {
        Strategy::Canary(canary) => spread.canary(canary),
        Strategy::BlueGreen(blue_green) => spread.blue_green(blue_green),
        Strategy::Rolling { .. } | Strategy::AllAtOnce => Vec::new(),
    };
    plan.steps.extend(steps);
}

struct Spread<'a> {
    site: &'a DocumentPlanner<'a>,
    /// The nodes that get the revision, in the order of the site's queues.
    queue: Vec<&'a NodeName>,
    /// All nodes of the deployment.
    total: usize,
}

impl<'a> Spread<'a> {
    fn new(site: &'a DocumentPlanner<'a>, targets: &'a [PlanTarget]) -> Spread<'a> {
        let begins = |it: &&PlanTarget| {
            matches!(it.action, PlanAction::Create | PlanAction::Update | PlanAction::Restart)
        };
        let leaves = |it: &PlanTarget| it.action == PlanAction::Remove;
        let mut queue: Vec<&NodeName> =
            targets.iter().filter(begins).filter_map(|it| it.node.as_ref()).collect();
        queue.sort_by_key(|it| (site.queue_of(it), *it));
        let total = targets.iter().filter(|it| it.node.is_some() && !leaves(it)).count();
        Spread { site, queue, total }
    }

    fn canary(&self, canary: &Canary) -> Vec<PlanStep> {
        let first = match &canary.first {
            Subset::Share(share) => self.queue.iter().take(share.of(self.total) as usize).copied(),
            Subset::Labels(_) => self.queue.iter().take(self.queue.len()).copied(),
        };
        let first: Vec<&NodeName> = match &canary.first {
            Subset::Share(_) => first.collect(),
            Subset::Labels(labels) => first.filter(|it| self.site.has_labels(it, labels)).collect(),
        };
        let rest = self.queue.iter().filter(|it| !first.contains(it)).copied();
        let order: Vec<&NodeName> = first.iter().copied().chain(rest).collect();
        let between = canary.steps.iter().map(|it| it.of(self.total) as usize);
        let mut steps: Vec<PlanStep> = Vec::new();
        let mut done = 0;
        let last = canary.steps.len() + 1;
        let sizes = [first.len()].into_iter().chain(between).chain([order.len()]);
        for (index, size) in sizes.enumerate() {
            let size = size.min(order.len());
            // The site skips a step that allows no further node.
            if size <= done && !(steps.is_empty() && first.is_empty()) {
                continue;
            }
            let gate = Some(canary.gate).filter(|_| index < last);
            let text = self.canary_text(size, gate);
            steps.push(self.step(steps.len(), &order[done..size], text));
            done = size;
        }
        steps
    }

    /// When all nodes have the revision, a promotion would allow no further
    /// node: the site only soaks.
    fn canary_text(&self, size: usize, gate: Option<Gate>) -> String {
        let of = self.total;
        match gate {
            _ if size == 0 => "waits for a node with the canary's labels".to_owned(),
            None => "all nodes".to_owned(),
            Some(gate) if size < of => format!("{size} of {of} nodes, then {}", self.gate(gate)),
            Some(gate) if gate.soak.is_zero() => "all nodes".to_owned(),
            Some(gate) => {
                let alone = Gate { promote: Promote::Auto, ..gate };
                format!("all nodes, then {}", self.gate(alone))
            }
        }
    }

    /// Without an active version there is nothing to stage beside: one step.
    fn blue_green(&self, it: &BlueGreen) -> Vec<PlanStep> {
        let beside = |node: &&&NodeName| self.site.runs(node);
        let staged: Vec<&NodeName> = self.queue.iter().filter(beside).copied().collect();
        if staged.is_empty() {
            return Vec::new();
        }
        let text = format!("staged beside the version that runs, then {}", self.gate(it.gate));
        let first = self.step(0, &staged, text);
        let last = self.step(1, &self.queue, "takes over".to_owned());
        vec![first, last]
    }

    fn gate(&self, gate: Gate) -> String {
        let soak = match gate.soak {
            Duration::ZERO => String::new(),
            soak => format!("soaks for {}", crate::time::HumanDuration(soak)),
        };
        let name = self.site.planner.name;
        match (gate.promote, soak.is_empty()) {
            (Promote::Auto, true) => "the next step".to_owned(),
            (Promote::Auto, false) => soak,
            (Promote::Manual, true) => format!("waits for `colony deployment promote {name}`"),
            (Promote::Manual, false) => {
                format!("{soak} and waits for `colony deployment promote {name}`")
            }
        }
    }

    fn step(&self, index: usize, nodes: &[&NodeName], text: String) -> PlanStep {
        PlanStep {
            site: self.site.planner.site.clone(),
            step: u32::try_from(index + 1).unwrap_or(u32::MAX),
            nodes: nodes.iter().map(|it| (*it).clone()).collect(),
            text,
        }
    }
}

impl DocumentPlanner<'_> {
    fn state(&self, node: &NodeName) -> Option<State> {
        let placed = self.planner.snapshot.view.placements.get(&self.deployment?.id)?;
        placed.get(node).map(|it| it.state)
    }

    /// Nodes in progress come first, then failed ones, then the rest.
    fn queue_of(&self, node: &NodeName) -> u8 {
        match self.state(node) {
            Some(State::Installing | State::Updating | State::RollingBack | State::Unknown(_)) => 0,
            Some(State::Failed(_)) => 1,
            Some(State::Pending | State::Installed | State::Deleting | State::Deleted) | None => 2,
        }
    }

    fn runs(&self, node: &NodeName) -> bool {
        self.state(node) == Some(State::Installed)
    }

    fn has_labels(
        &self,
        node: &NodeName,
        labels: &std::collections::BTreeMap<String, String>,
    ) -> bool {
        let node = self.planner.snapshot.view.nodes.get(node);
        choice::has_labels(node.and_then(|it| it.capabilities.as_ref()), labels)
    }
}
