//! The invariants of every state, checked after every step of every role.

mod ask;
mod belief;
pub(crate) mod calm;
mod look;
mod step;
mod swap;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use colony_core::event::{Body, Event, Transition};
use colony_core::id::PlacementId;
use colony_core::margo::Digest;
use colony_core::node;
use colony_core::site::{NodeManifest, Step};
use colony_core::state::State;
use colony_core::time::Now;
use colony_core::transition::{Trigger, is_legal};
use colony_world::{Local, deployments_taken_down, excess, paused_start, transitions};

use crate::world::words;
use crate::world::{FORMER, World};

/// The properties of a world, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    Table,
    Log,
    Versions,
    Content,
    Limit,
    Quarantine,
    Central,
    Acknowledged,
    Belief,
    Restart,
    Removal,
    Deleted,
    Why,
    Seed,
    Step,
    Swap,
    Abort,
    Converges,
}

impl Rule {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Rule::Table => "no transition outside the table, none from elsewhere than it says",
            Rule::Log => "the log has no gap and no change",
            Rule::Versions => "manifest versions never go back, as a node sees them",
            Rule::Content => "one manifest version has one content",
            Rule::Limit => "never more down by own action than maxUnavailable",
            Rule::Quarantine => "a quarantined revision is never offered",
            Rule::Central => "central's log has no gap and no change",
            Rule::Acknowledged => "no acknowledged event is lost",
            Rule::Belief => "central, having received every event, has the state of the site",
            Rule::Restart => "a matching workload is never restarted",
            Rule::Removal => "an empty or unseeded orchestrator removes nothing",
            Rule::Deleted => "DELETED only after the node confirmed, or never had it",
            Rule::Why => "what is not final has a specific why",
            Rule::Seed => "the seed of a new orchestrator leaves nothing out",
            Rule::Step => "no node starts a revision before its step is opened",
            Rule::Swap => {
                "a staged revision is taken over once all reachable nodes have it, or nowhere"
            }
            Rule::Abort => "after an abort no node runs the new revision",
            Rule::Converges => "when the faults stop, the world converges",
        }
    }
}

/// A violated rule, with details.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) rule: Rule,
    pub(crate) what: String,
}

pub(crate) type Verdict = Result<(), (Rule, String)>;

impl World {
    pub(crate) fn break_rule(&mut self, rule: Rule, what: String) {
        self.say(format!("BROKEN: {}: {what}", rule.name()));
        if self.broken.is_none() {
            self.broken = Some(Arc::new(Broken { rule, what }));
        }
    }

    pub(crate) fn judge(&mut self, verdict: Verdict) {
        if let Err((rule, what)) = verdict {
            self.break_rule(rule, what);
        }
    }

    /// Checks the rows that an orchestrator has just persisted.
    pub(crate) fn observe_site(&mut self, before: &Local, step: &Step, now: Now) {
        if self.trail.dry {
            return;
        }
        for event in &step.events {
            self.say(format!("   {}", words::event(event)));
            if let Body::Quarantined { good: None, .. } = &event.body {
                self.removed = true;
            }
        }
        self.judge(self.ask_site(now));
        if step.events.is_empty() && step.changed.placements.is_empty() {
            return;
        }
        self.judge(check_log(before, &step.events));
        let states = self.check_table(before, &step.events);
        self.judge(states);
        self.judge(check_quarantine(before, &step.events));
        self.judge(self.check_deleted(&step.events));
        self.judge(self.check_limits(&step.events));
        self.judge(self.check_step(&step.events));
        self.follow_swap(&step.events);
    }

    /// Follows the transitions from the states before the step to those after
    /// it.
    fn check_table(&self, before: &Local, events: &[Event]) -> Verdict {
        let known = before.core.placements().map(|it| (it.id.clone(), it.state()));
        let mut states: BTreeMap<PlacementId, State> = known.collect();
        states.extend(self.seeded.clone());
        for it in transitions(events) {
            let id = PlacementId { deployment: it.deployment.clone(), node: it.node.clone() };
            let from = states.get(&id).copied();
            if from != it.from || !is_legal(it.from, it.trigger, it.to) {
                let what = format!("{id}: {:?} → {} while it was {from:?}", it.from, it.to);
                return Err((Rule::Table, what));
            }
            states.insert(id, it.to);
        }
        states.retain(|_, it| *it != State::Deleted);
        let now = self.local().core.placements().map(|it| (it.id.clone(), it.state()));
        let now: BTreeMap<PlacementId, State> = now.collect();
        if now == states {
            return Ok(());
        }
        let (states, now) = (words::states(&states), words::states(&now));
        Err((Rule::Table, format!("the log says {states}, the site has {now}")))
    }

