//! One deployment in memory: its record, its plans, and the results of
//! observations. Only the record survives a crash.

use std::collections::BTreeSet;
use std::sync::Arc;

use colony_margo::{Capabilities, ComponentName, DeploymentId, DeviceId, Digest};

use crate::attempt::Failure;
use crate::code::Class;
use crate::document::Side;
use crate::node::decision::installation;
use crate::node::decision::observation::{ComponentObservation, HealthySince};
use crate::node::decision::plan::{Part, Plan};
use crate::node::decision::removal;
use crate::node::decision::repair;
use crate::node::engine::{Action, Container};
use crate::node::policy::Policy;
use crate::node::row::{Phase, Record, Report, Text};
use crate::time::{Monotonic, Now};

#[derive(Debug, Clone)]
pub(super) struct DeploymentEntry {
    pub(super) record: Record,
    pub(super) plan: Result<Arc<Plan>, Failure>,
    /// The document installed before; while a document is staged, the active
    /// one.
    pub(super) previous: Option<Arc<Plan>>,
    pub(super) memory: Memory,
}

/// State that need not survive a restart.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// When the document replaced another one; 0 if that was in an earlier
    /// process, whose observations are lost.
    pub(super) accepted_at: Monotonic,
    /// When an action ended last.
    pub(super) acted: Monotonic,
    /// The last observation is older than the last action.
    pub(super) stale: bool,
    /// Its engine did not answer the last observation; since this one, nothing
    /// is known of its containers.
    pub(super) unseen: Option<Monotonic>,
    /// Fingerprints that are known to be prepared: their images and archive are
    /// on the device.
    pub(super) prepared: BTreeSet<Digest>,
    /// Fingerprints whose containers were made from an archive or image that
    /// has been corrected since.
    pub(super) outdated: BTreeSet<Digest>,
    pub(super) healthy_since: HealthySince,
    /// All components were seen healthy since this process began.
    pub(super) seen_healthy: bool,
    /// A `Remove` succeeded.
    pub(super) removed: bool,
    pub(super) wake: Option<Monotonic>,
}

/// The input of a decision.
#[derive(Debug, Clone, Copy)]
pub(super) struct DecisionInput<'a> {
    pub(super) containers: &'a [Container],
    pub(super) policy: &'a Policy,
    pub(super) now: Now,
    /// When the containers were observed. Only an observation proves that a
    /// component is still healthy.
    pub(super) observed_at: Monotonic,
}

/// What a decision returns for one deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    Act(Action),
    /// Nothing until the next observation, or until this time.
    Wait(Option<Monotonic>),
}

impl DeploymentEntry {
    /// Its containers may be on an engine that runs profiles of these types. A
    /// document that cannot be read may be of any type.
    pub(super) fn runs_on(&self, types: &BTreeSet<String>) -> bool {
        let is_one = |it: &Arc<Plan>| types.contains(&it.document.spec.profile.kind);
        let here = self.plan.as_ref().map_or(!types.is_empty(), is_one);
        here || self.previous.as_ref().is_some_and(is_one)
    }

    pub(super) fn restore(record: Record, node: &DeviceId) -> DeploymentEntry {
        let plan = Plan::read(&record.id, node, record.text.as_bytes()).map(Arc::new);
        let previous = record.previous.as_ref();
        let previous =
            previous.and_then(|it| Plan::read(&record.id, node, it.as_bytes()).ok()).map(Arc::new);
        DeploymentEntry { record, plan, previous, memory: Memory::default() }
    }

    /// A deployment that is listed for the first time.
    pub(super) fn new(
        id: DeploymentId,
        wire: Digest,
        bytes: &[u8],
        node: &DeviceId,
    ) -> DeploymentEntry {
        let record = Record {
            id,
            wire,
            text: text(bytes),
            previous: None,
            phase: Phase::start(),
            services: Default::default(),
            proven: Default::default(),
            failed: Default::default(),
            restarts: Default::default(),
            staged_restarts: Default::default(),
            active_failure: None,
            report: Report { number: 0, content: Digest::of(b""), acked: true },
        };
        let plan = Plan::read(&record.id, node, bytes).map(Arc::new);
        DeploymentEntry { record, plan, previous: None, memory: Memory::default() }
    }

