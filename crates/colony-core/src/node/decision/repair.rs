//! Keeps installed components running: drift is repaired forever.
//!
//! A component that is missing or has ended is started again after a wait that
//! doubles. A component that needs this too often, or whose health check fails,
//! is reported as failed. The repairs continue all the same, and a recovery is
//! reported, too.
//!
//! A *document* is the text that the manifest lists, a [`Plan`] the parsed
//! document, and a *version* what runs of it. A document that is staged runs
//! beside the active version, on the other [`Side`]; when it is healthy there,
//! its phase is `Phase::Installed`, too. The takeover is the document of the
//! same revision with side `active`, which arrives later and replaces the
//! containers of the active version. A *repair* is an action that this module
//! returns; those that start containers are counted as *restarts*.

use colony_margo::ComponentName;

use crate::attempt::Failure;
use crate::code::Class;
use crate::document::Side;
use crate::node::decision::observation::ComponentObservation;
use crate::node::decision::plan::Plan;
use crate::node::deployment_entry::{
    DecisionInput, DeploymentEntry, Next, component_not_in_plan, sooner,
};
use crate::node::engine::Action;
use crate::node::row::{Phase, Restarts, Retry};
use crate::time::Monotonic;

pub(in crate::node) fn next(entry: &mut DeploymentEntry, input: &DecisionInput<'_>) -> Next {
    // A document that cannot be read names nothing to repair.
    let Ok(plan) = entry.plan.clone() else { return Next::Wait(None) };
    let drop_at = drop_previous_if_due(entry, input);
    let recovers_at = update_current_failure(entry, &plan, input);
    let other_side = match plan.is_staged() {
        true => repair_active(entry, input),
        false => remove_staged(entry, input),
    };
    match (other_side, first_due_repair(entry, &plan, input)) {
        (Next::Act(action), _) | (_, Next::Act(action)) => Next::Act(action),
        (Next::Wait(other_wait), Next::Wait(own_wait)) => {
            Next::Wait(sooner(sooner(other_wait, own_wait), sooner(recovers_at, drop_at)))
        }
    }
}

/// Repairs the active version while another one is staged. Its plan is the
/// previous one: the current plan is that of the staged document.
pub(in crate::node) fn repair_active(
    entry: &mut DeploymentEntry,
    input: &DecisionInput<'_>,
) -> Next {
    let active_plan = entry.previous.clone().filter(|_| entry.is_staging());
    let Some(plan) = active_plan else { return Next::Wait(None) };
    let recovers_at = update_active_failure(entry, &plan, input);
    match first_due_repair(entry, &plan, input) {
        Next::Act(action) => Next::Act(action),
        Next::Wait(until) => Next::Wait(sooner(until, recovers_at)),
    }
}

/// Removes staged containers that are left over: the current document is active,
/// because the staged version took over or was discarded.
fn remove_staged(entry: &mut DeploymentEntry, input: &DecisionInput<'_>) -> Next {
    let staged = Side::Stage.of(input.containers).map(|it| &it.component);
    let removals = staged.map(|it| entry.remove_containers(Side::Stage, it, None)).collect();
    first_due(entry, Side::Stage, removals, input)
}

/// The first repair of `plan` that is due.
pub(in crate::node) fn first_due_repair(
    entry: &mut DeploymentEntry,
    plan: &Plan,
    input: &DecisionInput<'_>,
) -> Next {
    let repairs = repairs(entry, plan, input);
    first_due(entry, plan.side, repairs, input)
}

fn first_due(
    entry: &mut DeploymentEntry,
    side: Side,
    repairs: Vec<Action>,
    input: &DecisionInput<'_>,
) -> Next {
    let restarts_by_component = entry.record.restarts_on(side);
    restarts_by_component.retain(|name, it| {
        let needs_repair = repairs.iter().any(|action| action.component() == Some(name));
        it.reset_if_done(needs_repair, input)
    });
    let mut earliest = None;
    for action in repairs {
        let Some(component) = action.component() else { continue };
        let due = restarts_by_component.entry(component.clone()).or_default().due(input);
        if due <= input.now.mono {
            return Next::Act(action);
        }
        earliest = sooner(earliest, Some(due));
    }
    Next::Wait(earliest)
}

