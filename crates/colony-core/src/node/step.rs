//! One step of a node: an input, the changes it causes, and the actions to
//! take.

use std::collections::{BTreeMap, BTreeSet};

use colony_margo::{Capabilities, DeploymentId, Digest};

use crate::attempt::Failure;
use crate::node::Node;
use crate::node::decision::observation::update_healthy_since;
use crate::node::deployment_entry::DecisionInput;
use crate::node::engine::{Action, Container, Prepared};
use crate::node::manifest::Rejection;
use crate::node::row::{Key, Meta, Phase, Record};
use crate::time::{Monotonic, Now};

/// The inputs of a node.
#[derive(Debug, Clone)]
pub enum Input {
    /// A manifest with every document that `Node::check` listed as missing.
    Manifest { bytes: Vec<u8>, etag: Option<String>, documents: BTreeMap<Digest, Vec<u8>> },
    /// All containers of this node, from a listing that was begun at `taken`.
    Observed { taken: Monotonic, containers: Vec<Container> },
    /// The same without the containers of engines that did not answer: those
    /// that run profiles of the types in `away`.
    ObservedInPart { taken: Monotonic, containers: Vec<Container>, away: BTreeSet<String> },
    /// An action has ended.
    Done { action: Action, result: Result<Prepared, Failure> },
    /// The local orchestrator has accepted the report of this number.
    Acked { deployment: DeploymentId, report: u64 },
    /// The local orchestrator requests reports of these deployments.
    ReportsRequested(Vec<DeploymentId>),
    /// The capabilities of this device; no document is applied before they are
    /// known.
    Capabilities(Box<Capabilities>),
    /// Time has passed.
    Tick,
}

/// The result of an input.
#[derive(Debug, Default, PartialEq)]
pub struct Step {
    /// Rows to store together, before anything else is done.
    pub changed: BTreeSet<Key>,
    /// Actions to start. An action replaces a `Prepare` of the same deployment
    /// that is under way.
    pub actions: Vec<Action>,
    /// The engine has to be observed again, at once.
    pub observe: bool,
    /// When to tick, if there is no input before.
    pub wake: Option<Monotonic>,
    /// Why the manifest of this input was refused.
    pub rejection: Option<Rejection>,
}

impl Node {
    /// Handles an input. The shell stores what changed, then acts.
    pub fn step(&mut self, input: Input, now: Now) -> Step {
        let meta = self.meta.clone();
        let records = self.records();
        let mut step = Step::default();
        match input {
            Input::Manifest { bytes, etag, documents } => {
                step.rejection = self.accept(&bytes, etag, &documents, now.mono).err();
            }
            Input::Observed { taken, containers } => {
                self.observe(taken, containers, &BTreeSet::new());
            }
            Input::ObservedInPart { taken, containers, away } => {
                self.observe(taken, containers, &away);
            }
            Input::Done { action, result } => self.done(&action, result, now),
            Input::Acked { deployment, report } => self.acked(&deployment, report),
            Input::ReportsRequested(deployments) => self.accept_report_requests(deployments, now),
            Input::Capabilities(capabilities) => self.capabilities = Some(*capabilities),
            Input::Tick => {}
        }
        self.decide_actions(now, &mut step);
        self.number_reports(meta.incarnation(), &records, now);
        self.note_changes(&meta, &records, now, &mut step);
        step
    }

    fn records(&self) -> BTreeMap<DeploymentId, Record> {
        self.deployments.iter().map(|(id, it)| (id.clone(), it.record.clone())).collect()
    }

    /// A deployment whose engine is away stays as it was last seen: its
    /// containers must not look removed.
    fn observe(&mut self, taken: Monotonic, containers: Vec<Container>, away: &BTreeSet<String>) {
        let mut before = self.containers.take();
        let mut seen: BTreeMap<DeploymentId, Vec<Container>> = BTreeMap::new();
        for container in containers {
            seen.entry(container.deployment.clone()).or_default().push(container);
        }
        for (id, entry) in &mut self.deployments {
            if entry.runs_on(away) {
                entry.memory.unseen.get_or_insert(self.observed_at);
                entry.memory.stale |= before.is_none();
                let own = before.as_mut().and_then(|it| it.remove(id));
                own.and_then(|it| seen.insert(id.clone(), it));
                continue;
            }
            entry.memory.unseen = None;
            let own = seen.get(id).map_or(&[][..], Vec::as_slice);
            update_healthy_since(&mut entry.memory.healthy_since, own, taken);
            entry.memory.stale &= taken < entry.memory.acted;
        }
        self.unlisted.retain(|id, _| seen.contains_key(id));
        self.unlisted.values_mut().for_each(|it| it.stale = false);
        self.containers = Some(seen);
        self.observed_at = taken;
    }

    fn done(&mut self, action: &Action, result: Result<Prepared, Failure>, now: Now) {
        let id = action.deployment();
        // Without an action under way, the result belongs to a replaced one.
        let Some(running) = self.running_actions.remove(id) else { return };
        if running.action != *action {
            self.running_actions.insert(id.clone(), running);
            return;
        }
        let scene = DecisionInput {
            containers: &[],
            policy: &self.policy,
            now,
            observed_at: self.observed_at,
        };
        if let Some(unlisted) = self.unlisted.get_mut(id) {
            unlisted.stale = true;
            unlisted.retry.again(&scene);
        }
        if let Some(entry) = self.deployments.get_mut(id) {
            let current = running.is_for(entry);
            entry.done(action, result, current, &scene);
        }
    }

    fn acked(&mut self, id: &DeploymentId, report: u64) {
        let Some(entry) = self.deployments.get_mut(id) else { return };
        entry.record.report.acked |= entry.record.report.number == report;
        if entry.record.report.acked && matches!(entry.record.phase, Phase::Removed { .. }) {
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
