//! Keeping what is installed as it was: drift is repaired, for ever.
//!
//! What is missing or has ended is started again after a wait that doubles. A
//! component that needs it too often, or whose health check fails, is reported
//! as failed, but nothing is given up: the repairs go on, and when it is well
//! again that is reported too.

use colony_margo::ComponentName;

use super::engine::Action;
use super::held::{Held, Next, Scene, sooner, vanished};
use super::plan::{Plan, Side};
use super::row::{Phase, Restarts, Retry};
use super::sight::Sight;
use crate::attempt::Failure;
use crate::code::Class;
use crate::time::Mono;

pub(super) fn next(held: &mut Held, scene: &Scene<'_>) -> Next {
    let Ok(plan) = held.plan.clone() else { return Next::Wait(None) };
    let proof = let_go_of_previous(held, scene);
    let recovery = judge(held, &plan, scene);
    let beside = match plan.is_staged() {
        true => mend_the_old(held, scene),
        false => unstage(held, scene),
    };
    match (beside, mend(held, &plan, scene)) {
        (Next::Act(action), _) | (_, Next::Act(action)) => Next::Act(action),
        (Next::Wait(old), Next::Wait(own)) => {
            Next::Wait(sooner(sooner(old, own), sooner(recovery, proof)))
        }
    }
}

/// What runs on while something else is staged is repaired as ever.
pub(super) fn mend_the_old(held: &mut Held, scene: &Scene<'_>) -> Next {
    let old = held.previous.clone().filter(|_| held.is_staging());
    let Some(plan) = old else { return Next::Wait(None) };
    let recovery = judge_the_old(held, &plan, scene);
    match mend(held, &plan, scene) {
        Next::Act(action) => Next::Act(action),
        Next::Wait(until) => Next::Wait(sooner(until, recovery)),
    }
}

/// What was staged has been taken over, or is not wanted any more.
fn unstage(held: &mut Held, scene: &Scene<'_>) -> Next {
    let left = Side::Stage.of(scene.containers).map(|it| &it.component);
    let wanted = left.map(|it| held.clear(Side::Stage, it, None)).collect();
    first_due(held, Side::Stage, wanted, scene)
}

/// The first repair that `plan` needs and whose time has come.
pub(super) fn mend(held: &mut Held, plan: &Plan, scene: &Scene<'_>) -> Next {
    let wanted = repairs(held, plan, scene);
    first_due(held, plan.phase, wanted, scene)
}

fn first_due(held: &mut Held, side: Side, wanted: Vec<Action>, scene: &Scene<'_>) -> Next {
    let all = held.record.restarts_on(side);
    all.retain(|name, it| {
        let needed = wanted.iter().any(|action| action.component() == Some(name));
        it.rest(needed, scene)
    });
    let mut wake = None;
    for action in wanted {
        let Some(component) = action.component() else { continue };
        let due = all.entry(component.clone()).or_default().due(scene);
        if due <= scene.now.mono {
            return Next::Act(action);
        }
        wake = sooner(wake, Some(due));
    }
    Next::Wait(wake)
}

/// What each component needs next, if anything.
fn repairs(held: &Held, plan: &Plan, scene: &Scene<'_>) -> Vec<Action> {
    let gone = vanished(plan, scene).map(|it| held.clear(plan.phase, it, None));
    let sights = held.sights(plan, scene);
    gone.into_iter().chain(sights.iter().filter_map(|it| repair(held, plan.phase, it))).collect()
}

fn repair(held: &Held, side: Side, sight: &Sight<'_>) -> Option<Action> {
    let part = sight.part;
    if sight.has_strangers() {
        return Some(held.clear(side, &part.component, Some(part.fingerprint)));
    }
    // The manager's next try would bring a fresh one; while something is
    // staged it has none for what runs on.
    let on_its_own = held.is_staging() && side == Side::Active;
    if on_its_own && sight.unhealthy().is_some() {
        return Some(held.clear(side, &part.component, None));
    }
    if sight.is_complete() {
        return None;
    }
    let at_hand = held.memory.prepared.contains(&part.fingerprint);
    Some(if at_hand { held.start(side, part) } else { held.prepare(part) })
}

/// Says whether the deployment counts as lost, and when it would count as well.
fn judge(held: &mut Held, plan: &Plan, scene: &Scene<'_>) -> Option<Mono> {
    let worst = worst(held, plan, scene);
    let well = held.settled_at(plan, scene);
    held.memory.watched |= well.is_some();
    let Phase::Installed { lost, .. } = &mut held.record.phase else { return None };
    weigh(lost, worst, well, scene)
}

