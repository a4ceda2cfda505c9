//! The one place where a placement's state is written.
//!
//! Every change asks the transition table, ends or begins the attempt it
//! belongs to, adjusts what the node is offered, sets the timers the state
//! needs, and emits one event.

use crate::attempt::{Attempt, End, Failure, Outcome, Revision};
use crate::document::WirePhase;
use crate::event::{Actor, Body, Removal, Transition};
use crate::id::{DeploymentId, NodeName, PlacementId};
use crate::site::facts::PlacementFacts;
use crate::site::turn::Turn;
use crate::site::want::Want;
use crate::site::{Placement, Site};
use crate::state::{Op, State};
use crate::time::Mono;
use crate::transition::{Change, NoFacts, Reason, Refusal, Trigger, transition};

/// On whose behalf, and why, a placement moves.
#[derive(Debug, Clone)]
pub(super) struct By {
    pub(super) actor: Actor,
    pub(super) failure: Option<Failure>,
    /// Waits and holds are overridden.
    pub(super) forced: bool,
}

impl By {
    pub(super) fn node(node: &NodeName) -> By {
        By { actor: Actor::Node(node.clone()), failure: None, forced: false }
    }

    pub(super) fn operator(name: &str) -> By {
        By { actor: Actor::Operator(name.to_owned()), failure: None, forced: false }
    }

    pub(super) fn because(self, failure: Failure) -> By {
        By { failure: Some(failure), ..self }
    }

    pub(super) fn forced(self) -> By {
        By { forced: true, ..self }
    }
}

impl Site {
    /// Asks the table whether `id` may move, without moving it.
    pub(super) fn ask(
        &self,
        id: &PlacementId,
        trigger: Trigger,
        by: &By,
        now: crate::time::Now,
    ) -> Result<(Change, Option<Want>), Refusal> {
        let (Some(placement), Some(deployment)) =
            (self.placements.get(id), self.deployments.get(&id.deployment))
        else {
            return Err(transition_of_nothing(trigger));
        };
        let want = self.want(placement);
        let facts = PlacementFacts { site: self, deployment, placement, want, trigger, by, now };
        let change = transition(Some(placement.state()), trigger, &facts)?;
        Ok((change, facts.want))
    }

    /// The reasons every guard of a row would give.
    pub(crate) fn refusal(
        &self,
        id: &PlacementId,
        trigger: Trigger,
        now: crate::time::Now,
    ) -> Option<Refusal> {
        self.ask(id, trigger, &By::local(), now).err()
    }
}

