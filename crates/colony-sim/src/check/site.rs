//! The invariants of an LO's persisted state: within the limits of the
//! strategy, equal to its log, and with a `why`.

use std::collections::BTreeSet;

use colony_core::event::{Body, Event, Presence};
use colony_core::id::{NodeName, SiteName};
use colony_core::site::Step;
use colony_core::state::State;
use colony_core::time::Now;
use colony_core::transition::TABLE;
use colony_core::why;
use colony_world::{deployments_taken_down, excess, paused_start};

use crate::coverage::Trial;
use crate::world::World;

impl World {
    /// Checks the rows that an LO has just persisted.
    pub(crate) fn observe_site(&mut self, site: usize, step: &Step, now: Now) {
        self.steps += 1;
        for event in &step.events {
            self.note_event(site, event);
            self.check_purged(site, event);
            if let Err(what) = self.checker.follow(site, event) {
                self.violate(what);
            }
        }
        self.check_limits(site, step);
        self.check_pauses(site, step);
        self.check_steps(site, step);
        self.check_labels(site, step);
        self.check_lost(site, step);
        self.check_states(site, step, now);
    }

    /// No attempt is in progress on a node that is offline.
    fn check_lost(&mut self, site: usize, step: &Step) {
        let core = &self.roles.sites[site].core;
        let is_gone = |node: &NodeName| {
            core.site_node(node).is_some_and(|it| it.presence() == Presence::Offline)
        };
        let gone: BTreeSet<&NodeName> =
            step.changed.site_nodes.iter().filter(|it| is_gone(it)).collect();
        let mut under_way = core.placements().filter(|it| it.state().is_in_progress());
        let lost = under_way.find(|it| gone.contains(&it.id.node)).map(|it| it.id.clone());
        drop(under_way);
        if let Some(id) = lost {
            self.violate(format!("{id} is under way on a node that is offline"));
        }
    }

    /// Volumes that are reported as removed are gone.
    fn check_purged(&mut self, site: usize, event: &Event) {
        let Body::StateTransition(it) = &event.body else { return };
        if !it.removal.is_some_and(|it| it.purged) {
            return;
        }
        self.coverage.trial(Trial::VolumesPurged);
        let mut devices = self.roles.nodes.iter();
        let device = devices.find(|at| at.site == site && at.name == it.node);
        if device.is_some_and(|at| at.engine.has_volume(&it.deployment)) {
            let what = format!("{} still has the volume of {}", it.node, it.deployment);
            self.violate(what);
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
        self.note(|w| describe(&w.roles.sites[site].name, event));
    }

    /// No attempt starts that would take down more nodes than the strategy
    /// allows.
    fn check_limits(&mut self, site: usize, step: &Step) {
        let core = &self.roles.sites[site].core;
        let starts = deployments_taken_down(core, &step.events);
        let replaced = std::mem::take(&mut self.checker.replaced);
        for deployment in starts.into_iter().chain(replaced) {
            if let Some(what) = excess(&self.roles.sites[site].core, &deployment) {
                self.violate(what);
            }
        }
    }

    /// Nothing of a paused rollout starts.
    fn check_pauses(&mut self, site: usize, step: &Step) {
        if let Some(what) = paused_start(&self.roles.sites[site].core, &step.events) {
            self.violate(what);
        }
    }

    /// The state equals the log, and a state that is not final has a `why`.
    fn check_states(&mut self, site: usize, step: &Step, now: Now) {
        for id in &step.changed.placements {
            let core = &self.roles.sites[site].core;
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
                None => self.violate(format!("{id} is {state:?} and there is no why for it")),
            }
        }
    }
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
