//! What follows a failure: a retry, a stopped rollout or a rollback.

use std::time::Duration;

use colony_margo::Digest;

use crate::attempt::{Failure, Retry, Revision};
use crate::code::{Class, Code};
use crate::document::OnFailure;
use crate::event::{Actor, Body};
use crate::id::{DeploymentId, NodeName, PlacementId};
use crate::order_rules::rollback_target;
use crate::site::deployment::{Rejected, Stopped};
use crate::site::placement::facts::revision_error_limit;
use crate::site::rollout::Rollout;
use crate::site::step_context::StepContext;
use crate::site::timer::Timer;
use crate::site::{Placement, Quarantine, Site};
use crate::state::{Op, State};
use crate::time::Now;

/// How many quarantined revisions of one deployment are remembered.
const QUARANTINE_LIMIT: usize = 32;

/// A revision that reached its limit of revision errors on a node.
pub(in crate::site) struct UsedUpRevision {
    target: Revision,
    failure: Failure,
}

impl StepContext<'_> {
    /// Counts the failure of a placement that has just become FAILED. Returns
    /// the target if it has reached its limit of revision errors and is to blame.
    /// Otherwise schedules a retry, unless the device would refuse the target
    /// again.
    pub(in crate::site) fn count_failure(
        &mut self,
        id: &PlacementId,
        op: Op,
        failure: Option<Failure>,
    ) -> Option<UsedUpRevision> {
        let failure = failure.unwrap_or_else(|| Failure::new(Code::ProgressDeadline, ""));
        let limit = self.site.revision_error_limit(id, op)?;
        let placement = self.site.placements.get_mut(id)?;
        placement.failure = Some(failure.clone());
        placement.failures += 1;
        if counts_against_limit(placement, op) {
            placement.revision_errors += 1;
            if placement.revision_errors >= limit && self.is_to_blame(id, op) {
                let target = self.site.placements.get(id)?.revisions.target.clone()?;
                return Some(UsedUpRevision { target, failure });
            }
        }
        if !self.site.is_beyond_retry(id) {
            self.schedule_retry(id);
        }
        None
    }

    fn schedule_retry(&mut self, id: &PlacementId) {
        let Some(placement) = self.site.placements.get_mut(id) else { return };
        let timing = self.site.timing;
        let wait = backoff(timing.backoff_first, timing.backoff_cap, placement, self.now.entropy);
        let at = self.now.mono.after(wait);
        placement.retry_at = Some(at);
        self.site.index.timers.set(at, Timer::Retry(id.clone()));
    }

    /// Whether a target that used up its attempts may be quarantined, rejected
    /// or stopped: not in a rollback, not if the deployment has moved to another
    /// revision, and not if the target is proven.
    fn is_to_blame(&self, id: &PlacementId, op: Op) -> bool {
        let effective = self.site.deployments.get(&id.deployment).and_then(|it| it.effective());
        let target = self.site.placements.get(id).and_then(Placement::target_workload);
        let Some(target) = target.filter(|it| effective.map(|it| it.workload) == Some(*it)) else {
            return false;
        };
        op != Op::Rollback && !self.is_proven(&id.deployment, target)
    }

    /// Applies the failure policy (`onFailure`) to a revision that used up its
    /// attempts.
    pub(in crate::site) fn apply_failure_policy(
        &mut self,
        id: &PlacementId,
        used_up: UsedUpRevision,
    ) {
        let UsedUpRevision { target, failure } = used_up;
        let Some(deployment) = self.site.deployments.get(&id.deployment) else { return };
        let is_staged =
            self.site.placements.get(id).is_some_and(|it| it.staging.target_is_staged());
        match deployment.policy().map(|it| it.settings.on_failure) {
            // A staged revision takes over on all nodes or on none, so a single
            // node cannot roll back alone.
            Some(OnFailure::RollbackNode) if is_staged => {
                self.quarantine(id, target, failure);
            }
            Some(OnFailure::RollbackSite) => self.quarantine(id, target, failure),
            Some(OnFailure::RollbackNode) => self.reject(id, target, failure),
            Some(OnFailure::Stop) | None => self.stop_rollout(id, target, failure),
        }
    }

    /// Whether a node has run this workload for its proving period (`soak`), at
    /// present or before the deployment moved to another workload.
    fn is_proven(&self, id: &DeploymentId, workload: Digest) -> bool {
        let deployment = self.site.deployments.get(id);
        if deployment.is_some_and(|it| it.proven.contains(&workload)) {
            return true;
        }
        self.nodes_of(id).into_iter().any(|node| {
            let id = PlacementId { deployment: id.clone(), node };
            self.site.placements.get(&id).is_some_and(|it| {
                it.state() == State::Installed
                    && it.target_workload() == Some(workload)
                    && self.has_passed_proving_period(it)
            })
        })
    }

    /// Quarantines a revision that failed on a node, until an operator releases
    /// it.
    pub(in crate::site) fn quarantine(
        &mut self,
        id: &PlacementId,
        bad: Revision,
        failure: Failure,
    ) {
        self.quarantine_by(Actor::Local, &id.deployment, bad, Some(id.node.clone()), failure);
    }

    pub(in crate::site) fn quarantine_by(
        &mut self,
        actor: Actor,
        id: &DeploymentId,
        bad: Revision,
        node: Option<NodeName>,
        failure: Failure,
    ) {
        let since = self.now.wall;
        let earlier = self.earlier(id, &bad);
        let Some(deployment) = self.site.deployments.get_mut(id) else { return };
        let entry = Quarantine {
            revision: bad.clone(),
            node: node.clone(),
            by: actor.operator().map(str::to_owned),
            failure: failure.clone(),
            since,
        };
        if deployment.last_converged.as_ref().is_some_and(|it| it.workload == bad.workload) {
            let quarantined = &deployment.quarantine;
            let before = deployment.converged_before.take();
            let usable = before.filter(|it| !quarantined.contains_key(&it.workload));
            deployment.last_converged = usable.or(earlier);
        }
        deployment.unprove(bad.workload);
        deployment.quarantine.insert(bad.workload, entry);
        deployment.forget_oldest_quarantine(QUARANTINE_LIMIT);
        deployment.rolled_back = None;
        // The rollback replaces the stopped rollout.
        deployment.stopped = None;
        deployment.rollout = Rollout::default();
        let good = deployment.effective().cloned();
        let deployment = id.clone();
        self.emit(actor, Body::Quarantined { deployment, bad, good, node, failure });
        self.mark_changed(id);
        self.update_index_of_deployment(id);
    }

    /// The revision that a node ran before `bad`: the fallback of an
    /// orchestrator that was seeded, because `good_before` is not part of the
    /// seed.
    pub(in crate::site) fn earlier(&self, id: &DeploymentId, bad: &Revision) -> Option<Revision> {
        let deployment = self.site.deployments.get(id)?;
        let revisions = self.site.placements_of(deployment).map(|it| &it.revisions);
        rollback_target(bad.workload, None, &deployment.quarantine, revisions).cloned()
    }

    fn reject(&mut self, id: &PlacementId, bad: Revision, failure: Failure) {
        let Some(deployment) = self.site.deployments.get_mut(&id.deployment) else { return };
        let workload = bad.workload;
        let rejected = Rejected { workload, failure: failure.clone() };
        deployment.rejected.insert(id.node.clone(), rejected);
        let (deployment, node) = (id.deployment.clone(), id.node.clone());
        self.emit(Actor::Local, Body::RevisionRejected { deployment, node, workload, failure });
        self.mark_changed(&id.deployment);
    }

    fn stop_rollout(&mut self, id: &PlacementId, revision: Revision, failure: Failure) {
        let since = self.now.wall;
        let Some(deployment) = self.site.deployments.get_mut(&id.deployment) else { return };
        if deployment.stopped.is_some() {
            return;
        }
        let (node, workload) = (id.node.clone(), revision.workload);
        deployment.stopped =
            Some(Stopped { workload, node: node.clone(), failure: failure.clone(), since });
        let deployment = id.deployment.clone();
        self.emit(Actor::Local, Body::RolloutStopped { deployment, revision, node, failure });
        self.mark_changed(&id.deployment);
    }
}