    /// Replaces the document, regardless of the actions under way.
    pub(super) fn supersede(
        &mut self,
        wire: Digest,
        bytes: &[u8],
        node: &DeviceId,
        now: Monotonic,
    ) {
        let plan = Plan::read(&self.record.id, node, bytes).map(Arc::new);
        let keeps = match plan.as_ref().is_ok_and(|it| it.is_staged()) {
            true => self.is_what_runs(),
            false => self.is_worth_keeping(&plan),
        };
        self.record.active_failure = self.active_failure_beside(&plan, keeps);
        if keeps {
            self.record.previous = Some(self.record.text.clone());
            self.previous = self.plan.as_ref().ok().cloned();
        }
        if !self.record.phase.is_wanted() {
            self.record.proven.clear();
        }
        self.record.wire = wire;
        self.record.text = text(bytes);
        self.plan = plan;
        self.memory.accepted_at = now;
        self.begin();
    }

    /// The known failure of the version that keeps running beside `next`.
    fn active_failure_beside(
        &self,
        next: &Result<Arc<Plan>, Failure>,
        keeps: bool,
    ) -> Option<Failure> {
        if !next.as_ref().is_ok_and(|it| it.is_staged()) {
            return None;
        }
        if !keeps {
            return self.record.active_failure.clone();
        }
        let Phase::Installed { current_failure, .. } = &self.record.phase else { return None };
        current_failure.clone()
    }

    /// Starts over with the current document.
    pub(super) fn begin(&mut self) {
        self.record.phase = Phase::start();
        self.record.restarts.clear();
        self.record.staged_restarts.clear();
        self.memory.prepared.clear();
        self.memory.outdated.clear();
        self.memory.removed = false;
        self.memory.seen_healthy = false;
        self.forget_services();
    }

    /// An installed document is kept for a rollback, unless the next one has
    /// the same fingerprints.
    fn is_worth_keeping(&self, next: &Result<Arc<Plan>, Failure>) -> bool {
        // A staged document was never installed.
        let Some(plan) = self.plan.as_ref().ok().filter(|it| !it.is_staged()) else { return false };
        let differs = next.as_ref().map_or(true, |it| it.fingerprints() != plan.fingerprints());
        let installed = match &self.record.phase {
            Phase::Installed { current_failure, .. } => {
                current_failure.is_none() || self.previous.is_none()
            }
            Phase::Applying { .. }
            | Phase::Failed { .. }
            | Phase::Removing { .. }
            | Phase::Removed { .. } => false,
        };
        installed && differs
    }

    /// The current document is the one that a staged document must leave alone:
    /// it is active, and the previous document does not still run in its place.
    fn is_what_runs(&self) -> bool {
        let untouched = matches!(
            self.record.phase,
            Phase::Applying { swapping: false, .. } | Phase::Failed { swapping: false, .. }
        );
        let active = self.plan.as_ref().is_ok_and(|it| !it.is_staged());
        active && self.record.phase.is_wanted() && !(untouched && self.previous.is_some())
    }

    /// The fingerprints whose images and archives must be kept.
    pub(super) fn needed(&self) -> BTreeSet<Digest> {
        if !self.record.phase.is_wanted() {
            return BTreeSet::new();
        }
        let plans = self.plan.iter().chain(&self.previous);
        plans.flat_map(|it| it.fingerprints()).collect()
    }

    pub(super) fn forget_services(&mut self) {
        let needed = self.needed();
        self.record.services.retain(|it, _| needed.contains(it));
        self.record.failed.retain(|it| needed.contains(it));
    }

    /// Fails a document that cannot be read or that the device cannot run.
    /// Without known capabilities, the latter stays undecided.
    pub(super) fn check_requirements(&mut self, device: Option<&Capabilities>) {
        if !matches!(self.record.phase, Phase::Applying { .. }) {
            return;
        }
        let refused = match (&self.plan, device) {
            (Err(failure), _) => Some(failure.clone()),
            (Ok(plan), Some(device)) => plan.fits(device).err(),
            (Ok(_), None) => None,
        };
        if let Some(failure) = refused {
            self.fail(failure);
        }
    }

    /// Decides until the phase no longer changes, and returns what to do next.
    pub(super) fn decide(&mut self, input: &DecisionInput<'_>) -> Next {
        loop {
            let before = std::mem::discriminant(&self.record.phase);
            let next = match &self.record.phase {
                Phase::Applying { .. } => installation::next(self, input),
                Phase::Failed { .. } => installation::next_after_failure(self, input),
                Phase::Installed { .. } => repair::next(self, input),
                Phase::Removing { .. } => removal::next(self, input),
                Phase::Removed { .. } => Next::Wait(None),
            };
            if before == std::mem::discriminant(&self.record.phase) {
                return next;
            }
        }
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        let source = if failure.source.is_empty() { self.name() } else { failure.source };
        let failure = Failure { source, ..failure };
        self.note_failed(&failure);
        if let Phase::Applying { ready, swapping, .. } = &self.record.phase {
            let (ready, swapping) = (ready.clone(), *swapping);
            self.record.phase = Phase::Failed { failure, ready, swapping };
        }
    }

