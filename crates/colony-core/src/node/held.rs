//! One deployment in memory: its record, its plans, and what a look at the
//! engine has shown. Only the record survives a crash.

use std::collections::BTreeSet;
use std::sync::Arc;

use colony_margo::{Capabilities, ComponentName, DeploymentId, DeviceId, Digest};

use super::engine::{Action, Container};
use super::plan::{Part, Plan, Side};
use super::policy::Policy;
use super::row::{Phase, Record, Report, Text};
use super::sight::{Sight, Steady};
use super::{apply, remove, repair};
use crate::attempt::Failure;
use crate::code::Class;
use crate::document::WirePhase;
use crate::time::{Mono, Now};

#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) record: Record,
    pub(super) plan: Result<Arc<Plan>, Failure>,
    /// What was installed before; while a document is staged, what runs on.
    pub(super) previous: Option<Arc<Plan>>,
    pub(super) memory: Memory,
}

/// What need not survive.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// When the document replaced another one; 0 if that was in an earlier
    /// process, whose looks are forgotten.
    pub(super) accepted_at: Mono,
    /// When an action ended last.
    pub(super) acted: Mono,
    /// What was seen was seen before that.
    pub(super) stale: bool,
    /// Fingerprints that are known to be at hand.
    pub(super) prepared: BTreeSet<Digest>,
    /// Fingerprints whose containers were made from something that has been
    /// corrected since.
    pub(super) outdated: BTreeSet<Digest>,
    pub(super) steady: Steady,
    /// It was seen well since this process began.
    pub(super) watched: bool,
    /// A `Remove` went through.
    pub(super) removed: bool,
    pub(super) wake: Option<Mono>,
}

/// What a decision may know.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) containers: &'a [Container],
    pub(super) policy: &'a Policy,
    pub(super) now: Now,
    /// When the containers were looked at. Only a look proves that something
    /// is still well.
    pub(super) seen: Mono,
}

/// What is to be done about one deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    Act(Action),
    /// Nothing until something is seen, or until then.
    Wait(Option<Mono>),
}

impl Held {
    pub(super) fn restore(record: Record, node: &DeviceId) -> Held {
        let plan = Plan::read(&record.id, node, record.text.as_bytes()).map(Arc::new);
        let previous = record.previous.as_ref();
        let previous =
            previous.and_then(|it| Plan::read(&record.id, node, it.as_bytes()).ok()).map(Arc::new);
        Held { record, plan, previous, memory: Memory::default() }
    }

