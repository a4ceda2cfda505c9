//! Bringing a deployment to its document.
//!
//! Everything is prepared first, while what was there runs on. Then each
//! component in turn: what is made from something else is cleared, the rest
//! started, and the next one waits until it is healthy. What already runs with
//! the right fingerprint is left alone.

use std::time::Duration;

use colony_margo::Digest;

use super::engine::{Action, Container, Health};
use super::held::{Held, Next, Scene, sooner, vanished};
use super::plan::{Part, Plan, Side};
use super::repair;
use super::row::{Phase, Turn};
use super::sight::Sight;
use crate::attempt::Failure;
use crate::code::Code;
use crate::time::{Mono, Spoken};

/// What one look at a component says.
enum Look {
    Ready,
    Act(Action),
    Fail(Failure),
    /// It may become ready by itself, latest then. A time that has come asks
    /// for another look at the engine.
    Wait(Mono),
}

pub(super) fn next(held: &mut Held, scene: &Scene<'_>) -> Next {
    let Ok(plan) = held.plan.clone() else { return Next::Wait(None) };
    let mut wake = match repair::mend_the_old(held, scene) {
        Next::Act(action) => return Next::Act(action),
        Next::Wait(until) => until,
    };
    if let Some(action) = preparation(held, &plan, scene) {
        return Next::Act(action);
    }
    if let Some(component) = vanished(&plan, scene) {
        let action = held.clear(plan.phase, component, None);
        return swap(held, action);
    }
    let mut waits = false;
    for part in &plan.parts {
        match look(held, plan.phase, part, scene) {
            Look::Ready => mark_ready(held, part),
            Look::Act(action) => return swap(held, action),
            Look::Fail(failure) => {
                held.fail(failure);
                return Next::Wait(None);
            }
            Look::Wait(until) if part.waits => return Next::Wait(sooner(wake, Some(until))),
            Look::Wait(until) => (wake, waits) = (sooner(wake, Some(until)), true),
        }
    }
    if !waits {
        held.succeed(scene.now.mono);
    }
    Next::Wait(wake)
}

/// The first component that does not run in full, or has failed before, and is
/// not at hand.
fn preparation(held: &Held, plan: &Plan, scene: &Scene<'_>) -> Option<Action> {
    let sights = held.sights(plan, scene);
    let suspect = |it: &Sight<'_>| held.record.failed.contains(&it.part.fingerprint);
    let incomplete = |it: &Sight<'_>| !it.is_complete() && !has_failed(held, it);
    let lacking = sights.iter().filter(|it| suspect(it) || incomplete(it));
    let at_hand = &held.memory.prepared;
    let mut missing = lacking.map(|it| it.part).filter(|it| !at_hand.contains(&it.fingerprint));
    missing.next().map(|it| held.prepare(it))
}

/// It was told to run and has ended: no preparation will help.
fn has_failed(held: &Held, sight: &Sight<'_>) -> bool {
    turn(held, sight.part).is_some() && sight.ended().is_some()
}

fn look(held: &mut Held, side: Side, part: &Part, scene: &Scene<'_>) -> Look {
    let sight = Sight::of(side, part, &held.record.services, scene.containers);
    if held.memory.outdated.contains(&part.fingerprint) {
        return Look::Act(held.clear(side, &part.component, None));
    }
    let turn = turn(held, part);
    let unwell = sight.ended().or_else(|| sight.unhealthy());
    if let (Some(failure), Some(_)) = (unwell, turn) {
        return Look::Fail(failure);
    }
    // A new attempt that finds an unhealthy container starts with a fresh one.
    // A look from before the attempt does not count: the container may have
    // recovered since, and what is well is not stopped.
    if sight.unhealthy().is_some() {
        if scene.seen < held.memory.accepted_at {
            return Look::Wait(scene.now.mono);
        }
        return Look::Act(held.clear(side, &part.component, None));
    }
    if sight.has_strangers() {
        return Look::Act(held.clear(side, &part.component, Some(part.fingerprint)));
    }
    if !sight.is_complete() {
        return Look::Act(held.start(side, part));
    }
    let turn = turn.unwrap_or(Turn { since: scene.now.mono, started: false });
    let look = await_ready(held, &sight, turn, scene);
    if let Phase::Applying { turns, .. } = &mut held.record.phase {
        turns.insert(part.component.clone(), turn);
    }
    look
}

