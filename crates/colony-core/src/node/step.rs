//! One step of a node: an input, what it changes, and what is to be done.

use std::collections::{BTreeMap, BTreeSet};

use colony_margo::{Capabilities, DeploymentId, Digest};

use super::Node;
use super::engine::{Action, Container, Prepared};
use super::held::Scene;
use super::manifest::Rejection;
use super::row::{Key, Meta, Phase, Record};
use super::sight::update_steady;
use crate::attempt::Failure;
use crate::time::{Mono, Now};

/// What a node can be told.
#[derive(Debug, Clone)]
pub enum Input {
    /// A manifest with every document `Node::check` asked for.
    Manifest { bytes: Vec<u8>, etag: Option<String>, documents: BTreeMap<Digest, Vec<u8>> },
    /// All containers of this node, from a listing that was begun at `taken`.
    Observed { taken: Mono, containers: Vec<Container> },
    /// An action has ended.
    Done { action: Action, result: Result<Prepared, Failure> },
    /// The manager has taken the report of this number.
    Acked { deployment: DeploymentId, report: u64 },
    /// The manager waits for a report of these.
    Asked(Vec<DeploymentId>),
    /// What this device can do; nothing new is begun before this is known.
    Capabilities(Box<Capabilities>),
    /// Time has passed.
    Tick,
}

/// What follows from an input.
#[derive(Debug, Default, PartialEq)]
pub struct Step {
    /// Rows to store, all at once, before anything else is done.
    pub changed: BTreeSet<Key>,
    /// To be started. One of a deployment with a `Prepare` under way replaces it.
    pub actions: Vec<Action>,
    /// The engine is to be looked at again, at once.
    pub observe: bool,
    /// When to tick, if nothing happens before.
    pub wake: Option<Mono>,
    /// Why the manifest of this input was refused.
    pub rejection: Option<Rejection>,
}

impl Node {
    /// Takes an input. The shell stores what changed, then acts.
    pub fn step(&mut self, input: Input, now: Now) -> Step {
        let meta = self.meta.clone();
        let records = self.records();
        let mut step = Step::default();
        match input {
            Input::Manifest { bytes, etag, documents } => {
                step.rejection = self.accept(&bytes, etag, &documents, now.mono).err();
            }
            Input::Observed { taken, containers } => self.observe(taken, containers),
            Input::Done { action, result } => self.done(&action, result, now),
            Input::Acked { deployment, report } => self.acked(&deployment, report),
            Input::Asked(deployments) => self.asked(deployments, now),
            Input::Capabilities(capabilities) => self.capabilities = Some(*capabilities),
            Input::Tick => {}
        }
        self.decide(now, &mut step);
        self.number_reports(meta.incarnation(), &records, now);
        self.note_changes(&meta, &records, now, &mut step);
        step
    }

    fn records(&self) -> BTreeMap<DeploymentId, Record> {
        self.deployments.iter().map(|(id, it)| (id.clone(), it.record.clone())).collect()
    }

    fn observe(&mut self, taken: Mono, containers: Vec<Container>) {
        let mut seen: BTreeMap<DeploymentId, Vec<Container>> = BTreeMap::new();
        for container in containers {
            seen.entry(container.deployment.clone()).or_default().push(container);
        }
        for (id, held) in &mut self.deployments {
            let own = seen.get(id).map_or(&[][..], Vec::as_slice);
            update_steady(&mut held.memory.steady, own, taken);
            held.memory.stale &= taken < held.memory.acted;
        }
        self.strays.retain(|id, _| seen.contains_key(id));
        self.strays.values_mut().for_each(|it| it.stale = false);
        self.containers = Some(seen);
        self.seen = taken;
    }

    fn done(&mut self, action: &Action, result: Result<Prepared, Failure>, now: Now) {
        let id = action.deployment();
        // A result nobody waits for belongs to an action that was replaced.
        let Some(busy) = self.busy.remove(id) else { return };
        if busy.action != *action {
            self.busy.insert(id.clone(), busy);
            return;
        }
        let scene = Scene { containers: &[], policy: &self.policy, now, seen: self.seen };
        if let Some(stray) = self.strays.get_mut(id) {
            stray.stale = true;
            stray.retry.again(&scene);
        }
        if let Some(held) = self.deployments.get_mut(id) {
            let current = busy.is_for(held);
            held.done(action, result, current, &scene);
        }
    }

    fn acked(&mut self, id: &DeploymentId, report: u64) {
        let Some(held) = self.deployments.get_mut(id) else { return };
        held.record.report.acked |= held.record.report.number == report;
        if held.record.report.acked && matches!(held.record.phase, Phase::Removed { .. }) {
            self.deployments.remove(id);
        }
    }

    fn note_changes(
        &mut self,
        meta: &Meta,
        records: &BTreeMap<DeploymentId, Record>,
        now: Now,
        step: &mut Step,
    ) {
        let ids: BTreeSet<&DeploymentId> = self.deployments.keys().chain(records.keys()).collect();
        let differs =
            |id: &DeploymentId| self.deployments.get(id).map(|it| &it.record) != records.get(id);
        let changed = ids.into_iter().filter(|it| differs(it));
        step.changed.extend(changed.cloned().map(Key::Deployment));
        let lags = now.mono.since(self.meta.clock) >= self.policy.clock_lag;
        if *meta != self.meta || (lags && step.wake.is_some()) {
            self.meta.clock = now.mono.max(self.meta.clock);
            step.changed.insert(Key::Meta);
        }
    }
}