/// The same of what runs on while something else is staged.
fn judge_the_old(held: &mut Held, plan: &Plan, scene: &Scene<'_>) -> Option<Mono> {
    let worst = worst(held, plan, scene);
    let well = held.settled_at(plan, scene);
    weigh(&mut held.record.old_lost, worst, well, scene)
}

fn worst(held: &Held, plan: &Plan, scene: &Scene<'_>) -> Option<Failure> {
    held.sights(plan, scene).iter().find_map(|it| hopeless(held, plan.phase, it, scene))
}

fn weigh(
    lost: &mut Option<Failure>,
    worst: Option<Failure>,
    well: Option<Mono>,
    scene: &Scene<'_>,
) -> Option<Mono> {
    if lost.is_none() {
        *lost = worst;
        return None;
    }
    if well.is_some_and(|it| it <= scene.seen) {
        *lost = None;
        return None;
    }
    well
}

/// Why a component is beyond what restarts may do quietly.
fn hopeless(held: &Held, side: Side, sight: &Sight<'_>, scene: &Scene<'_>) -> Option<Failure> {
    let restarts = match side {
        Side::Stage => &held.record.staged_restarts,
        Side::Active => &held.record.restarts,
    };
    let restarts = restarts.get(&sight.part.component);
    let many = restarts.is_some_and(|it| it.recent(scene) >= scene.policy.restart_limit);
    let own = held.plan.as_ref().is_ok_and(|it| it.phase == side);
    let fresh = own && is_on_probation(held, scene);
    let ended = sight.ended().filter(|_| fresh);
    sight.unhealthy().or(ended).or_else(|| sight.broken().filter(|_| many))
}

/// What ended while nobody watched, as in a power cut, proves nothing.
fn is_on_probation(held: &Held, scene: &Scene<'_>) -> bool {
    let Phase::Installed { since, .. } = held.record.phase else { return false };
    held.memory.watched && scene.now.mono.since(since) < scene.policy.probation
}

/// The document before is kept until this one has been installed long enough
/// and is well.
fn let_go_of_previous(held: &mut Held, scene: &Scene<'_>) -> Option<Mono> {
    let Phase::Installed { since, lost: None } = held.record.phase else { return None };
    held.previous.as_ref().filter(|_| !held.is_staging())?;
    let proven = since.after(scene.policy.proof);
    if scene.now.mono < proven {
        return Some(proven);
    }
    held.previous = None;
    held.record.previous = None;
    held.forget_services();
    None
}

pub(super) fn started(held: &mut Held, side: Side, component: &ComponentName, scene: &Scene<'_>) {
    let restarts = held.record.restarts_on(side).entry(component.clone()).or_default();
    restarts.count(scene);
}

/// A repair did not work. An error of the environment is not held against the
/// component; what it was prepared with is looked at again.
pub(super) fn missed(
    held: &mut Held,
    side: Side,
    action: &Action,
    failure: &Failure,
    scene: &Scene<'_>,
) {
    let Some(component) = action.component() else { return };
    if let Some(fingerprint) = action.fingerprint() {
        held.memory.prepared.remove(&fingerprint);
    }
    let restarts = held.record.restarts_on(side).entry(component.clone()).or_default();
    match failure.code.class() {
        Class::Revision => restarts.count(scene),
        Class::Environment | Class::Device => restarts.retry.again(scene),
    }
}

impl Restarts {
    /// Restarts within the window.
    fn recent(&self, scene: &Scene<'_>) -> usize {
        let window = scene.policy.restart_window;
        self.times.iter().filter(|it| scene.now.mono.since(**it) < window).count()
    }

    fn count(&mut self, scene: &Scene<'_>) {
        let window = scene.policy.restart_window;
        self.times.retain(|it| scene.now.mono.since(*it) < window);
        self.times.push(scene.now.mono);
        // More than this many are never told apart.
        let surplus = self.times.len().saturating_sub(scene.policy.restart_limit + 1);
        self.times.drain(..surplus);
        self.retry = Retry { tries: self.retry.tries + 1, due: None };
    }

    /// When the repair may be done; set when the need is first seen.
    fn due(&mut self, scene: &Scene<'_>) -> Mono {
        let tries = self.recent(scene).max(self.retry.tries);
        let wait = scene.policy.backoff.wait(tries, scene.now.entropy);
        *self.retry.due.get_or_insert(scene.now.mono.after(wait))
    }

    /// Forgets what is over. Returns whether anything is left to remember.
    fn rest(&mut self, needed: bool, scene: &Scene<'_>) -> bool {
        if !needed {
            self.retry.due = None;
            let calm = self
                .times
                .last()
                .is_none_or(|it| scene.now.mono.since(*it) >= scene.policy.backoff.longest);
            if calm {
                self.retry.tries = 0;
            }
        }
        needed || self.recent(scene) > 0 || self.retry.tries > 0
    }
}