impl Site {
    /// How often the target was tried, the limit, and when the next automatic
    /// retry is due. With a limit only revision errors are counted; where retries
    /// are unlimited, all failures are.
    pub fn retry(&self, id: &PlacementId, now: Now) -> Option<Retry> {
        let placement = self.placements.get(id)?;
        let op = placement.state.op()?;
        let limited =
            self.revision_error_limit(id, op).filter(|_| counts_against_limit(placement, op));
        let of =
            limited.filter(|it| placement.revision_errors < *it || placement.retry_at.is_none());
        let tried = if of.is_some() { placement.revision_errors } else { placement.failures };
        Some(Retry { tried, of, at: placement.retry_at.map(|it| now.wall_at(it)) })
    }

    fn revision_error_limit(&self, id: &PlacementId, op: Op) -> Option<u32> {
        let deployment = self.deployments.get(&id.deployment)?;
        Some(revision_error_limit(deployment, op, self.placements.get(id)?))
    }
}

impl crate::site::Deployment {
    fn forget_oldest_quarantine(&mut self, limit: usize) {
        while self.quarantine.len() > limit {
            let oldest = self.quarantine.iter().min_by_key(|it| it.1.since).map(|it| *it.0);
            oldest.map(|it| self.quarantine.remove(&it));
        }
    }
}

/// Whether the last failure counts against the limit: a revision error, except
/// in a removal or after the proving period.
fn counts_against_limit(placement: &Placement, op: Op) -> bool {
    let class = placement.failure.as_ref().map(|it| it.code.class());
    class == Some(Class::Revision) && !placement.health_lost_after_proving && op != Op::Delete
}

/// Doubles with each failure up to the cap, with a jitter of ±20 %.
fn backoff(first: Duration, cap: Duration, placement: &Placement, entropy: u64) -> Duration {
    let doublings = placement.failures.saturating_sub(1).min(20);
    let wait = first.saturating_mul(1 << doublings).min(cap);
    let spread = mix(entropy, &placement.id) % 401;
    wait * u32::try_from(800 + spread).unwrap_or(1_000) / 1_000
}

/// Varies the random number by placement, so that placements that fail
/// at the same time are not retried at the same time.
fn mix(entropy: u64, id: &PlacementId) -> u64 {
    let bytes = id.node.as_str().bytes().chain(id.deployment.to_string().into_bytes());
    bytes.fold(entropy ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