    /// Remembers the fingerprints that the next attempt has to fetch again.
    /// Fingerprints of the document installed last are not suspected.
    fn note_failed(&mut self, failure: &Failure) {
        if failure.code.class() != Class::Revision {
            return;
        }
        let parts = self.plan.as_ref().map(|it| it.fingerprints()).unwrap_or_default();
        let suspects = parts.difference(&self.record.proven).copied();
        self.record.failed.extend(suspects);
    }

    /// The source of a failure that concerns no single component.
    pub(super) fn name(&self) -> String {
        let named = self.plan.as_ref().map(|it| it.document.metadata.name.clone());
        named.unwrap_or_else(|_| self.record.id.to_string())
    }

    pub(super) fn succeed(&mut self, now: Monotonic) {
        self.record.phase = Phase::Installed { since: now, current_failure: None };
        self.record.failed.clear();
        if self.is_staging() {
            return self.record.staged_restarts.clear();
        }
        self.record.restarts.clear();
        self.record.proven = self.plan.as_ref().map(|it| it.fingerprints()).unwrap_or_default();
    }

    pub(super) fn observations<'a>(
        &'a self,
        plan: &'a Plan,
        input: &DecisionInput<'a>,
    ) -> Vec<ComponentObservation<'a>> {
        let services = &self.record.services;
        let observation =
            |it: &'a Part| ComponentObservation::of(plan.side, it, services, input.containers);
        plan.parts.iter().map(observation).collect()
    }

    /// The current document is staged beside the previous one.
    pub(super) fn is_staging(&self) -> bool {
        self.plan.as_ref().is_ok_and(|it| it.is_staged())
    }

    /// When all components have been healthy for the settle time, if they stay
    /// so.
    pub(super) fn settled_at(&self, plan: &Plan, input: &DecisionInput<'_>) -> Option<Monotonic> {
        let observations = self.observations(plan, input);
        let settle = |_: &Container| input.policy.settle;
        let each = observations.iter().map(|it| it.healthy_at(&self.memory.healthy_since, settle));
        each.collect::<Option<Vec<Monotonic>>>().map(|it| it.into_iter().max().unwrap_or_default())
    }

    pub(super) fn prepare(&self, part: &Part) -> Action {
        let (deployment, component) = (self.record.id.clone(), part.component.clone());
        let refresh = self.record.failed.contains(&part.fingerprint);
        Action::Prepare { deployment, component, fingerprint: part.fingerprint, refresh }
    }

    pub(super) fn start(&self, side: Side, part: &Part) -> Action {
        let (deployment, component) = (self.record.id.clone(), part.component.clone());
        let fingerprint = part.fingerprint;
        match side {
            Side::Stage => Action::Stage { deployment, component, fingerprint },
            Side::Active => Action::Start { deployment, component, fingerprint },
        }
    }

    /// Removes containers whose fingerprint is not `keep`; staged containers
    /// are all removed.
    pub(super) fn remove_containers(
        &self,
        side: Side,
        component: &ComponentName,
        keep: Option<Digest>,
    ) -> Action {
        let (deployment, component) = (self.record.id.clone(), component.clone());
        match side {
            Side::Stage => Action::Unstage { deployment, component },
            Side::Active => Action::Clear { deployment, component, keep, gone: false },
        }
    }

    /// Removes the containers of a component that is not part of the document.
    pub(super) fn remove_component(&self, side: Side, component: &ComponentName) -> Action {
        let (deployment, component) = (self.record.id.clone(), component.clone());
        match side {
            Side::Stage => Action::Unstage { deployment, component },
            Side::Active => Action::Clear { deployment, component, keep: None, gone: true },
        }
    }
}

/// A component that has containers but is not part of `plan`.
pub(super) fn component_not_in_plan<'a>(
    plan: &Plan,
    input: &DecisionInput<'a>,
) -> Option<&'a ComponentName> {
    let mut seen = plan.side.of(input.containers).map(|it| &it.component);
    seen.find(|it| plan.part(it).is_none())
}

/// The sooner of two times, where each may be absent.
pub(super) fn sooner(a: Option<Monotonic>, b: Option<Monotonic>) -> Option<Monotonic> {
    a.into_iter().chain(b).min()
}

/// A document that is not UTF-8 is not kept: it is invalid in any case.
fn text(bytes: &[u8]) -> Text {
    Text::from(String::from_utf8(bytes.to_vec()).unwrap_or_default())
}
