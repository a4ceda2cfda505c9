//! The invariants, checked after every step of everybody.
//!
//! - no transition outside the table, none that starts elsewhere than it says;
//! - nothing is under way on a node that is offline;
//! - the log has no gap and no change, also over crashes;
//! - never more nodes down by our own action than the strategy allows;
//! - manifest versions never go back, and one version has one content;
//! - only a revision's own fault, or an operator, quarantines it;
//! - only a look at the engine makes a workload INSTALLED;
//! - a node removes no deployment that it is to run, and forgets no report;
//! - a workload that is well and wanted is not stopped by us;
//! - no acknowledged event is lost, also over backups, as long as somebody has it;
//! - an order of CO's that is said to be executed was executed;
//! - what is not final has a specific `why` (also asked at random moments, in
//!   `ask.rs`, of the sites and of CO).

use std::collections::{BTreeMap, BTreeSet};

use colony_core::attempt::Revision;
use colony_core::code::Class;
use colony_core::event::{Body, Event, Incarnation, Log, Presence, Transition};
use colony_core::id::{DeploymentId, NodeName, PlacementId, SiteName};
use colony_core::site::{Action, NodeManifest, Site, Step};
use colony_core::state::State;
use colony_core::time::Now;
use colony_core::transition::{TABLE, Trigger, is_legal};
use colony_core::{node, why};
use colony_margo::Digest;

use crate::central::Stored;
use crate::world::World;

/// What the invariants need to remember.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    states: BTreeMap<(usize, PlacementId), State>,
    /// Whose attempt runs beside what was there.
    beside: BTreeSet<(usize, PlacementId)>,
    /// The deployments of a step in which a staged revision was replaced.
    replaced: Vec<DeploymentId>,
    logs: BTreeMap<usize, Log>,
    /// The newest manifest each node was served, by each LO.
    served: BTreeMap<(usize, usize), (u64, Digest)>,
    accepted: BTreeMap<usize, u64>,
    /// How many events of each log CO has acknowledged.
    acknowledged: BTreeMap<(SiteName, Incarnation), usize>,
    /// What the sites did for which of CO's orders.
    orders: BTreeMap<(usize, u64), Action>,
}

/// What CO has stored, by log.
type Logs = BTreeMap<(SiteName, Incarnation), Stored>;

impl Checker {
    /// A new LO of the site starts from what CO told it.
    pub(crate) fn begin(&mut self, site: usize, log: Log, states: BTreeMap<PlacementId, State>) {
        self.served.retain(|key, _| key.0 != site);
        self.states.retain(|key, _| key.0 != site);
        self.beside.retain(|key| key.0 != site);
        self.states.extend(states.into_iter().map(|(id, state)| ((site, id), state)));
        self.logs.insert(site, log);
    }

    /// The LO of `site` is known as `ghost` from here on.
    pub(crate) fn haunts(&mut self, site: usize, ghost: usize) {
        let old = std::mem::take(&mut self.states);
        let rename = |((it, id), state)| ((if it == site { ghost } else { it }, id), state);
        self.states = old.into_iter().map(rename).collect();
        self.logs.extend(self.logs.get(&site).cloned().map(|it| (ghost, it)));
    }

    /// What CO lacks of the log of an LO that is replaced is lost with it.
    pub(crate) fn successor(&mut self, name: &SiteName, incarnation: Incarnation, stored: &Logs) {
        let key = (name.clone(), incarnation);
        let there = stored.get(&key).map_or(0, Vec::len);
        self.acknowledged.entry(key).and_modify(|it| *it = there.min(*it));
    }

    /// Only the logs of `alive` can be sent again to a CO that has `stored`.
    pub(crate) fn forgive(&mut self, alive: &BTreeSet<(SiteName, Incarnation)>, stored: &Logs) {
        for (key, count) in &mut self.acknowledged {
            if !alive.contains(key) {
                *count = stored.get(key).map_or(0, Vec::len).min(*count);
            }
        }
    }

    /// A log of which CO has less than it acknowledged.
    pub(crate) fn lost_events(&self, stored: &Logs) -> Option<String> {
        let there = |key| stored.get(key).map_or(0, Vec::len);
        let lost = self.acknowledged.iter().find(|(key, count)| there(key) < **count)?;
        let ((site, incarnation), count) = lost;
        let there = there(lost.0);
        Some(format!(
            "CO has {there} of {count} events of incarnation {incarnation} of {site} that it acknowledged"
        ))
    }

    /// What an LO served a node last.
    pub(crate) fn served(&self, site: usize, node: usize) -> Option<(u64, Digest)> {
        self.served.get(&(site, node)).copied()
    }

    pub(crate) fn executed(&mut self, site: usize, number: u64, action: Action) {
        self.orders.insert((site, number), action);
    }

    /// The site forgets a device that is gone for good, with its versions.
    pub(crate) fn retired(&mut self, node: usize) {
        self.forget_node(node);
        self.served.retain(|key, _| key.1 != node);
    }

    /// The node lost its memory, so nothing it accepted before counts.
    pub(crate) fn forget_node(&mut self, node: usize) {
        self.accepted.remove(&node);
    }