fn await_ready(held: &Held, sight: &Sight<'_>, turn: Turn, scene: &Scene<'_>) -> Look {
    let now = scene.now.mono;
    let trusted = !turn.started && held.record.proven.contains(&sight.part.fingerprint);
    let settle = |it: &Container| settle_time(it, trusted, scene);
    let ready = sight.well_at(&held.memory.steady, settle);
    if ready.is_some_and(|it| it <= scene.seen) {
        return Look::Ready;
    }
    let timeout = sight.part.timeout.unwrap_or(scene.policy.timeout);
    // What is well in time may settle beyond it.
    let grace = if ready.is_some() { scene.policy.settle } else { Duration::ZERO };
    let deadline = turn.since.after(timeout.saturating_add(grace));
    if deadline <= now {
        return Look::Fail(too_late(sight, timeout));
    }
    Look::Wait(ready.map_or(deadline, |it| it.min(deadline)))
}

/// How long a container must run; a passed check or an earlier proof is enough.
fn settle_time(container: &Container, trusted: bool, scene: &Scene<'_>) -> Duration {
    if trusted || container.health == Health::Healthy {
        return Duration::ZERO;
    }
    scene.policy.settle
}

fn too_late(sight: &Sight<'_>, timeout: Duration) -> Failure {
    sight.unhealthy().unwrap_or_else(|| {
        let message = format!("not healthy within {}: {}", Spoken(timeout), sight.lacks());
        sight.failure(Code::ComponentTimeout, message)
    })
}

fn turn(held: &Held, part: &Part) -> Option<Turn> {
    match &held.record.phase {
        Phase::Applying { turns, .. } => turns.get(&part.component).copied(),
        Phase::Installed { .. }
        | Phase::Failed { .. }
        | Phase::Removing { .. }
        | Phase::Removed { .. } => None,
    }
}

fn mark_ready(held: &mut Held, part: &Part) {
    if let Phase::Applying { ready, .. } = &mut held.record.phase {
        ready.insert(part.component.clone());
    }
}

/// From here on the document before may not be whole any more, unless all of
/// this happens beside it.
fn swap(held: &mut Held, action: Action) -> Next {
    let beside = held.is_staging();
    if let Phase::Applying { swapping, .. } = &mut held.record.phase {
        *swapping = !beside;
    }
    Next::Act(action)
}

/// A failed document is not tried again, but it may recover by itself; and as
/// long as nothing of the one before was stopped, that one is kept running.
pub(super) fn next_after_failure(held: &mut Held, scene: &Scene<'_>) -> Next {
    let recovery = recovers_at(held, scene);
    if recovery.is_some_and(|it| it <= scene.seen) {
        held.succeed(scene.now.mono);
        return Next::Wait(None);
    }
    if held.is_staging() {
        return match repair::mend_the_old(held, scene) {
            Next::Act(action) => Next::Act(action),
            Next::Wait(until) => Next::Wait(sooner(until, recovery)),
        };
    }
    let untouched = matches!(held.record.phase, Phase::Failed { swapping: false, .. });
    let previous = held.previous.clone().filter(|_| untouched && runs_nothing_new(held, scene));
    match previous {
        Some(plan) => match repair::mend(held, &plan, scene) {
            Next::Act(action) => Next::Act(action),
            Next::Wait(until) => Next::Wait(sooner(until, recovery)),
        },
        None => Next::Wait(recovery),
    }
}

fn recovers_at(held: &Held, scene: &Scene<'_>) -> Option<Mono> {
    let refused = matches!(&held.record.phase, Phase::Failed { failure, .. } if failure.code == Code::NotEligible);
    let plan = held.plan.as_ref().ok().filter(|it| !refused && vanished(it, scene).is_none())?;
    let strangers = held.sights(plan, scene).iter().any(Sight::has_strangers);
    held.settled_at(plan, scene).filter(|_| !strangers)
}

fn runs_nothing_new(held: &Held, scene: &Scene<'_>) -> bool {
    let old =
        |it: &Digest| held.previous.as_ref().is_some_and(|plan| plan.fingerprints().contains(it));
    Side::Active.of(scene.containers).all(|it| old(&it.fingerprint))
}
