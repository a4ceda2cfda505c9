//! The only place that changes the state of a placement. Exception: when an
//! orchestrator is replaced, `persisted/seed.rs` fills the new site from
//! central's copy (the *seed*).
//!
//! Every change is checked against the transition table, ends or starts the
//! attempt it belongs to, updates the offer to the node, arms the timers of the
//! state, and emits one event.

use crate::attempt::{Attempt, End, Failure, Outcome, Revision};
use crate::event::{Actor, Body, Removal, Transition};
use crate::id::{DeploymentId, NodeName, PlacementId};
use crate::site::placement::facts::PlacementFacts;
use crate::site::rollout::wanted_revision::WantedRevision;
use crate::site::step_context::StepContext;
use crate::site::{Placement, Site, Staging};
use crate::state::{Op, State};
use crate::time::Monotonic;
use crate::transition::{AllGuardsPass, Change, Reason, Refusal, Trigger, transition};

/// A removal waits for its node as long as it takes.
const NO_DEADLINE: Monotonic = Monotonic(u64::MAX);

/// The actor that moves a placement, and the failure that causes the move. The
/// local orchestrator itself is `Initiator::local`, in `site/timer.rs`.
#[derive(Debug, Clone)]
pub(in crate::site) struct Initiator {
    pub(in crate::site) actor: Actor,
    pub(in crate::site) failure: Option<Failure>,
    /// Ignores holds and backoff, but not windows, steps and slots. Set for an
    /// operator's `--force`, which also acts on UNKNOWN placements, and when a
    /// node reports a removal that had failed. Not related to
    /// `Trigger::Forced`, which ends the wait for a removal's confirmation.
    pub(in crate::site) skips_hold_and_backoff: bool,
}

impl Initiator {
    pub(in crate::site) fn node(node: &NodeName) -> Initiator {
        Initiator { actor: Actor::Node(node.clone()), failure: None, skips_hold_and_backoff: false }
    }

    pub(in crate::site) fn operator(name: &str) -> Initiator {
        Initiator {
            actor: Actor::Operator(name.to_owned()),
            failure: None,
            skips_hold_and_backoff: false,
        }
    }

    pub(in crate::site) fn with_failure(self, failure: Failure) -> Initiator {
        Initiator { failure: Some(failure), ..self }
    }

    pub(in crate::site) fn skipping_hold_and_backoff(self) -> Initiator {
        Initiator { skips_hold_and_backoff: true, ..self }
    }
}

impl Site {
    /// Checks the table and the guards for a transition, without performing it.
    pub(in crate::site) fn check_transition(
        &self,
        id: &PlacementId,
        trigger: Trigger,
        by: &Initiator,
        now: crate::time::Now,
    ) -> Result<(Change, Option<WantedRevision>), Refusal> {
        let (Some(placement), Some(deployment)) =
            (self.placements.get(id), self.deployments.get(&id.deployment))
        else {
            return Err(unknown_placement_refusal(trigger));
        };
        let want = self.want(placement);
        let facts = PlacementFacts { site: self, deployment, placement, want, trigger, by, now };
        let change = transition(Some(placement.state()), trigger, &facts)?;
        Ok((change, facts.want))
    }

    /// The refusal of a transition, with the reasons of all guards that fail.
    pub(crate) fn refusal(
        &self,
        id: &PlacementId,
        trigger: Trigger,
        now: crate::time::Now,
    ) -> Option<Refusal> {
        self.check_transition(id, trigger, &Initiator::local(), now).err()
    }
}