    /// A deployment that is listed for the first time.
    pub(super) fn new(id: DeploymentId, wire: Digest, bytes: &[u8], node: &DeviceId) -> Held {
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
            old_lost: None,
            report: Report { number: 0, content: Digest::of(b""), acked: true },
        };
        let plan = Plan::read(&record.id, node, bytes).map(Arc::new);
        Held { record, plan, previous: None, memory: Memory::default() }
    }

    /// Takes over another document, whatever is under way.
    pub(super) fn supersede(&mut self, wire: Digest, bytes: &[u8], node: &DeviceId, now: Mono) {
        let plan = Plan::read(&self.record.id, node, bytes).map(Arc::new);
        let keeps = match plan.as_ref().is_ok_and(|it| it.is_staged()) {
            true => self.is_what_runs(),
            false => self.is_worth_keeping(&plan),
        };
        self.record.old_lost = self.lost_beside(&plan, keeps);
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

    /// What is known of the health of what runs on beside `next`.
    fn lost_beside(&self, next: &Result<Arc<Plan>, Failure>, keeps: bool) -> Option<Failure> {
        if !next.as_ref().is_ok_and(|it| it.is_staged()) {
            return None;
        }
        if !keeps {
            return self.record.old_lost.clone();
        }
        let Phase::Installed { lost, .. } = &self.record.phase else { return None };
        lost.clone()
    }

    /// Starts over with the document at hand.
    pub(super) fn begin(&mut self) {
        self.record.phase = Phase::start();
        self.record.restarts.clear();
        self.record.staged_restarts.clear();
        self.memory.prepared.clear();
        self.memory.outdated.clear();
        self.memory.removed = false;
        self.memory.watched = false;
        self.forget_services();
    }

    /// A document is a way back once it was installed, unless what follows
    /// runs the same.
    fn is_worth_keeping(&self, next: &Result<Arc<Plan>, Failure>) -> bool {
        // What ran beside was never installed.
        let Some(plan) = self.plan.as_ref().ok().filter(|it| !it.is_staged()) else { return false };
        let differs = next.as_ref().map_or(true, |it| it.fingerprints() != plan.fingerprints());
        let installed = match &self.record.phase {
            Phase::Installed { lost, .. } => lost.is_none() || self.previous.is_none(),
            Phase::Applying { .. }
            | Phase::Failed { .. }
            | Phase::Removing { .. }
            | Phase::Removed { .. } => false,
        };
        installed && differs
    }

    /// The document at hand is what a staged one has to leave alone: it is
    /// active, and nothing of the one before runs on in its place.
    fn is_what_runs(&self) -> bool {
        let untouched = matches!(
            self.record.phase,
            Phase::Applying { swapping: false, .. } | Phase::Failed { swapping: false, .. }
        );
        let active = self.plan.as_ref().is_ok_and(|it| !it.is_staged());
        active && self.record.phase.is_wanted() && !(untouched && self.previous.is_some())
    }

    /// The fingerprints whose images and archives must stay at hand.
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

    /// Whether the device may run it; `None` while that cannot be told.
    pub(super) fn admit(&mut self, device: Option<&Capabilities>) {
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

    /// Looks until the phase stands still, and says what is to be done.
    pub(super) fn decide(&mut self, scene: &Scene<'_>) -> Next {
        loop {
            let before = std::mem::discriminant(&self.record.phase);
            let next = match &self.record.phase {
                Phase::Applying { .. } => apply::next(self, scene),
                Phase::Failed { .. } => apply::next_after_failure(self, scene),
                Phase::Installed { .. } => repair::next(self, scene),
                Phase::Removing { .. } => remove::next(self, scene),
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

    /// Remembers what the next attempt has to fetch again. A part that the
    /// document installed last was also made from is not suspected.
    fn note_failed(&mut self, failure: &Failure) {
        if failure.code.class() != Class::Revision {
            return;
        }
        let parts = self.plan.as_ref().map(|it| it.fingerprints()).unwrap_or_default();
        let suspects = parts.difference(&self.record.proven).copied();
        self.record.failed.extend(suspects);
    }

    /// What to blame for what concerns no single component.
    pub(super) fn name(&self) -> String {
        let named = self.plan.as_ref().map(|it| it.document.metadata.name.clone());
        named.unwrap_or_else(|_| self.record.id.to_string())
    }

    pub(super) fn succeed(&mut self, now: Mono) {
        self.record.phase = Phase::Installed { since: now, lost: None };
        self.record.failed.clear();
        if self.is_staging() {
            return self.record.staged_restarts.clear();
        }
        self.record.restarts.clear();
        self.record.proven = self.plan.as_ref().map(|it| it.fingerprints()).unwrap_or_default();
    }

    pub(super) fn sights<'a>(&'a self, plan: &'a Plan, scene: &Scene<'a>) -> Vec<Sight<'a>> {
        let services = &self.record.services;
        let sight = |it: &'a Part| Sight::of(plan.phase, it, services, scene.containers);
        plan.parts.iter().map(sight).collect()
    }

    /// The document at hand waits beside the one before.
    pub(super) fn is_staging(&self) -> bool {
        self.plan.as_ref().is_ok_and(|it| it.is_staged())
    }

    /// When all components have been well for the settle time, if they stay so.
    pub(super) fn settled_at(&self, plan: &Plan, scene: &Scene<'_>) -> Option<Mono> {
        let sights = self.sights(plan, scene);
        let settle = |_: &Container| scene.policy.settle;
        let each = sights.iter().map(|it| it.well_at(&self.memory.steady, settle));
        each.collect::<Option<Vec<Mono>>>().map(|it| it.into_iter().max().unwrap_or_default())
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
            WirePhase::Stage => Action::Stage { deployment, component, fingerprint },
            WirePhase::Active => Action::Start { deployment, component, fingerprint },
        }
    }

    /// Takes away what is not made from `keep`; what is staged goes whole.
    pub(super) fn clear(
        &self,
        side: Side,
        component: &ComponentName,
        keep: Option<Digest>,
    ) -> Action {
        let (deployment, component) = (self.record.id.clone(), component.clone());
        match side {
            WirePhase::Stage => Action::Unstage { deployment, component },
            WirePhase::Active => Action::Clear { deployment, component, keep },
        }
    }
}

/// A component of which containers are seen but which `plan` does not have.
pub(super) fn vanished<'a>(plan: &Plan, scene: &Scene<'a>) -> Option<&'a ComponentName> {
    let mut seen = plan.phase.of(scene.containers).map(|it| &it.component);
    seen.find(|it| plan.part(it).is_none())
}

/// The sooner of two times, where each may be absent.
pub(super) fn sooner(a: Option<Mono>, b: Option<Mono>) -> Option<Mono> {
    a.into_iter().chain(b).min()
}

/// A document that is no text is not kept: it is invalid whatever it says.
fn text(bytes: &[u8]) -> Text {
    Text::from(String::from_utf8(bytes.to_vec()).unwrap_or_default())
}
