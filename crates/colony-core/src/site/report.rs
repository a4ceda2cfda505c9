//! What a node says of a placement, and what follows from it.

use colony_margo::DeploymentStatus;
use colony_margo::status::{State as Reported, StatusError};

use crate::attempt::Failure;
use crate::code::Code;
use crate::document::WirePhase;
use crate::event::{Actor, Body};
use crate::id::{DeploymentId, NodeName, PlacementId};
use crate::site::moving::By;
use crate::site::turn::Turn;
use crate::site::{Have, Offer, Placement, Refused, RunningLost};
use crate::state::{Op, State};
use crate::transition::Trigger;

/// How much of a message and of a log is kept.
const MESSAGE_LIMIT: usize = 1_024;
const LOG_LIMIT: usize = 20;

impl Turn<'_> {
    pub(super) fn status(
        &mut self,
        node: &NodeName,
        status: &DeploymentStatus,
    ) -> Result<(), Refused> {
        self.ready()?;
        self.known(node)?;
        self.hear(node);
        let adopted = status.adopted_manifest_version.get();
        self.compare_versions(node, Have { version: adopted, etag: None });
        let Ok(deployment) = status.deployment_id.parse::<DeploymentId>() else { return Ok(()) };
        let id = PlacementId { deployment, node: node.clone() };
        if self.is_repeated(&id, status) {
            return Ok(());
        }
        self.take_report(&id, status, adopted);
        Ok(())
    }

    /// Reports carry rising numbers: what is not newer was seen before.
    fn is_repeated(&self, id: &PlacementId, status: &DeploymentStatus) -> bool {
        let Some(number) = number(status) else { return false };
        self.site.placements.get(id).is_none_or(|it| number <= it.report)
    }

    /// Only what speaks of the present counts: a device that was set up anew
    /// counts anew, and what its former life sent may still arrive.
    fn note_number(&mut self, id: &PlacementId, status: &DeploymentStatus) {
        let Some(number) = number(status) else { return };
        if let Some(placement) = self.site.placements.get_mut(id) {
            placement.report = number;
            self.out.changed.placements.insert(id.clone());
        }
    }

    fn take_report(&mut self, id: &PlacementId, status: &DeploymentStatus, adopted: u64) {
        let Some(placement) = self.site.placements.get(id) else { return };
        let current = placement.offer().since().is_some_and(|since| adopted >= since);
        if !current {
            return self.stale(id, status, adopted);
        }
        self.note_number(id, status);
        self.note_running(id, status);
        let failure = failure_of(status);
        match status.status.state {
            Reported::Removed => self.removed(id),
            Reported::Failed => self.errored(id, failure),
            Reported::Installed => self.healthy(id),
            Reported::Pending | Reported::Installing => self.progressed(id),
            Reported::Removing => {}
        }
    }

    /// While something is staged, a report also says how the one is that runs on.
    fn note_running(&mut self, id: &PlacementId, status: &DeploymentStatus) {
        let error = status.colony.as_ref().and_then(|it| it.running.as_ref());
        let failure = error.map(failure_from);
        let staging = self.is_staging(id);
        let Some(placement) = self.site.placements.get_mut(id).filter(|_| staging) else { return };
        let Some(revision) = placement.revisions.last_good.clone() else { return };
        if placement.running_lost.as_ref().map(|it| &it.failure) == failure.as_ref() {
            return;
        }
        let since = self.now.wall;
        placement.running_lost = failure.clone().map(|failure| RunningLost {
            revision: revision.clone(),
            failure,
            since,
        });
        self.out.changed.placements.insert(id.clone());
        let (deployment, node) = (id.deployment.clone(), id.node.clone());
        let body = Body::RunningHealth { deployment, node: node.clone(), revision, failure };
        self.emit(Actor::Node(node), body);
    }

    fn stale(&mut self, id: &PlacementId, status: &DeploymentStatus, adopted: u64) {
        let state = status.status.state.to_string();
        let Some(placement) = self.site.placements.get_mut(id) else { return };
        let seen = Some((adopted, state.clone()));
        if placement.stale == seen {
            return;
        }
        placement.stale = seen;
        self.out.changed.placements.insert(id.clone());
        let (deployment, node) = (id.deployment.clone(), id.node.clone());
        let body = Body::StaleReport { deployment, node: node.clone(), adopted, state };
        self.emit(Actor::Node(node), body);
    }

    fn healthy(&mut self, id: &PlacementId) {
        if self.is_staging(id) {
            return self.staged(id);
        }
        if self.is_listed(id) {
            self.report_moves(id, Trigger::Healthy, None);
        }
    }

    fn progressed(&mut self, id: &PlacementId) {
        if self.is_listed(id) {
            self.report_moves(id, Trigger::Progress, None);
        }
    }

    fn errored(&mut self, id: &PlacementId, failure: Failure) {
        let Some(placement) = self.site.placements.get_mut(id) else { return };
        match placement.state() {
            State::Installed => self.report_moves(id, Trigger::HealthLost, Some(failure)),
            State::Failed(_) => {
                placement.failure = Some(failure);
                self.out.changed.placements.insert(id.clone());
            }
            State::Pending | State::Deleted => {}
            State::Installing
            | State::Updating
            | State::RollingBack
            | State::Unknown(_)
            | State::Deleting => self.report_moves(id, Trigger::Errored, Some(failure)),
        }
    }

    /// The node has nothing of it any more, or never had.
    fn removed(&mut self, id: &PlacementId) {
        let Some(placement) = self.site.placements.get_mut(id) else { return };
        match placement.state() {
            State::Pending => {
                placement.delivered = false;
                self.out.changed.placements.insert(id.clone());
            }
            State::Unknown(_) => self.report_moves(id, Trigger::Silent, None),
            State::Failed(Op::Delete) => {
                let by = By::node(&id.node).forced();
                if self.advance(id, Trigger::Retry, by).is_ok() {
                    self.report_moves(id, Trigger::Removed, None);
                }
            }
            State::Deleting => self.report_moves(id, Trigger::Removed, None),
            State::Installing
            | State::Updating
            | State::RollingBack
            | State::Installed
            | State::Failed(_)
            | State::Deleted => {}
        }
    }

    /// What was asked for was to run it beside what is there.
    fn is_staging(&self, id: &PlacementId) -> bool {
        let placement = self.site.placements.get(id);
        placement.is_some_and(|it| it.phase == WirePhase::Stage && it.state() != State::Installed)
    }

    /// It runs beside what is there and waits: that takes as long as it takes.
    fn staged(&mut self, id: &PlacementId) {
        if matches!(self.site.placements.get(id).map(Placement::state), Some(State::Unknown(_))) {
            self.report_moves(id, Trigger::Progress, None);
        }
        let Some(mut placement) = self.site.placements.remove(id) else { return };
        if placement.state() == State::Updating {
            self.disarm(&placement);
            placement.staged = true;
            self.out.changed.placements.insert(id.clone());
        }
        self.site.placements.insert(id.clone(), placement);
        self.reclassify(id);
        self.dirty.insert(id.deployment.clone());
    }

    /// A report that changes nothing in the present state is no error.
    fn report_moves(&mut self, id: &PlacementId, trigger: Trigger, failure: Option<Failure>) {
        let by = By { failure, ..By::node(&id.node) };
        let _ = self.advance(id, trigger, by);
    }

    fn is_listed(&self, id: &PlacementId) -> bool {
        let offer = self.site.placements.get(id).map(Placement::offer);
        matches!(offer, Some(Offer::Listed { .. }))
    }
}

fn number(status: &DeploymentStatus) -> Option<u64> {
    status.colony.as_ref().and_then(|it| it.report)
}

fn failure_of(status: &DeploymentStatus) -> Failure {
    let unnamed = || Failure::new(Code::EngineError, "");
    let failure = first_error(status).map_or_else(unnamed, failure_from);
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

/// A component's error says more than the deployment's.
fn first_error(status: &DeploymentStatus) -> Option<&StatusError> {
    let components = status.components.iter().filter(|it| it.state == Reported::Failed);
    components.filter_map(|it| it.error.as_ref()).next().or(status.status.error.as_ref())
}
