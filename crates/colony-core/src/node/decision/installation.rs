//! Brings a deployment to its document.
//!
//! All components are prepared first, while the previous document keeps
//! running. Then, for each component in turn, containers with another
//! fingerprint are cleared and missing ones are started; the next component
//! waits until this one is healthy. Healthy containers with the right
//! fingerprint keep running, unless their image or archive was corrected since.

use std::time::Duration;

use colony_margo::Digest;

use crate::attempt::Failure;
use crate::code::Code;
use crate::document::Side;
use crate::node::decision::observation::ComponentObservation;
use crate::node::decision::plan::{Part, Plan};
use crate::node::decision::repair;
use crate::node::deployment_entry::{
    DecisionInput, DeploymentEntry, Next, component_not_in_plan, sooner,
};
use crate::node::engine::{Action, Container, Health};
use crate::node::row::{ComponentStart, Phase, Settling};
use crate::time::{HumanDuration, Monotonic};

/// The decision for one component.
enum ComponentDecision {
    Ready,
    Act(Action),
    Fail(Failure),
    /// It may become ready by itself, at the latest at this time. A time that
    /// has passed requests another observation of the engine.
    Wait(Monotonic),
}

pub(in crate::node) fn next(entry: &mut DeploymentEntry, input: &DecisionInput<'_>) -> Next {
    let Ok(plan) = entry.plan.clone() else { return Next::Wait(None) };
    let next = next_of(entry, &plan, input);
    if matches!(next, Next::Wait(_)) {
        note_settling(entry, &plan, input);
    }
    next
}

fn next_of(entry: &mut DeploymentEntry, plan: &Plan, input: &DecisionInput<'_>) -> Next {
    let mut wake = match repair::repair_active(entry, input) {
        Next::Act(action) => return Next::Act(action),
        Next::Wait(until) => until,
    };
    if let Some(action) = preparation(entry, plan, input) {
        return Next::Act(action);
    }
    if let Some(component) = component_not_in_plan(plan, input) {
        let action = entry.remove_component(plan.side, component);
        return act_and_mark_swapping(entry, action);
    }
    let mut any_pending = false;
    for part in &plan.parts {
        match decide_component(entry, plan.side, part, input) {
            ComponentDecision::Ready => mark_ready(entry, part),
            ComponentDecision::Act(action) => return act_and_mark_swapping(entry, action),
            ComponentDecision::Fail(failure) => {
                entry.fail(failure);
                return Next::Wait(None);
            }
            ComponentDecision::Wait(until) if part.blocks_next => {
                return Next::Wait(sooner(wake, Some(until)));
            }
            ComponentDecision::Wait(until) => {
                (wake, any_pending) = (sooner(wake, Some(until)), true)
            }
        }
    }
    if !any_pending {
        entry.succeed(input.now.mono);
    }
    Next::Wait(wake)
}

/// The action that prepares the first unprepared component that is incomplete
/// or whose last attempt failed.
fn preparation(entry: &DeploymentEntry, plan: &Plan, input: &DecisionInput<'_>) -> Option<Action> {
    let observations = entry.observations(plan, input);
    let suspect =
        |it: &ComponentObservation<'_>| entry.record.failed.contains(&it.part.fingerprint);
    let incomplete =
        |it: &ComponentObservation<'_>| !it.is_complete() && !ended_after_start(entry, it);
    let needs_preparation = observations.iter().filter(|it| suspect(it) || incomplete(it));
    let prepared = &entry.memory.prepared;
    let mut missing =
        needs_preparation.map(|it| it.part).filter(|it| !prepared.contains(&it.fingerprint));
    missing.next().map(|it| entry.prepare(it))
}

/// The component was started and has ended: preparing it again does not help.
fn ended_after_start(entry: &DeploymentEntry, observation: &ComponentObservation<'_>) -> bool {
    start_of(entry, observation.part).is_some() && observation.ended().is_some()
}

fn decide_component(
    entry: &mut DeploymentEntry,
    side: Side,
    part: &Part,
    input: &DecisionInput<'_>,
) -> ComponentDecision {
    let observation =
        ComponentObservation::of(side, part, &entry.record.services, input.containers);
    if entry.memory.outdated.contains(&part.fingerprint) {
        return ComponentDecision::Act(entry.remove_containers(side, &part.component, None));
    }
    let start = start_of(entry, part);
    let unwell = observation.ended().or_else(|| observation.unhealthy());
    if let (Some(failure), Some(_)) = (unwell, start) {
        return ComponentDecision::Fail(failure);
    }
    // An attempt that finds an unhealthy container replaces it. An observation
    // from before the attempt does not count: the container may have recovered
    // since, and a healthy container is not stopped.
    if observation.unhealthy().is_some() {
        if input.observed_at < entry.memory.accepted_at {
            return ComponentDecision::Wait(input.now.mono);
        }
        return ComponentDecision::Act(entry.remove_containers(side, &part.component, None));
    }
    if observation.has_other_fingerprints() {
        return ComponentDecision::Act(entry.remove_containers(
            side,
            &part.component,
            Some(part.fingerprint),
        ));
    }
    if !observation.is_complete() {
        return ComponentDecision::Act(entry.start(side, part));
    }
    let start = start.unwrap_or(ComponentStart { since: input.now.mono, started: false });
    let decision = await_ready(entry, &observation, start, input);
    if let Phase::Applying { starts, .. } = &mut entry.record.phase {
        starts.insert(part.component.clone(), start);
    }
    decision
}

