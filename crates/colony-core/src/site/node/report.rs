//! Reports of a node about a placement, and the transitions they cause.
//!
//! A report names the manifest version that the node had *adopted*. It is
//! *stale* if that version is older than the current offer of the placement: it
//! is about an earlier attempt, and changes no state.

use std::time::Duration;

use colony_margo::DeploymentStatus;
use colony_margo::status::{State as Reported, StatusError};

use crate::attempt::{Failure, Settling};
use crate::code::Code;
use crate::event::{Actor, Body};
use crate::id::{DeploymentId, NodeName, PlacementId};
use crate::site::placement::transition::Initiator;
use crate::site::step_context::StepContext;
use crate::site::{ActiveFailure, Have, Offer, Placement, Refused, Staging};
use crate::state::{Op, State};
use crate::transition::Trigger;

/// How many characters of a message and how many lines of a log are kept.
const MESSAGE_LIMIT: usize = 1_024;
const LOG_LIMIT: usize = 20;
/// A longer settle time is shown as this one.
const LONGEST_SETTLE: Duration = Duration::from_secs(24 * 3_600);

impl StepContext<'_> {
    /// Handles one report (Margo: a deployment status).
    pub(in crate::site) fn status(
        &mut self,
        node: &NodeName,
        status: &DeploymentStatus,
    ) -> Result<(), Refused> {
        self.ready()?;
        self.check_node_known(node)?;
        self.hear(node);
        let adopted = status.adopted_manifest_version.get();
        self.compare_versions(node, Have { version: adopted, etag: None });
        let Ok(deployment) = status.deployment_id.parse::<DeploymentId>() else { return Ok(()) };
        let id = PlacementId { deployment, node: node.clone() };
        if self.is_repeated(&id, status) {
            return Ok(());
        }
        self.apply_report(&id, status, adopted);
        Ok(())
    }

    /// Report numbers increase: a report that is not newer was handled before.
    fn is_repeated(&self, id: &PlacementId, status: &DeploymentStatus) -> bool {
        let Some(number) = number(status) else { return false };
        self.site.placements.get(id).is_none_or(|it| number <= it.report)
    }

    /// Records the number of a report that is not stale. Numbers of stale reports
    /// must not be recorded: a device that was set up again starts its numbers
    /// over, and a late report from before, with a higher number, would hide the
    /// reports that follow.
    fn record_number(&mut self, id: &PlacementId, status: &DeploymentStatus) {
        let Some(number) = number(status) else { return };
        if let Some(placement) = self.site.placements.get_mut(id) {
            placement.report = number;
            self.out.changed.placements.insert(id.clone());
        }
    }

    fn apply_report(&mut self, id: &PlacementId, status: &DeploymentStatus, adopted: u64) {
        let Some(placement) = self.site.placements.get(id) else { return };
        let current = placement.offer().since().is_some_and(|since| adopted >= since);
        if !current {
            return self.record_stale(id, status, adopted);
        }
        self.record_number(id, status);
        self.record_active_health(id, status);
        self.record_settling(id, status);
        let failure = failure_of(status);
        match status.status.state {
            Reported::Removed => self.removed(id),
            Reported::Failed => self.errored(id, failure),
            Reported::Installed => self.healthy(id),
            Reported::Pending | Reported::Installing => self.progressed(id),
            Reported::Removing => {}
        }
    }

    /// Records the health of the active version, which a report also contains
    /// while another one is staged.
    fn record_active_health(&mut self, id: &PlacementId, status: &DeploymentStatus) {
        let error = status.colony.as_ref().and_then(|it| it.running.as_ref());
        let failure = error.map(failure_from);
        let staging = self.target_is_staged(id);
        let Some(placement) = self.site.placements.get_mut(id).filter(|_| staging) else { return };
        let Some(revision) = placement.revisions.last_good.clone() else { return };
        if placement.active_failure.as_ref().map(|it| &it.failure) == failure.as_ref() {
            return;
        }
        let since = self.now.wall;
        placement.active_failure = failure.clone().map(|failure| ActiveFailure {
            revision: revision.clone(),
            failure,
            since,
        });
        self.out.changed.placements.insert(id.clone());
        let (deployment, node) = (id.deployment.clone(), id.node.clone());
        let body = Body::RunningHealth { deployment, node: node.clone(), revision, failure };
        self.emit(Actor::Node(node), body);
    }

    /// Records that everything runs and only the settle time is missing. The
    /// node sends what is left of it, because its clock may be wrong.
    fn record_settling(&mut self, id: &PlacementId, status: &DeploymentStatus) {
        let (since, installing) =
            (self.now.wall, matches!(status.status.state, Reported::Installing));
        let rest = status.colony.as_ref().and_then(|it| it.settling).filter(|_| installing);
        let rest = rest.map(|it| Duration::from_millis(it).min(LONGEST_SETTLE));
        let settling = rest.map(|it| Settling { since, until: since.after(it) });
        let attempt = self.site.placements.get_mut(id).and_then(|it| it.attempt.as_mut());
        if let Some(attempt) = attempt.filter(|it| it.settling != settling) {
            attempt.settling = settling;
            self.out.changed.placements.insert(id.clone());
        }
    }

    /// Emits an event for a stale report, once for each state that it reports.
    fn record_stale(&mut self, id: &PlacementId, status: &DeploymentStatus, adopted: u64) {
        let state = status.status.state.to_string();
        let Some(placement) = self.site.placements.get_mut(id) else { return };
        let stale = Some((adopted, state.clone()));
        if placement.stale == stale {
            return;
        }
        placement.stale = stale;
        self.out.changed.placements.insert(id.clone());
        let (deployment, node) = (id.deployment.clone(), id.node.clone());
        let body = Body::StaleReport { deployment, node: node.clone(), adopted, state };
        self.emit(Actor::Node(node), body);
    }

    /// The node reports that all components are running and healthy.
    fn healthy(&mut self, id: &PlacementId) {
        if self.target_is_staged(id) {
            return self.ready_to_take_over(id);
        }
        if self.is_listed(id) {
            self.perform_reported_transition(id, Trigger::Healthy, None);
        }
    }

    /// The node reports that it is working on the target.
    fn progressed(&mut self, id: &PlacementId) {
        if self.is_listed(id) {
            self.perform_reported_transition(id, Trigger::Progress, None);
        }
    }

    /// The node reports a failure.
    fn errored(&mut self, id: &PlacementId, failure: Failure) {
        let Some(placement) = self.site.placements.get_mut(id) else { return };
        match placement.state() {
            State::Installed => {
                self.perform_reported_transition(id, Trigger::HealthLost, Some(failure))
            }
            // Known; the message may have changed.
            State::Failed(_) => {
                placement.failure = Some(failure);
                self.out.changed.placements.insert(id.clone());
            }
            State::Pending | State::Deleted => {}
            State::Installing
            | State::Updating
            | State::RollingBack
            | State::Unknown(_)
            | State::Deleting => {
                self.perform_reported_transition(id, Trigger::Errored, Some(failure))
            }
        }
    }

    /// The node no longer has the deployment, or never had it.
    fn removed(&mut self, id: &PlacementId) {
        let Some(placement) = self.site.placements.get_mut(id) else { return };
        match placement.state() {
            State::Pending => {
                placement.may_be_on_node = false;
                self.out.changed.placements.insert(id.clone());
            }
            State::Unknown(_) => self.perform_reported_transition(id, Trigger::Silent, None),
            State::Failed(Op::Delete) => {
                let by = Initiator::node(&id.node).skipping_hold_and_backoff();
                if self.perform_transition(id, Trigger::Retry, by).is_ok() {
                    self.perform_reported_transition(id, Trigger::Removed, None);
                }
            }
            State::Deleting => self.perform_reported_transition(id, Trigger::Removed, None),
            State::Installing
            | State::Updating
            | State::RollingBack
            | State::Installed
            | State::Failed(_)
            | State::Deleted => {}
        }
    }

    /// The node is to run the target beside the active version.
    fn target_is_staged(&self, id: &PlacementId) -> bool {
        let placement = self.site.placements.get(id);
        placement.is_some_and(|it| it.staging.target_is_staged())
    }

    /// The target is healthy beside the active version and waits to take over: no
    /// transition, because the placement stays UPDATING. The wait has no deadline.
    fn ready_to_take_over(&mut self, id: &PlacementId) {
        if matches!(self.site.placements.get(id).map(Placement::state), Some(State::Unknown(_))) {
            self.perform_reported_transition(id, Trigger::Progress, None);
        }
        let Some(mut placement) = self.site.placements.remove(id) else { return };
        if placement.state() == State::Updating {
            self.disarm_timers(&placement);
            placement.staging = Staging::Ready;
            self.out.changed.placements.insert(id.clone());
        }
        self.site.placements.insert(id.clone(), placement);
        self.update_index(id);
        self.queues_to_process.insert(id.deployment.clone());
    }

    /// Applies a report. If the table refuses the transition, the report does
    /// not concern the current state, which is not an error.
    fn perform_reported_transition(
        &mut self,
        id: &PlacementId,
        trigger: Trigger,
        failure: Option<Failure>,
    ) {
        let by = Initiator { failure, ..Initiator::node(&id.node) };
        let _ = self.perform_transition(id, trigger, by);
    }

    /// The node's manifest lists the placement.
    fn is_listed(&self, id: &PlacementId) -> bool {
        let offer = self.site.placements.get(id).map(Placement::offer);
        matches!(offer, Some(Offer::Listed { .. }))
    }
}