    fn follow(&mut self, site: usize, event: &Event) -> Result<(), String> {
        let log = self.logs.get_mut(&site).ok_or("an event of a site nobody knows")?;
        log.follow(event).map_err(|it| it.to_string())?;
        if let Body::StateTransition(it) = &event.body {
            return self.transition(site, it);
        }
        let (Body::Quarantined { failure, .. }
        | Body::RolloutStopped { failure, .. }
        | Body::RevisionRejected { failure, .. }) = &event.body
        else {
            return Ok(());
        };
        if failure.code.class() != Class::Revision && !event.actor.is_operator() {
            return Err(format!("{} condemned a revision", failure.code));
        }
        Ok(())
    }

    fn transition(&mut self, site: usize, it: &Transition) -> Result<(), String> {
        let id = PlacementId { deployment: it.deployment.clone(), node: it.node.clone() };
        let key = (site, id);
        let from = self.states.get(&key).copied();
        if from != it.from {
            return Err(format!("{}: moves from {:?} but was {from:?}", key.1, it.from));
        }
        if !is_legal(it.from, it.trigger, it.to) {
            return Err(format!("{}: {:?} to {} is not in the table", key.1, it.from, it.to));
        }
        self.note_beside(&key, it);
        if it.to == State::Deleted {
            self.states.remove(&key);
        } else {
            self.states.insert(key, it.to);
        }
        Ok(())
    }

    /// What takes the place of a staged revision takes down what ran on, unless
    /// that is what it brings.
    fn note_beside(&mut self, key: &(usize, PlacementId), it: &Transition) {
        let was =
            if it.beside { !self.beside.insert(key.clone()) } else { self.beside.remove(key) };
        let workload = |it: &Option<Revision>| it.as_ref().map(|it| it.workload);
        let back = workload(&it.revisions.target) == workload(&it.revisions.last_good);
        if was && !it.beside && !back && it.trigger == Trigger::Superseded {
            self.replaced.push(it.deployment.clone());
        }
    }
}

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

    /// Looks at a manifest that is about to be sent.
    pub(crate) fn observe_manifest(&mut self, site: usize, node: usize, manifest: &NodeManifest) {
        let new = (manifest.version, manifest.etag);
        if let Some(old) = self.checker.served.insert((site, node), new) {
            let name = self.nodes[node].name.clone();
            if new.0 < old.0 {
                self.violate(format!("{name} was served version {} after {}", new.0, old.0));
            } else if new.0 == old.0 && new.1 != old.1 {
                self.violate(format!("{name} was served two manifests with version {}", new.0));
            }
        }
    }

    /// Looks at what a node has just persisted and is about to do.
    pub(crate) fn observe_node(&mut self, node: usize, step: &node::Step) {
        self.steps += 1;
        let edge = &self.nodes[node];
        let name = edge.name.clone();
        let version = edge.core.version().map_or(0, |it| it.get());
        let before = self.checker.accepted.insert(node, version).unwrap_or(0);
        if version < before {
            self.violate(format!("{name} went back from version {before} to {version}"));
        }
        for action in &step.actions {
            self.note(|_| format!("EN {name} {action:?}"));
            self.check_action(node, action);
            self.check_stage(node, action);
        }
    }

    /// What is wanted is not removed.
    fn check_action(&mut self, node: usize, action: &node::Action) {
        let edge = &self.nodes[node];
        let needless = match action {
            node::Action::Remove { deployment } => edge.core.wanted().contains_key(deployment),
            node::Action::Clear { deployment, component, keep } => {
                let wanted = edge.wanted_fingerprints(deployment);
                let well = edge.engine.runs_well(deployment, component, &wanted, self.now);
                let quiet = edge.engine.sound_since(self.now.saturating_sub(120_000));
                quiet && well.is_some() && well != *keep
            }
            node::Action::Prepare { .. }
            | node::Action::Start { .. }
            | node::Action::Stage { .. }
            | node::Action::Unstage { .. } => false,
        };
        if needless {
            let name = edge.name.clone();
            self.violate(format!("{name} takes a wanted workload away: {action:?}"));
        }
    }

    /// What CO has stored is what the LO has written.
    pub(crate) fn check_acknowledged(
        &mut self,
        site: usize,
        incarnation: Incarnation,
        batch: &[Event],
    ) {
        let local = &self.sites[site];
        let key = (local.name.clone(), incarnation);
        let Some(stored) = self.central.events.get(&key) else { return };
        let count = stored.len();
        let late = local.core.log().incarnation != incarnation;
        if batch.is_empty() || late || local.uplink.rewound {
            return;
        }
        let differs =
            count > local.log.len() || stored.last().is_some_and(|it| it.0 != local.log[count - 1]);
        self.checker.acknowledged.insert(key, count);
        if differs {
            let name = local.name.clone();
            self.violate(format!("LO {name} has lost or changed an acknowledged event"));
        }
    }

    /// CO takes an order for done only if that very order was executed.
    pub(crate) fn check_orders(&mut self, site: usize, batch: &[Event]) {
        let name = &self.sites[site].name;
        let open = self.central.core.commands_open(name);
        let done = batch.iter().filter_map(|it| {
            let Body::CommandDone { number, .. } = &it.body else { return None };
            *number
        });
        let wrong = done.into_iter().find_map(|number| {
            let given = open.iter().find(|it| it.number == Some(number))?;
            let did = self.checker.orders.get(&(site, number))?;
            (*did != given.action).then(|| format!("{:?}, but {did:?} was", given.action))
        });
        if let Some(what) = wrong {
            self.violate(format!("CO takes an order for executed: {what}"));
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

fn describe(site: &colony_core::id::SiteName, event: &Event) -> String {
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