fn await_ready(
    entry: &DeploymentEntry,
    observation: &ComponentObservation<'_>,
    start: ComponentStart,
    input: &DecisionInput<'_>,
) -> ComponentDecision {
    let now = input.now.mono;
    let ready = ready_at(entry, observation, start, input);
    if ready.is_some_and(|it| it <= input.observed_at) {
        return ComponentDecision::Ready;
    }
    let timeout = observation.part.timeout.unwrap_or(input.policy.timeout);
    // A component that became healthy in time may settle beyond its timeout.
    let grace = if ready.is_some() { input.policy.settle } else { Duration::ZERO };
    let deadline = start.since.after(timeout.saturating_add(grace));
    if deadline <= now {
        return ComponentDecision::Fail(too_late(observation, timeout));
    }
    ComponentDecision::Wait(ready.map_or(deadline, |it| it.min(deadline)))
}

/// When the component has been healthy for its settle time, if it stays so.
fn ready_at(
    entry: &DeploymentEntry,
    observation: &ComponentObservation<'_>,
    start: ComponentStart,
    input: &DecisionInput<'_>,
) -> Option<Monotonic> {
    let trusted = !start.started && entry.record.proven.contains(&observation.part.fingerprint);
    let settle = |it: &Container| settle_time(it, trusted, input);
    observation.healthy_at(&entry.memory.healthy_since, settle)
}

/// Notes whether only the settle time of containers that run is missing.
fn note_settling(entry: &mut DeploymentEntry, plan: &Plan, input: &DecisionInput<'_>) {
    let ready =
        |it: &ComponentObservation<'_>| ready_at(entry, it, start_of(entry, it.part)?, input);
    let each = entry.observations(plan, input);
    let each: Option<Vec<Monotonic>> = each.iter().map(ready).collect();
    let until = each.and_then(|it| it.into_iter().max()).filter(|it| *it > input.observed_at);
    let Phase::Applying { settling, .. } = &mut entry.record.phase else { return };
    if settling.map(|it| it.until) != until {
        *settling = until.map(|until| {
            let rest = until.since(input.observed_at).as_millis();
            Settling { until, rest: u64::try_from(rest).unwrap_or(u64::MAX) }
        });
    }
}

/// How long a container must run; a passed check or an earlier proof is enough.
fn settle_time(container: &Container, trusted: bool, input: &DecisionInput<'_>) -> Duration {
    if trusted || container.health == Health::Healthy {
        return Duration::ZERO;
    }
    input.policy.settle
}

fn too_late(observation: &ComponentObservation<'_>, timeout: Duration) -> Failure {
    observation.unhealthy().unwrap_or_else(|| {
        let message =
            format!("not healthy within {}: {}", HumanDuration(timeout), observation.lacks());
        observation.failure(Code::ComponentTimeout, message)
    })
}

fn start_of(entry: &DeploymentEntry, part: &Part) -> Option<ComponentStart> {
    match &entry.record.phase {
        Phase::Applying { starts, .. } => starts.get(&part.component).copied(),
        Phase::Installed { .. }
        | Phase::Failed { .. }
        | Phase::Removing { .. }
        | Phase::Removed { .. } => None,
    }
}

fn mark_ready(entry: &mut DeploymentEntry, part: &Part) {
    if let Phase::Applying { ready, .. } = &mut entry.record.phase {
        ready.insert(part.component.clone());
    }
}

/// The action, with a record that it may stop containers of the previous
/// document, unless this document is staged.
fn act_and_mark_swapping(entry: &mut DeploymentEntry, action: Action) -> Next {
    let beside = entry.is_staging();
    if let Phase::Applying { swapping, settling, .. } = &mut entry.record.phase {
        (*swapping, *settling) = (!beside, None);
    }
    Next::Act(action)
}

/// A failed document is not tried again, but it may recover by itself. As long
/// as no container of the previous document was stopped, that document is kept
/// running.
pub(in crate::node) fn next_after_failure(
    entry: &mut DeploymentEntry,
    input: &DecisionInput<'_>,
) -> Next {
    let recovery = recovers_at(entry, input);
    if recovery.is_some_and(|it| it <= input.observed_at) {
        entry.succeed(input.now.mono);
        return Next::Wait(None);
    }
    if entry.is_staging() {
        return match repair::repair_active(entry, input) {
            Next::Act(action) => Next::Act(action),
            Next::Wait(until) => Next::Wait(sooner(until, recovery)),
        };
    }
    let untouched = matches!(entry.record.phase, Phase::Failed { swapping: false, .. });
    let previous = entry.previous.clone().filter(|_| untouched && runs_nothing_new(entry, input));
    match previous {
        Some(plan) => match repair::first_due_repair(entry, &plan, input) {
            Next::Act(action) => Next::Act(action),
            Next::Wait(until) => Next::Wait(sooner(until, recovery)),
        },
        None => Next::Wait(recovery),
    }
}

fn recovers_at(entry: &DeploymentEntry, input: &DecisionInput<'_>) -> Option<Monotonic> {
    let refused = matches!(&entry.record.phase, Phase::Failed { failure, .. } if failure.code == Code::NotEligible);
    let plan = entry
        .plan
        .as_ref()
        .ok()
        .filter(|it| !refused && component_not_in_plan(it, input).is_none())?;
    let strangers =
        entry.observations(plan, input).iter().any(ComponentObservation::has_other_fingerprints);
    entry.settled_at(plan, input).filter(|_| !strangers)
}

fn runs_nothing_new(entry: &DeploymentEntry, input: &DecisionInput<'_>) -> bool {
    let old =
        |it: &Digest| entry.previous.as_ref().is_some_and(|plan| plan.fingerprints().contains(it));
    Side::Active.of(input.containers).all(|it| old(&it.fingerprint))
}