fn number(status: &DeploymentStatus) -> Option<u64> {
    status.colony.as_ref().and_then(|it| it.report)
}

fn failure_of(status: &DeploymentStatus) -> Failure {
    let without_details = || Failure::new(Code::EngineError, "");
    let failure = first_error(status).map_or_else(without_details, failure_from);
    let log = status.colony.iter().flat_map(|it| it.log.iter().flatten());
    let log: Vec<&String> = log.collect();
    let log = log.iter().rev().take(LOG_LIMIT).rev();
    Failure { log: log.map(|it| short(it, MESSAGE_LIMIT)).collect(), ..failure }
}

fn failure_from(error: &StatusError) -> Failure {
    let code = match error.code.as_str() {
        "" => Code::EngineError,
        code => Code::from(code.to_owned()),
    };
    let (source, message) = (short(&error.source, 200), short(&error.message, MESSAGE_LIMIT));
    Failure { code, source, message, log: Vec::new() }
}

fn short(text: &str, limit: usize) -> String {
    text.chars().take(limit).collect()
}

/// The error of a component is more specific than that of the deployment.
fn first_error(status: &DeploymentStatus) -> Option<&StatusError> {
    let components = status.components.iter().filter(|it| it.state == Reported::Failed);
    components.filter_map(|it| it.error.as_ref()).next().or(status.status.error.as_ref())
}