impl Turn<'_> {
    /// Decides that a deployment runs on a node.
    pub(super) fn place(&mut self, deployment: &DeploymentId, node: &NodeName) {
        let id = PlacementId { deployment: deployment.clone(), node: node.clone() };
        let Ok(change) = transition(None, Trigger::Placed, &NoFacts) else { return };
        let placement = Placement::new(id.clone(), self.now.wall);
        self.put(placement);
        self.record(&id, change, Trigger::Placed, By::local(), None);
    }

    /// Moves a placement along the table, or says why it cannot.
    pub(super) fn advance(
        &mut self,
        id: &PlacementId,
        trigger: Trigger,
        by: By,
    ) -> Result<(), Refusal> {
        let (change, want) = self.site.ask(id, trigger, &by, self.now)?;
        let Some(mut placement) = self.site.placements.remove(id) else { return Ok(()) };
        self.disarm(&placement);
        let outcome = self.end_attempt(&mut placement, &change, trigger, &by);
        self.keep_last_good(&mut placement, &change, trigger);
        self.enter(&mut placement, &change, trigger, want);
        placement.state = change.to;
        placement.since = self.now.wall;
        self.arm(&placement);
        self.put(placement);
        self.record(id, change, trigger, by, outcome);
        Ok(())
    }

    /// Emits the event and lets the deployment take notice.
    fn record(
        &mut self,
        id: &PlacementId,
        change: Change,
        trigger: Trigger,
        by: By,
        outcome: Option<Outcome>,
    ) {
        let op = failed_op(change.to);
        let spent = op.and_then(|op| self.count_failure(id, op, by.failure.clone()));
        let retry = op.and_then(|_| self.site.retry(id, self.now));
        let Some(placement) = self.site.placements.get_mut(id) else { return };
        placement.retry = retry;
        if op.is_some() || change.to == State::Installed {
            placement.failure_reported.clone_from(&placement.failure);
        }
        let body = Transition {
            deployment: id.deployment.clone(),
            node: id.node.clone(),
            attempt: placement.attempt_number(),
            from: change.from,
            to: change.to,
            trigger,
            revisions: placement.revisions.clone(),
            outcome,
            failure: by.failure.clone(),
            retry,
            removal: removal(&change, trigger, placement.delivered),
            beside: placement.runs_beside(),
            more: Default::default(),
        };
        self.emit(by.actor, Body::StateTransition(body));
        if change.to == State::Deleted {
            self.forget(id);
        }
        if let Some(spent) = spent {
            self.condemn(id, spent);
        }
        self.reclassify(id);
        self.dirty.insert(id.deployment.clone());
    }

    /// Closes the attempt this change ends, and says how it ended.
    fn end_attempt(
        &self,
        placement: &mut Placement,
        change: &Change,
        trigger: Trigger,
        by: &By,
    ) -> Option<Outcome> {
        let at = self.now.wall;
        let attempt = placement.attempt.as_mut()?;
        if trigger == Trigger::Progress {
            attempt.end = None;
            return None;
        }
        if trigger == Trigger::Promoted {
            return None;
        }
        let outcome = match change.to {
            State::Installed | State::Deleted => Outcome::Ok,
            State::Failed(_) => Outcome::Failed,
            State::Unknown(_) => Outcome::Abandoned,
            State::Pending
            | State::Installing
            | State::Updating
            | State::RollingBack
            | State::Deleting => Outcome::Superseded,
        };
        if outcome == Outcome::Superseded && attempt.end.is_some() {
            return None;
        }
        attempt.end = Some(End { at, outcome, failure: by.failure.clone() });
        Some(outcome)
    }

    /// What was healthy when something else takes over is worth going back to;
    /// what lost its health before its soak was over is not.
    fn keep_last_good(&mut self, placement: &mut Placement, change: &Change, trigger: Trigger) {
        if change.from != Some(State::Installed) {
            return;
        }
        let soaked = self.has_soaked(placement);
        if soaked {
            self.remember_proven(placement);
        }
        placement.lost_late = trigger == Trigger::HealthLost && soaked;
        if placement.lost_late {
            (placement.tries, placement.failures) = (0, 0);
        }
        if trigger == Trigger::Revised || placement.lost_late {
            placement.revisions.last_good.clone_from(&placement.revisions.target);
        }
    }

    /// A workload that soaked here stays proven when the placement leaves it.
    fn remember_proven(&mut self, placement: &Placement) {
        let id = &placement.id.deployment;
        let Some(workload) = placement.target_workload() else { return };
        let Some(deployment) = self.site.deployments.get_mut(id) else { return };
        deployment.prove(workload);
        self.touch(id);
    }

    /// Whether it stayed well for its soak, as far as its node was heard.
    pub(super) fn has_soaked(&self, placement: &Placement) -> bool {
        let deployment = self.site.deployments.get(&placement.id.deployment);
        let soak = deployment.and_then(|it| it.policy()).map(|it| it.settings.soak);
        let member = self.site.members.get(&placement.id.node);
        let away = member.filter(|it| !it.is_online()).map(|it| it.last_heard);
        placement.has_soaked(away.unwrap_or(self.now.mono), soak.unwrap_or_default())
    }

    /// What belongs to the state that begins.
    fn enter(
        &mut self,
        placement: &mut Placement,
        change: &Change,
        trigger: Trigger,
        want: Option<Want>,
    ) {
        placement.retry_at = None;
        placement.silent_at = None;
        match change.to {
            // A report resumes the attempt that was lost.
            State::Installing | State::Updating | State::RollingBack
                if trigger == Trigger::Progress => {}
            State::Updating if trigger == Trigger::Promoted => self.take_over(placement),
            State::Installing | State::Updating | State::RollingBack => {
                self.begin(placement, change.to, trigger, want);
            }
            State::Deleting => self.leave(placement),
            State::Installed => {
                (placement.staged, placement.aside) = (false, false);
                placement.installed_at = Some(self.now.mono);
                placement.failure = None;
                placement.lost_late = false;
            }
            State::Unknown(_) => self.lose(placement),
            State::Failed(_) => placement.staged = false,
            State::Pending | State::Deleted => {}
        }
    }

    /// Begins an attempt and offers it to the node.
    fn begin(
        &mut self,
        placement: &mut Placement,
        to: State,
        trigger: Trigger,
        want: Option<Want>,
    ) {
        let again = matches!(trigger, Trigger::Retry | Trigger::Silent);
        let target = placement.revisions.target.clone();
        let revision = target.filter(|_| again).or(want.map(|it| it.revision));
        let Some(revision) = revision else { return };
        if placement.target_workload() != Some(revision.workload) {
            (placement.tries, placement.failures, placement.lost_late) = (0, 0, false);
        }
        self.set_phase(placement, to, trigger, &revision);
        placement.revisions.target = Some(revision.clone());
        let deadline = self.now.mono.after(self.progress_deadline(placement));
        self.open_attempt(placement, to.op().unwrap_or(Op::Install), revision, deadline);
        placement.delivered = true;
        self.offer(placement);
    }

    /// What is staged takes over: the same attempt, with time of its own.
    fn take_over(&mut self, placement: &mut Placement) {
        let deadline = self.now.mono.after(self.progress_deadline(placement));
        if let Some(attempt) = placement.attempt.as_mut() {
            attempt.deadline = deadline;
        }
        (placement.phase, placement.staged, placement.aside) = (WirePhase::Active, false, false);
        placement.running_lost = None;
        self.offer(placement);
    }

    fn lose(&mut self, placement: &mut Placement) {
        let deadline = self.now.mono.after(self.progress_deadline(placement));
        if let Some(attempt) = placement.attempt.as_mut().filter(|_| placement.staged) {
            attempt.deadline = deadline;
        }
        placement.staged = false;
        self.await_report(placement);
    }

    fn leave(&mut self, placement: &mut Placement) {
        (placement.staged, placement.aside) = (false, false);
        placement.running_lost = None;
        if let Some(revision) = placement.revisions.target.clone() {
            self.open_attempt(placement, Op::Delete, revision, Mono(u64::MAX));
        }
        self.withdraw(placement);
    }

    fn open_attempt(&self, placement: &mut Placement, op: Op, revision: Revision, deadline: Mono) {
        let number = placement.attempt_number().saturating_add(1);
        let started = self.now.wall;
        placement.attempt = Some(Attempt { number, op, revision, started, deadline, end: None });
    }

    pub(super) fn progress_deadline(&self, placement: &Placement) -> std::time::Duration {
        let deployment = self.site.deployments.get(&placement.id.deployment);
        let set = deployment.and_then(|it| it.policy()).map(|it| it.settings.progress_deadline);
        let target = placement.revisions.target.as_ref();
        let document = deployment.zip(target).and_then(|(it, target)| it.document(target));
        set.max(document.map(|it| it.patience())).unwrap_or_default()
    }
}

fn failed_op(state: State) -> Option<Op> {
    if let State::Failed(op) = state { Some(op) } else { None }
}

fn removal(change: &Change, trigger: Trigger, delivered: bool) -> Option<Removal> {
    if change.to != State::Deleted {
        return None;
    }
    let unconfirmed = trigger == Trigger::Forced && delivered;
    Some(Removal { deleted: !unconfirmed, exit_code: (!unconfirmed).then_some(0), unconfirmed })
}

fn transition_of_nothing(trigger: Trigger) -> Refusal {
    let reasons = vec![Reason::NoSuchRow { from: None, trigger }];
    Refusal { from: None, trigger, reasons }
}