/// The next action for each component that needs one.
fn repairs(entry: &DeploymentEntry, plan: &Plan, input: &DecisionInput<'_>) -> Vec<Action> {
    let surplus =
        component_not_in_plan(plan, input).map(|it| entry.remove_component(plan.side, it));
    let observations = entry.observations(plan, input);
    surplus
        .into_iter()
        .chain(observations.iter().filter_map(|it| repair(entry, plan.side, it)))
        .collect()
}

fn repair(
    entry: &DeploymentEntry,
    side: Side,
    observation: &ComponentObservation<'_>,
) -> Option<Action> {
    let part = observation.part;
    if observation.has_other_fingerprints() {
        let keep = Some(part.fingerprint);
        return Some(entry.remove_containers(side, &part.component, keep));
    }
    // An unhealthy container is replaced by the next attempt of the local
    // orchestrator. The active version beside a staged one gets no attempt, so
    // the node replaces its containers itself.
    let gets_no_attempt = entry.is_staging() && side == Side::Active;
    if gets_no_attempt && observation.unhealthy().is_some() {
        return Some(entry.remove_containers(side, &part.component, None));
    }
    if observation.is_complete() {
        return None;
    }
    // Prepared: images and archive are on the device.
    let prepared = entry.memory.prepared.contains(&part.fingerprint);
    Some(if prepared { entry.start(side, part) } else { entry.prepare(part) })
}

/// Records why the deployment is not healthy at the moment, or that it is.
/// Returns when it would count as recovered.
fn update_current_failure(
    entry: &mut DeploymentEntry,
    plan: &Plan,
    input: &DecisionInput<'_>,
) -> Option<Monotonic> {
    let failure = first_failure(entry, plan, input);
    let settled_at = entry.settled_at(plan, input);
    entry.memory.seen_healthy |= settled_at.is_some();
    let Phase::Installed { current_failure, .. } = &mut entry.record.phase else { return None };
    update_failure(current_failure, failure, settled_at, input)
}

/// Like `update_current_failure`, for the active version while another one is staged.
fn update_active_failure(
    entry: &mut DeploymentEntry,
    plan: &Plan,
    input: &DecisionInput<'_>,
) -> Option<Monotonic> {
    let failure = first_failure(entry, plan, input);
    let settled_at = entry.settled_at(plan, input);
    update_failure(&mut entry.record.active_failure, failure, settled_at, input)
}

fn first_failure(
    entry: &DeploymentEntry,
    plan: &Plan,
    input: &DecisionInput<'_>,
) -> Option<Failure> {
    entry
        .observations(plan, input)
        .iter()
        .find_map(|it| failure_to_report(entry, plan.side, it, input))
}

/// Sets `recorded` to the first failure, and clears it once all components have
/// been healthy for the settle time (`settled_at`). Returns when that would be.
fn update_failure(
    recorded: &mut Option<Failure>,
    failure: Option<Failure>,
    settled_at: Option<Monotonic>,
    input: &DecisionInput<'_>,
) -> Option<Monotonic> {
    if recorded.is_none() {
        *recorded = failure;
        return None;
    }
    if settled_at.is_some_and(|it| it <= input.observed_at) {
        *recorded = None;
        return None;
    }
    settled_at
}

/// The failure to report for a component, if restarting it is not enough.
fn failure_to_report(
    entry: &DeploymentEntry,
    side: Side,
    observation: &ComponentObservation<'_>,
    input: &DecisionInput<'_>,
) -> Option<Failure> {
    let restarts = match side {
        Side::Stage => &entry.record.staged_restarts,
        Side::Active => &entry.record.restarts,
    };
    let restarts = restarts.get(&observation.part.component);
    let limit_reached =
        restarts.is_some_and(|it| it.count_in_window(input) >= input.policy.restart_limit);
    let is_current = entry.plan.as_ref().is_ok_and(|it| it.side == side);
    // `Policy::probation` is a limit of the node, independent of any soak.
    let on_probation = is_current && is_on_probation(entry, input);
    // `ended`: by itself. `not_running`: also stopped or removed from outside (drift).
    let ended = observation.ended().filter(|_| on_probation);
    observation
        .unhealthy()
        .or(ended)
        .or_else(|| observation.not_running().filter(|_| limit_reached))
}