impl StepContext<'_> {
    /// Creates the placement of a deployment on a node.
    pub(in crate::site) fn create_placement(&mut self, deployment: &DeploymentId, node: &NodeName) {
        let id = PlacementId { deployment: deployment.clone(), node: node.clone() };
        let Ok(change) = transition(None, Trigger::Placed, &AllGuardsPass) else { return };
        let placement = Placement::new(id.clone(), self.now.wall);
        self.store_placement(placement);
        self.apply_consequences(&id, change, Trigger::Placed, Initiator::local(), None);
    }

    /// Performs a transition of a placement, or returns why it is refused.
    pub(in crate::site) fn perform_transition(
        &mut self,
        id: &PlacementId,
        trigger: Trigger,
        by: Initiator,
    ) -> Result<(), Refusal> {
        let (change, want) = self.site.check_transition(id, trigger, &by, self.now)?;
        let Some(mut placement) = self.site.placements.remove(id) else { return Ok(()) };
        self.disarm_timers(&placement);
        let outcome = self.end_attempt(&mut placement, &change, trigger, &by);
        self.keep_last_good(&mut placement, &change, trigger);
        self.enter_state(&mut placement, &change, trigger, want);
        placement.state = change.to;
        placement.since = self.now.wall;
        self.arm_timers(&placement);
        self.store_placement(placement);
        self.apply_consequences(id, change, trigger, by, outcome);
        Ok(())
    }

    /// Everything that follows from a transition: counts a failure and schedules
    /// its retry, emits the event, forgets a deleted placement, applies the
    /// failure policy (which may quarantine the revision), sorts the placement
    /// into the queues of the rollout (`Queue`: one for each kind of change) and
    /// has them processed in this call of `Site::step`.
    fn apply_consequences(
        &mut self,
        id: &PlacementId,
        change: Change,
        trigger: Trigger,
        by: Initiator,
        outcome: Option<Outcome>,
    ) {
        let op = failed_op(change.to);
        let used_up_revision = op.and_then(|op| self.count_failure(id, op, by.failure.clone()));
        let retry = op.and_then(|_| self.site.retry(id, self.now));
        // Read before `update_purge`, which ends the purge of a deleted placement.
        let purges = self.site.purges_on(&id.node, &id.deployment);
        let Some(placement) = self.site.placements.get_mut(id) else { return };
        // Kept as sent, so that `Site::view` equals what central folds from events.
        placement.retry_in_last_event = retry;
        if op.is_some() || change.to == State::Installed {
            placement.failure_in_last_event.clone_from(&placement.failure);
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
            removal: removal(&change, trigger, placement.may_be_on_node, purges),
            staged: placement.staging.target_is_staged(),
            // Unknown fields of later releases; only deserialization fills them.
            more: Default::default(),
        };
        self.emit(by.actor, Body::StateTransition(body));
        if change.to == State::Deleted {
            self.forget(id);
        }
        // Volumes and images are removed only while the placement is being removed.
        self.update_purge(id);
        if let Some(used_up_revision) = used_up_revision {
            self.apply_failure_policy(id, used_up_revision);
        }
        self.update_index(id);
        self.queues_to_process.insert(id.deployment.clone());
    }

    /// Ends or reopens the attempt as the trigger requires; returns the outcome
    /// if it ended. An attempt whose node is lost ends as abandoned; a report of
    /// progress reopens it.
    fn end_attempt(
        &self,
        placement: &mut Placement,
        change: &Change,
        trigger: Trigger,
        by: &Initiator,
    ) -> Option<Outcome> {
        let at = self.now.wall;
        let attempt = placement.attempt.as_mut()?;
        if trigger == Trigger::Progress {
            attempt.end = None;
            return None;
        }
        // Takeover of a staged revision continues its attempt.
        if trigger == Trigger::Promoted {
            return None;
        }
        let outcome = match change.to {
            State::Installed | State::Deleted => Outcome::Ok,
            State::Failed(_) => Outcome::Failed,
            State::Unknown(_) => Outcome::Abandoned,
            // Another revision, a rollback, a removal or a further try replaces
            // it; PENDING: the placement is wanted again during its removal.
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

    /// Remembers the revision that this node can return to (`last_good`). The last
    /// good revision of the site, `Deployment::last_converged`, may be another one.
    ///
    /// A healthy revision qualifies when another one replaces it, or when it
    /// becomes unhealthy after its proving period. In the second case its failure
    /// counters restart.
    fn keep_last_good(&mut self, placement: &mut Placement, change: &Change, trigger: Trigger) {
        if change.from != Some(State::Installed) {
            return;
        }
        let proven = self.has_passed_proving_period(placement);
        if proven {
            self.remember_proven(placement);
        }
        placement.health_lost_after_proving = trigger == Trigger::HealthLost && proven;
        if placement.health_lost_after_proving {
            (placement.revision_errors, placement.failures) = (0, 0);
        }
        if trigger == Trigger::Revised || placement.health_lost_after_proving {
            placement.revisions.last_good.clone_from(&placement.revisions.target);
        }
    }

    /// Records the workload as proven, so that it stays so when the placement
    /// moves to another one.
    fn remember_proven(&mut self, placement: &Placement) {
        let id = &placement.id.deployment;
        let Some(workload) = placement.target_workload() else { return };
        let Some(deployment) = self.site.deployments.get_mut(id) else { return };
        deployment.prove(workload);
        self.mark_changed(id);
    }

    /// Whether the placement stayed healthy for its proving period. For a node
    /// that is not online, time counts up to the last contact.
    pub(in crate::site) fn has_passed_proving_period(&self, placement: &Placement) -> bool {
        let deployment = self.site.deployments.get(&placement.id.deployment);
        // `policy` is the accepted document, whose settings apply to every revision.
        let period = deployment.and_then(|it| it.policy()).map(|it| it.settings.soak);
        let site_node = self.site.site_nodes.get(&placement.id.node);
        let last_contact = site_node.filter(|it| !it.is_online()).map(|it| it.last_heard);
        placement.has_passed_proving_period(
            last_contact.unwrap_or(self.now.mono),
            period.unwrap_or_default(),
        )
    }

    /// Sets the fields that belong to the state being entered.
    fn enter_state(
        &mut self,
        placement: &mut Placement,
        change: &Change,
        trigger: Trigger,
        want: Option<WantedRevision>,
    ) {
        placement.retry_at = None;
        placement.report_due_at = None;
        match change.to {
            // A report resumes the attempt that was lost.
            State::Installing | State::Updating | State::RollingBack
                if trigger == Trigger::Progress => {}
            State::Updating if trigger == Trigger::Promoted => self.take_over(placement),
            State::Installing | State::Updating | State::RollingBack => {
                self.begin_attempt(placement, change.to, trigger, want);
            }
            State::Deleting => self.begin_deletion(placement),
            State::Installed => {
                placement.staging = Staging::NotStaged;
                placement.installed_at = Some(self.now.mono);
                placement.failure = None;
                placement.health_lost_after_proving = false;
            }
            State::Unknown(_) => self.mark_unknown(placement),
            // A staged revision that was ready has to become healthy again.
            State::Failed(_) => placement.staging = placement.staging.interrupted(),
            State::Pending | State::Deleted => {}
        }
    }

    /// Starts an attempt and offers it to the node.
    fn begin_attempt(
        &mut self,
        placement: &mut Placement,
        to: State,
        trigger: Trigger,
        want: Option<WantedRevision>,
    ) {
        // `Silent`: the node is back but did not report the attempt, or reports that
        // it does not have it.
        let repeats = matches!(trigger, Trigger::Retry | Trigger::Silent);
        let target = placement.revisions.target.clone();
        let revision = target.filter(|_| repeats).or(want.map(|it| it.revision));
        let Some(revision) = revision else { return };
        if placement.target_workload() != Some(revision.workload) {
            (placement.revision_errors, placement.failures, placement.health_lost_after_proving) =
                (0, 0, false);
        }
        self.set_staging(placement, to, trigger, &revision);
        placement.revisions.target = Some(revision.clone());
        let deadline = self.now.mono.after(self.progress_time_limit(placement));
        self.open_attempt(placement, to.op().unwrap_or(Op::Install), revision, deadline);
        placement.may_be_on_node = true;
        self.offer(placement);
    }

    /// The staged revision takes over: the same attempt, with another deadline.
    fn take_over(&mut self, placement: &mut Placement) {
        let deadline = self.now.mono.after(self.progress_time_limit(placement));
        if let Some(attempt) = placement.attempt.as_mut() {
            attempt.deadline = deadline;
        }
        (placement.staging, placement.active_failure) = (Staging::NotStaged, None);
        self.offer(placement);
    }

    /// A staged revision has no deadline while it is ready; now it has one again.
    fn mark_unknown(&mut self, placement: &mut Placement) {
        let deadline = self.now.mono.after(self.progress_time_limit(placement));
        let staged = placement.is_ready_to_take_over();
        if let Some(attempt) = placement.attempt.as_mut().filter(|_| staged) {
            attempt.deadline = deadline;
        }
        placement.staging = placement.staging.interrupted();
        self.await_report(placement);
    }

    fn begin_deletion(&mut self, placement: &mut Placement) {
        (placement.staging, placement.active_failure) = (Staging::NotStaged, None);
        if let Some(revision) = placement.revisions.target.clone() {
            self.open_attempt(placement, Op::Delete, revision, NO_DEADLINE);
        }
        self.withdraw(placement);
    }

    fn open_attempt(
        &self,
        placement: &mut Placement,
        op: Op,
        revision: Revision,
        deadline: Monotonic,
    ) {
        let number = placement.attempt_number().saturating_add(1);
        let started = self.now.wall;
        let (settling, end) = (None, None);
        placement.attempt =
            Some(Attempt { number, op, revision, started, deadline, settling, end });
    }

    /// How long an attempt may take: the setting, or more if the components of the
    /// document declare that they need more.
    pub(in crate::site) fn progress_time_limit(
        &self,
        placement: &Placement,
    ) -> std::time::Duration {
        let deployment = self.site.deployments.get(&placement.id.deployment);
        let setting = deployment.and_then(|it| it.policy()).map(|it| it.settings.progress_deadline);
        let target = placement.revisions.target.as_ref();
        let document = deployment.zip(target).and_then(|(it, target)| it.document(target));
        setting.max(document.map(|it| it.minimum_time_limit())).unwrap_or_default()
    }
}

fn failed_op(state: State) -> Option<Op> {
    if let State::Failed(op) = state { Some(op) } else { None }
}

/// The outcome of a removal, as in Margo's component status. Confirmed: deleted,
/// exit code 0. Forced while the node may still run it: not deleted, no exit code.
fn removal(
    change: &Change,
    trigger: Trigger,
    may_be_on_node: bool,
    purges: bool,
) -> Option<Removal> {
    if change.to != State::Deleted {
        return None;
    }
    let unconfirmed = trigger == Trigger::Forced && may_be_on_node;
    Some(Removal {
        deleted: !unconfirmed,
        exit_code: (!unconfirmed).then_some(0),
        unconfirmed,
        purged: purges && trigger == Trigger::Removed,
    })
}

/// The refusal for a placement that does not exist: the table has no row that
/// starts without one, except `Trigger::Placed`.
fn unknown_placement_refusal(trigger: Trigger) -> Refusal {
    let reasons = vec![Reason::NoSuchRow { from: None, trigger }];
    Refusal { from: None, trigger, reasons }
}
