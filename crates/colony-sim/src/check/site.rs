//! What an LO has persisted: within the limits of the strategy, as its log says,
//! and with a `why`.

use std::collections::BTreeSet;

use colony_core::event::{Body, Event, Presence, Transition};
use colony_core::id::{DeploymentId, NodeName, PlacementId, SiteName};
use colony_core::site::{Site, Step};
use colony_core::state::State;
use colony_core::time::Now;
use colony_core::transition::{TABLE, Trigger};
use colony_core::why;

use crate::world::World;

impl World {
    /// Looks at what an LO has just persisted.
    pub(crate) fn observe_site(&mut self, site: usize, step: &Step, now: Now) {
        self.steps += 1;
        for event in &step.events {
            self.note_event(site, event);
            if let Err(what) = self.checker.follow(site, event) {
                self.violate(what);
            }
        }
        self.check_limits(site, step);
        self.check_steps(site, step);
        self.check_labels(site, step);
        self.check_lost(site, step);
        self.check_states(site, step, now);
    }

    /// Nothing is under way on a node that is gone.
    fn check_lost(&mut self, site: usize, step: &Step) {
        let core = &self.sites[site].core;
        let is_gone = |node: &NodeName| {
            core.member(node).is_some_and(|it| it.presence() == Presence::Offline)
        };
        let gone: BTreeSet<&NodeName> =
            step.changed.members.iter().filter(|it| is_gone(it)).collect();
        let mut under_way = core.placements().filter(|it| it.state().is_in_flight());
        let lost = under_way.find(|it| gone.contains(&it.id.node)).map(|it| it.id.clone());
        drop(under_way);
        if let Some(id) = lost {
            self.violate(format!("{id} is under way on a node that is offline"));
        }
    }

    fn note_event(&mut self, site: usize, event: &Event) {
        if let Body::StateTransition(it) = &event.body {
            let row = TABLE.iter().find(|row| row.trigger == it.trigger && row.starts_at(it.from));
            if let Some(row) = row {
                self.coverage.row(row.id);
            }
            if let Some(failure) = &it.failure {
                self.coverage.code(&failure.code);
            }
        }
        if let Body::Quarantined { failure, .. } = &event.body {
            self.coverage.code(&failure.code);
        }
        self.note(|w| describe(&w.sites[site].name, event));
    }

    /// Nothing starts that would take more down than the strategy allows.
    fn check_limits(&mut self, site: usize, step: &Step) {
        let core = &self.sites[site].core;
        let starts = step.events.iter().filter_map(|it| {
            let Body::StateTransition(it) = &it.body else { return None };
            (is_start(it) && !is_aside(core, it)).then(|| it.deployment.clone())
        });
        let starts: Vec<DeploymentId> = starts.collect();
        let replaced = std::mem::take(&mut self.checker.replaced);
        for deployment in starts.into_iter().chain(replaced) {
            let core = &self.sites[site].core;
            let Some(limit) = core.rollout_limit(&deployment) else { continue };
            let busy = core
                .placements()
                .filter(|it| !it.is_aside() && is_busy(it.state(), &it.id, &deployment));
            let busy = busy.count();
            if busy > limit as usize {
                self.violate(format!("{busy} placements of {deployment} are down, {limit} may be"));
            }
        }
    }

    /// What the log says is what the state is, and what is not final has a `why`.
    fn check_states(&mut self, site: usize, step: &Step, now: Now) {
        for id in &step.changed.placements {
            let core = &self.sites[site].core;
            let state = core.placement(id).map(|it| it.state());
            let logged = self.checker.states.get(&(site, id.clone())).copied();
            if state != logged {
                self.violate(format!("{id} is {state:?}, but its log says {logged:?}"));
                return;
            }
            if state.is_none_or(State::is_final) {
                continue;
            }
            match why::placement(core, id, now) {
                Some(why) => self.coverage.why(&why),
                None => self.violate(format!("{id} is {state:?} and nobody knows why")),
            }
        }
    }
}

fn is_start(it: &Transition) -> bool {
    let takes_down = it.trigger == Trigger::Rollback && it.from == Some(State::Installed);
    let begins = matches!(
        it.trigger,
        Trigger::Start | Trigger::Revised | Trigger::Retry | Trigger::Promoted
    );
    takes_down || (begins && matches!(it.to, State::Installing | State::Updating))
}

/// It runs beside what is there, and takes nothing down.
fn is_aside(core: &Site, it: &Transition) -> bool {
    let id = PlacementId { deployment: it.deployment.clone(), node: it.node.clone() };
    core.placement(&id).is_some_and(|it| it.is_aside())
}

fn is_busy(state: State, id: &PlacementId, deployment: &DeploymentId) -> bool {
    id.deployment == *deployment && (state.is_in_flight() || matches!(state, State::Unknown(_)))
}

fn describe(site: &SiteName, event: &Event) -> String {
    let Body::StateTransition(it) = &event.body else {
        return format!("LO {site} #{} {:?}", event.seq, event.body);
    };
    let from = it.from.map_or("–".to_owned(), |it| it.to_string());
    let code = it.failure.as_ref().map(|it| format!(" {}", it.code)).unwrap_or_default();
    format!(
        "LO {site} #{} {}@{} {from} → {} ({}, attempt {}{code})",
        event.seq,
        &it.deployment.to_string()[..8],
        it.node,
        it.to,
        it.trigger.name(),
        it.attempt,
    )
}
