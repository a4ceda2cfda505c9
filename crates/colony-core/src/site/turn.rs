//! One step: timers that are due, the input, then everything that follows.

use std::collections::BTreeSet;

use crate::event::{Actor, Body};
use crate::id::{DeploymentId, NodeName, PlacementId};
use crate::site::{Input, Phase, Refused, Site, Step};
use crate::time::{Mono, Now};

/// How far the persisted clock may lag behind while a deadline runs.
const CLOCK_LAG: std::time::Duration = std::time::Duration::from_secs(10);

/// A step under way.
pub(super) struct Turn<'a> {
    pub(super) site: &'a mut Site,
    pub(super) now: Now,
    pub(super) out: Step,
    /// Deployments whose queues have to be looked at.
    pub(super) dirty: BTreeSet<DeploymentId>,
    /// Nodes whose manifest version this step has raised.
    pub(super) raised: BTreeSet<NodeName>,
    clock_before: Mono,
}

impl Site {
    /// Takes one input at `now` and returns what followed from it.
    pub fn step(&mut self, input: Input, now: Now) -> Step {
        if let Phase::Fenced { by } = self.phase {
            return Step { refused: Some(Refused::Fenced { by }), ..Step::default() };
        }
        let mut turn = Turn::new(self, now);
        turn.fire_timers();
        turn.out.refused = turn.take(input).err();
        turn.settle();
        turn.finish()
    }
}

impl<'a> Turn<'a> {
    fn new(site: &'a mut Site, now: Now) -> Turn<'a> {
        let clock_before = site.clock;
        let now = Now { mono: now.mono.max(clock_before), ..now };
        site.clock = now.mono;
        let (dirty, raised) = (BTreeSet::new(), BTreeSet::new());
        Turn { site, now, out: Step::default(), dirty, raised, clock_before }
    }

    fn take(&mut self, input: Input) -> Result<(), Refused> {
        match input {
            Input::Seed(seed) => self.seed(*seed),
            Input::Commit(commit) => self.commit(commit),
            Input::Joined(node) => self.joined(node),
            Input::Capabilities(node, capabilities) => self.capable(&node, *capabilities),
            Input::Heard { node, have } => self.heard(&node, have),
            Input::Status { node, status } => self.status(&node, &status),
            Input::Command(command) => self.command(command),
            Input::Fenced { by } => self.fenced(by),
            Input::Tick => Ok(()),
        }
    }

    fn settle(&mut self) {
        if self.site.phase != Phase::Ready {
            return;
        }
        while let Some(deployment) = self.dirty.pop_first() {
            self.pump(&deployment);
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

    /// Appends to the site's log; the only way an event comes to be.
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

    pub(super) fn known(&self, node: &NodeName) -> Result<(), Refused> {
        if self.site.members.contains_key(node) {
            return Ok(());
        }
        Err(Refused::UnknownNode(node.clone()))
    }

    /// Something about the deployment changed; its row is written again.
    pub(super) fn touch(&mut self, deployment: &DeploymentId) {
        self.out.changed.deployments.insert(deployment.clone());
        self.dirty.insert(deployment.clone());
    }

    /// The placements of a deployment, by node.
    pub(super) fn nodes_of(&self, deployment: &DeploymentId) -> Vec<NodeName> {
        self.site.nodes_of(deployment).cloned().collect()
    }

    /// What all placements of a deployment want may have changed.
    pub(super) fn reclassify_all(&mut self, deployment: &DeploymentId) {
        for node in self.nodes_of(deployment) {
            self.reclassify(&PlacementId { deployment: deployment.clone(), node });
        }
        self.dirty.insert(deployment.clone());
    }

    /// What all placements on a node want may have changed.
    pub(super) fn reclassify_node(&mut self, node: &NodeName) {
        for id in self.site.placed_on(node) {
            self.reclassify(&id);
            self.dirty.insert(id.deployment);
        }
    }
}

impl Site {
    pub(super) fn nodes_of(&self, deployment: &DeploymentId) -> impl Iterator<Item = &NodeName> {
        let nodes = self.deployments.get(deployment).map(|it| &it.placed);
        nodes.into_iter().flatten()
    }

    pub(super) fn placed_on(&self, node: &NodeName) -> Vec<PlacementId> {
        let placed = self.members.get(node).map(|it| &it.placed);
        let id = |it: &DeploymentId| PlacementId { deployment: it.clone(), node: node.clone() };
        placed.into_iter().flatten().map(id).collect()
    }
}
