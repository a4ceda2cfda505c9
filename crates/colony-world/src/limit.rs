//! The limits of a rollout: never more nodes down by own action than the
//! strategy allows, and no start while an operator has paused it.

use colony_core::event::{Body, Event, Transition};
use colony_core::id::{DeploymentId, PlacementId};
use colony_core::site::{Placement, Site};
use colony_core::state::State;
use colony_core::transition::Trigger;

/// The transitions among events.
pub fn transitions(events: &[Event]) -> impl Iterator<Item = &Transition> {
    events.iter().filter_map(|it| {
        let Body::StateTransition(it) = &it.body else { return None };
        Some(it)
    })
}

/// The deployments of which an attempt began that takes a node down. An attempt
/// beside the active version takes nothing down.
pub fn deployments_taken_down(core: &Site, events: &[Event]) -> Vec<DeploymentId> {
    let starts = transitions(events).filter(|it| is_start(it) && !active_runs(core, it));
    starts.map(|it| it.deployment.clone()).collect()
}

/// How many nodes of a deployment are down, if more than its strategy allows.
pub fn excess(core: &Site, deployment: &DeploymentId) -> Option<String> {
    let limit = core.rollout_limit(deployment)?;
    let is_down =
        |it: &Placement| it.state().is_in_progress() || matches!(it.state(), State::Unknown(_));
    let own = core.placements().filter(|it| it.id.deployment == *deployment);
    let down = own.filter(|it| !it.staging().active_runs() && is_down(it)).count();
    let what = format!("{down} placements of {deployment} are down, {limit} may be");
    (down > limit as usize).then_some(what)
}

/// A start of the revision of Git in a rollout that is paused. Rollbacks and
/// repairs are not stopped by a pause.
pub fn paused_start(core: &Site, events: &[Event]) -> Option<String> {
    let forward = |it: &&Transition| {
        matches!(it.trigger, Trigger::Start | Trigger::Revised | Trigger::Promoted)
    };
    transitions(events).filter(forward).find_map(|it| {
        let deployment = core.deployment(&it.deployment)?;
        let target = it.revisions.target.as_ref()?;
        let paused = deployment.rollout().paused.is_some();
        let of_git = target.workload == deployment.accepted().workload;
        let what = || format!("{} starts on {}, and its rollout is paused", it.deployment, it.node);
        (paused && of_git).then(what)
    })
}

fn is_start(it: &Transition) -> bool {
    let takes_down = it.trigger == Trigger::Rollback && it.from == Some(State::Installed);
    let begins = matches!(
        it.trigger,
        Trigger::Start | Trigger::Revised | Trigger::Retry | Trigger::Promoted
    );
    takes_down || (begins && matches!(it.to, State::Installing | State::Updating))
}

fn active_runs(core: &Site, it: &Transition) -> bool {
    let id = PlacementId { deployment: it.deployment.clone(), node: it.node.clone() };
    core.placement(&id).is_some_and(|it| it.staging().active_runs())
}
