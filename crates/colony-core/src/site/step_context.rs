//! One call of `Site::step`: fires due timers, applies the input, then processes
//! the queues of the deployments that changed.
//!
//! The steps of a rollout (`rollout/mod.rs`) are something else.

use std::collections::BTreeSet;

use crate::event::{Actor, Body};
use crate::id::{DeploymentId, NodeName, PlacementId};
use crate::site::{Input, Phase, Refused, Site, Step};
use crate::time::{Monotonic, Now};

/// How far the persisted clock may lag behind while a deadline runs.
const CLOCK_LAG: std::time::Duration = std::time::Duration::from_secs(10);

/// A call of `Site::step` in progress: the site, the time, and the output so far.
pub(super) struct StepContext<'a> {
    pub(super) site: &'a mut Site,
    pub(super) now: Now,
    pub(super) out: Step,
    /// Deployments whose queues have to be processed in this call.
    pub(super) queues_to_process: BTreeSet<DeploymentId>,
    /// Nodes whose manifest version this call has raised.
    pub(super) raised: BTreeSet<NodeName>,
    clock_before: Monotonic,
}

impl Site {
    /// Applies one input at `now`; returns the events and changes that follow.
    pub fn step(&mut self, input: Input, now: Now) -> Step {
        if let Phase::Fenced { by } = self.phase {
            return Step { refused: Some(Refused::Fenced { by }), ..Step::default() };
        }
        let mut context = StepContext::new(self, now);
        context.fire_timers();
        context.out.refused = context.apply(input).err();
        context.process_changed_queues();
        context.finish()
    }
}

impl<'a> StepContext<'a> {
    fn new(site: &'a mut Site, now: Now) -> StepContext<'a> {
        let clock_before = site.clock;
        let now = Now { mono: now.mono.max(clock_before), ..now };
        site.clock = now.mono;
        let (queues_to_process, raised) = (BTreeSet::new(), BTreeSet::new());
        StepContext { site, now, out: Step::default(), queues_to_process, raised, clock_before }
    }

    fn apply(&mut self, input: Input) -> Result<(), Refused> {
        match input {
            Input::Seed(seed) => self.seed(*seed),
            Input::Commit(commit) => self.commit(commit),
            Input::Joined(node) => self.joined(node),
            Input::Capabilities(node, capabilities) => self.capable(&node, *capabilities),
            Input::Heard { node, have } => self.record_contact(&node, have),
            Input::Status { node, status } => self.status(&node, &status),
            Input::Command(command) => self.command(command),
            Input::Fenced { by } => self.fenced(by),
            Input::Tick => Ok(()),
        }
    }

    /// Processes the queues of the deployments that this call has changed.
    fn process_changed_queues(&mut self) {
        if self.site.phase != Phase::Ready {
            return;
        }
        while let Some(deployment) = self.queues_to_process.pop_first() {
            self.process_queues(&deployment);
        }
    }

    fn finish(mut self) -> Step {
        let lag = self.now.mono.since(self.clock_before.min(self.site.index.timers.saved));
        if lag >= CLOCK_LAG && !self.site.index.timers.is_empty() {
            self.out.changed.meta = true;
        }
        if self.out.changed.meta {
            self.site.index.timers.saved = self.now.mono;
        }
        self.out.wake = self.site.index.timers.next();
        self.out
    }

    /// Appends an event to the site's log. Events are created nowhere else.
    pub(super) fn emit(&mut self, actor: Actor, body: Body) {
        let git = self.site.git.revision.clone();
        let event = self.site.log.append(self.now.wall, actor, git, body);
        self.out.changed.meta = true;
        self.out.events.push(event);
    }

    pub(super) fn ready(&self) -> Result<(), Refused> {
        match self.site.phase {
            Phase::Unseeded => Err(Refused::NotReady("what runs here is not known yet")),
            Phase::Seeded => Err(Refused::NotReady("Git is not read yet")),
            Phase::Ready => Ok(()),
            Phase::Fenced { by } => Err(Refused::Fenced { by }),
        }
    }

    pub(super) fn check_node_known(&self, node: &NodeName) -> Result<(), Refused> {
        if self.site.site_nodes.contains_key(node) {
            return Ok(());
        }
        Err(Refused::UnknownNode(node.clone()))
    }

    /// Marks a deployment as changed: its row is written and its queues are
    /// processed.
    pub(super) fn mark_changed(&mut self, deployment: &DeploymentId) {
        self.out.changed.deployments.insert(deployment.clone());
        self.queues_to_process.insert(deployment.clone());
    }

    /// The nodes with a placement of the deployment.
    pub(super) fn nodes_of(&self, deployment: &DeploymentId) -> Vec<NodeName> {
        self.site.nodes_of(deployment).cloned().collect()
    }

    /// Updates the rollout index for all placements of a deployment, because the
    /// revisions that their nodes should run may have changed.
    pub(super) fn update_index_of_deployment(&mut self, deployment: &DeploymentId) {
        for node in self.nodes_of(deployment) {
            self.update_index(&PlacementId { deployment: deployment.clone(), node });
        }
        self.queues_to_process.insert(deployment.clone());
    }

    /// The same for all placements on a node.
    pub(super) fn update_index_of_node(&mut self, node: &NodeName) {
        for id in self.site.placed_on(node) {
            self.update_index(&id);
            self.queues_to_process.insert(id.deployment);
        }
    }
}

impl Site {
    pub(super) fn nodes_of(&self, deployment: &DeploymentId) -> impl Iterator<Item = &NodeName> {
        let nodes = self.deployments.get(deployment).map(|it| &it.placed);
        nodes.into_iter().flatten()
    }

    pub(crate) fn placed_on(&self, node: &NodeName) -> Vec<PlacementId> {
        let placed = self.site_nodes.get(node).map(|it| &it.placed);
        let id = |it: &DeploymentId| PlacementId { deployment: it.clone(), node: node.clone() };
        placed.into_iter().flatten().map(id).collect()
    }
}