/// True shortly after the installation, when an exit is reported at once.
/// Requires that this process has seen the container healthy: after a power cut
/// every container has ended, which proves nothing.
fn is_on_probation(entry: &DeploymentEntry, input: &DecisionInput<'_>) -> bool {
    let Phase::Installed { since, .. } = entry.record.phase else { return false };
    entry.memory.seen_healthy && input.now.mono.since(since) < input.policy.probation
}

/// Forgets the previous document, the one to roll back to, once the current one
/// has been installed long enough and is healthy. Returns when that is, if it is
/// not yet.
fn drop_previous_if_due(
    entry: &mut DeploymentEntry,
    input: &DecisionInput<'_>,
) -> Option<Monotonic> {
    let Phase::Installed { since, current_failure: None } = entry.record.phase else { return None };
    entry.previous.as_ref().filter(|_| !entry.is_staging())?;
    let due = since.after(input.policy.keep_previous);
    if input.now.mono < due {
        return Some(due);
    }
    entry.previous = None;
    entry.record.previous = None;
    // Services and failures are recorded by fingerprint: drops those of the
    // previous document alone.
    entry.forget_services();
    None
}

pub(in crate::node) fn repair_started(
    entry: &mut DeploymentEntry,
    side: Side,
    component: &ComponentName,
    input: &DecisionInput<'_>,
) {
    let restarts = entry.record.restarts_on(side).entry(component.clone()).or_default();
    restarts.add_now(input);
}

/// A repair failed, so its fingerprint has to be prepared again. Only a revision
/// error counts as a restart; after any other the next try waits longer, too.
pub(in crate::node) fn repair_failed(
    entry: &mut DeploymentEntry,
    side: Side,
    action: &Action,
    failure: &Failure,
    input: &DecisionInput<'_>,
) {
    let Some(component) = action.component() else { return };
    if let Some(fingerprint) = action.fingerprint() {
        entry.memory.prepared.remove(&fingerprint);
    }
    let restarts = entry.record.restarts_on(side).entry(component.clone()).or_default();
    match failure.code.class() {
        Class::Revision => restarts.add_now(input),
        Class::Environment | Class::Device => restarts.retry.again(input),
    }
}

impl Restarts {
    /// How many restarts there were within the window.
    fn count_in_window(&self, input: &DecisionInput<'_>) -> usize {
        let window = input.policy.restart_window;
        self.times.iter().filter(|it| input.now.mono.since(**it) < window).count()
    }

    fn add_now(&mut self, input: &DecisionInput<'_>) {
        let window = input.policy.restart_window;
        self.times.retain(|it| input.now.mono.since(*it) < window);
        self.times.push(input.now.mono);
        // Only whether the limit is reached matters, so no more are kept.
        let surplus = self.times.len().saturating_sub(input.policy.restart_limit + 1);
        self.times.drain(..surplus);
        self.retry = Retry { tries: self.retry.tries + 1, due: None };
    }

    /// When the repair is due; set when the need is first seen.
    fn due(&mut self, input: &DecisionInput<'_>) -> Monotonic {
        // A restart that succeeded does not reset the wait: a component that
        // ends again and again is restarted more and more rarely.
        let tries = self.count_in_window(input).max(self.retry.tries);
        let wait = input.policy.backoff.wait(tries, input.now.entropy);
        *self.retry.due.get_or_insert(input.now.mono.after(wait))
    }

    /// Resets a repair that is done. Returns whether the entry is still needed.
    fn reset_if_done(&mut self, needs_repair: bool, input: &DecisionInput<'_>) -> bool {
        if !needs_repair {
            self.retry.due = None;
            let quiet_long_enough = self
                .times
                .last()
                .is_none_or(|it| input.now.mono.since(*it) >= input.policy.backoff.longest);
            if quiet_long_enough {
                self.retry.tries = 0;
            }
        }
        needs_repair || self.count_in_window(input) > 0 || self.retry.tries > 0
    }
}