    /// A deployment that is reported as deleted is gone from the device.
    fn check_deleted(&self, events: &[Event]) -> Verdict {
        for it in transitions(events).filter(|it| it.to == State::Deleted) {
            let forced = it.trigger == Trigger::Forced;
            let device = self.roles.nodes.iter().find(|device| device.name == it.node);
            let left = device.is_some_and(|at| at.engine.deployments().contains(&it.deployment));
            if left && !forced {
                return Err((Rule::Deleted, format!("node {} still has it", it.node)));
            }
        }
        Ok(())
    }

    /// No attempt starts that would take down more nodes than the strategy
    /// allows, or in a rollout that is paused.
    fn check_limits(&self, events: &[Event]) -> Verdict {
        let core = &self.local().core;
        let mut taken_down = deployments_taken_down(core, events).into_iter();
        let what = taken_down.find_map(|it| excess(core, &it));
        let what = what.or_else(|| paused_start(core, events));
        what.map_or(Ok(()), |it| Err((Rule::Limit, it)))
    }

    /// Checks a manifest that is about to be sent.
    pub(crate) fn check_manifest(&mut self, node: usize, manifest: &NodeManifest) {
        if self.acting == FORMER {
            return;
        }
        let new = (manifest.version, manifest.etag);
        let Some(old) = self.served[node].replace(new) else { return };
        let (version, before) = (words::version(new.0), words::version(old.0));
        if new.0 < old.0 {
            self.break_rule(Rule::Versions, format!("{version} was served after {before}"));
        } else if new.0 == old.0 && new.1 != old.1 {
            self.break_rule(Rule::Content, format!("{version} was served with two contents"));
        }
    }

    /// Checks the actions that a node is about to start.
    pub(crate) fn check_actions(&mut self, node: usize, step: &node::Step) {
        for action in &step.actions {
            let verdict = self.check_action(node, action);
            self.judge(verdict);
        }
    }

    fn check_action(&self, node: usize, action: &node::Action) -> Verdict {
        let device = &self.roles.nodes[node];
        let removes = matches!(action, node::Action::Remove { .. });
        if removes && !self.removed {
            let what = format!("node {} takes away what was not removed", device.name);
            return Err((Rule::Removal, what));
        }
        let clears = removes || matches!(action, node::Action::Clear { .. });
        let id = action.deployment();
        let listed = device.core.wanted().contains_key(id);
        let document = device.document(id).filter(|_| listed).map(String::from_utf8_lossy);
        let wanted = document.as_deref().and_then(words::revision);
        let runs = device.engine.running(0).remove(id);
        let runs = runs.as_deref();
        if clears && runs.is_some() && runs == wanted {
            let what =
                format!("node {} stops {} which it is to run", device.name, runs.unwrap_or(""));
            return Err((Rule::Restart, what));
        }
        Ok(())
    }
}

fn check_log(before: &Local, events: &[Event]) -> Verdict {
    let mut log = before.core.log().clone();
    let broken = events.iter().find_map(|it| log.follow(it).err());
    broken.map_or(Ok(()), |it| Err((Rule::Log, it.to_string())))
}

/// No attempt begins with a revision that is quarantined at that moment.
fn check_quarantine(before: &Local, events: &[Event]) -> Verdict {
    let refused = before.core.deployments().flat_map(|it| it.quarantine().keys());
    let mut refused: BTreeSet<Digest> = refused.copied().collect();
    for event in events {
        if let Body::Quarantined { bad, .. } = &event.body {
            refused.insert(bad.workload);
        }
        if let Body::QuarantineReleased { workload, .. } = &event.body {
            refused.remove(workload);
        }
        let Body::StateTransition(it) = &event.body else { continue };
        let target = it.revisions.target.as_ref().map(|it| it.workload);
        if begins(it) && target.is_some_and(|it| refused.contains(&it)) {
            let what = format!("node {} is offered it ({})", it.node, it.trigger.name());
            return Err((Rule::Quarantine, what));
        }
    }
    Ok(())
}

pub(crate) fn begins(it: &Transition) -> bool {
    it.to.is_in_progress() && it.trigger != Trigger::Progress
}
