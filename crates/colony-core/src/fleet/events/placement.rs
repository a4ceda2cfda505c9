//! Applies the transitions of placements that sites report.
//!
//! Central always applies a transition. It flags one that the table does not
//! allow, or that does not start in the state of the view.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::attempt::{Failure, Retry, Revision};
use crate::code::Code;
use crate::event::{Event, Seq, Transition};
use crate::fleet::events::projection_writer::ProjectionWriter;
use crate::fleet::{Effect, PlacementView, RowKey};
use crate::id::PlacementId;
use crate::site::ActiveFailure;
use crate::state::State;
use crate::time::Timestamp;
use crate::transition::{Trigger, is_legal};

/// An applied transition that the table or the view does not explain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flag {
    pub seq: Seq,
    pub at: Timestamp,
    /// The state before the transition, as reported by the site.
    pub from: Option<State>,
    /// The state of the placement in the view.
    pub known: Option<State>,
    pub trigger: Trigger,
    pub to: State,
}

impl Flag {
    fn of(event: &Event, known: Option<State>, it: &Transition) -> Option<Flag> {
        if known == it.from && is_legal(it.from, it.trigger, it.to) {
            return None;
        }
        let (from, trigger, to) = (it.from, it.trigger, it.to);
        Some(Flag { seq: event.seq, at: event.at, from, known, trigger, to })
    }
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Flag { seq, from, known, trigger, to, .. } = self;
        let (said, known_text) = (state_text(*from), state_text(*known));
        if from != known {
            return write!(f, "event {seq} starts at {said}, but {known_text} was known before");
        }
        write!(
            f,
            "event {seq} goes from {said} to {to} on `{}`, which no rule allows",
            trigger.name()
        )
    }
}

fn state_text(state: Option<State>) -> String {
    state.map_or("nothing".to_owned(), |it| it.to_string())
}

impl ProjectionWriter<'_> {
    pub(in crate::fleet) fn moved(&mut self, event: &Event, it: &Transition) {
        let id = PlacementId { deployment: it.deployment.clone(), node: it.node.clone() };
        let known = self.view.placement(&id).map(|it| it.state);
        let flag = Flag::of(event, known, it);
        if let Some(flag) = flag.clone() {
            let (site, placement) = (self.site.clone(), id.clone());
            self.effects.push(Effect::Flagged { site, placement, flag });
        }
        self.unstop(event, it);
        match it.to {
            State::Deleted => self.archive(event, &id, it),
            State::Pending
            | State::Installing
            | State::Updating
            | State::RollingBack
            | State::Installed
            | State::Failed(_)
            | State::Unknown(_)
            | State::Deleting => self.place(event, &id, it, flag),
        }
        self.mark(|site| RowKey::Placement(site, id));
    }

    fn place(&mut self, event: &Event, id: &PlacementId, it: &Transition, flag: Option<Flag>) {
        let nodes = self.view.placements.entry(id.deployment.clone()).or_default();
        let before = nodes.remove(&id.node);
        let (failure, flagged, running) =
            before.map_or((None, None, None), |it| (it.failure, it.flagged, it.running));
        let placement = PlacementView {
            id: id.clone(),
            state: it.to,
            since: event.at,
            attempt: it.attempt,
            revisions: it.revisions.clone(),
            failure: failure_after(it, failure),
            retry: retry_after(it),
            staged: it.staged,
            running: running.filter(|_| is_same_attempt(it)),
            flagged: flag.or(flagged.filter(|_| !it.to.is_final())),
        };
        nodes.insert(id.node.clone(), placement);
    }

    /// The active version beside a staged revision lost its health, or
    /// recovered.
    pub(in crate::fleet) fn running(
        &mut self,
        event: &Event,
        id: PlacementId,
        revision: &Revision,
        failure: Option<&Failure>,
    ) {
        let nodes = self.view.placements.get_mut(&id.deployment);
        let Some(placement) = nodes.and_then(|it| it.get_mut(&id.node)) else { return };
        placement.running = failure.map(|failure| ActiveFailure {
            revision: revision.clone(),
            failure: failure.clone(),
            since: event.at,
        });
        self.mark(|site| RowKey::Placement(site, id));
    }

    /// A DELETED placement leaves the view; the shell archives it from the
    /// events.
    fn archive(&mut self, event: &Event, id: &PlacementId, it: &Transition) {
        if let Some(nodes) = self.view.placements.get_mut(&id.deployment) {
            nodes.remove(&id.node);
            if nodes.is_empty() {
                self.view.placements.remove(&id.deployment);
            }
        }
        let name = self.view.deployments.get(&id.deployment).map(|it| it.name.clone());
        let stays = self.view.deployments.get(&id.deployment).is_some_and(|it| !it.withdrawn);
        let archive = self.view.archives.entry(id.deployment.clone()).or_default();
        archive.name = name.or(archive.name.take());
        if !stays {
            archive.deleted += 1;
            archive.unconfirmed += u64::from(it.removal.is_some_and(|it| it.unconfirmed));
        }
        archive.last = event.at;
        let deployment = id.deployment.clone();
        self.mark(|site| RowKey::Archive(site, deployment));
        self.forget_if_gone(&id.deployment);
    }

    /// Ends the stop of a rollout. A stopped rollout starts nothing, so the
    /// stop is over if a placement of it started, or if an operator retried
    /// one.
    fn unstop(&mut self, event: &Event, it: &Transition) {
        let target = it.revisions.target.as_ref().map(|it| it.workload);
        let started = matches!(it.trigger, Trigger::Start | Trigger::Revised);
        let retried = it.trigger == Trigger::Retry && event.actor.is_operator();
        let stopped = self.view.deployments.get(&it.deployment).and_then(|it| it.stopped.as_ref());
        if stopped.is_some_and(|it| retried || (started && target == Some(it.workload))) {
            self.deployment(&it.deployment, |it| it.stopped = None);
        }
    }
}

/// The health of the active version beside an attempt is kept for that attempt
/// only: the site reports it again for every attempt.
fn is_same_attempt(it: &Transition) -> bool {
    match it.to {
        State::Unknown(_) | State::Failed(_) => true,
        State::Installing | State::Updating | State::RollingBack => it.trigger == Trigger::Progress,
        State::Pending | State::Installed | State::Deleting | State::Deleted => false,
    }
}

fn failure_after(it: &Transition, before: Option<Failure>) -> Option<Failure> {
    match it.to {
        State::Installed => None,
        State::Failed(_) => {
            it.failure.clone().or_else(|| Some(Failure::new(Code::ProgressDeadline, "")))
        }
        State::Pending
        | State::Installing
        | State::Updating
        | State::RollingBack
        | State::Unknown(_)
        | State::Deleting
        | State::Deleted => before,
    }
}

/// Only a failure has a retry.
fn retry_after(it: &Transition) -> Option<Retry> {
    it.retry.filter(|_| matches!(it.to, State::Failed(_)))
}
