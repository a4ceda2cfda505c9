//! Converts the reasons of the guards to causes: here and nowhere else.

use crate::attempt::Failure;
use crate::code::{Class, Code};
use crate::document::Promote;
use crate::id::{DeploymentId, NodeName, PlacementId};
use crate::state::Op;
use crate::time::Timestamp;
use crate::transition::Reason;
use crate::why::placement::Case;
use crate::why::{
    AttemptCause, Cause, NodeCause, RemovalCause, RolloutCause, SiteCause, Slot, VerdictCause,
};

impl Case<'_> {
    /// An operator opens each step of the rollout.
    fn is_manual(&self) -> bool {
        self.deployment.gate().is_some_and(|it| it.promote == Promote::Manual)
    }

    /// The cause for a guard's reason. `None` for the reasons that only occur
    /// with reports and operators' commands.
    pub(super) fn cause(&self, reason: Reason) -> Option<Cause> {
        Some(match reason {
            Reason::NodeOffline { node, last_heard } => {
                Cause::Node(NodeCause::NodeOffline { node, last_heard })
            }
            Reason::NodeNeverHeard { node } => self.never_heard(node),
            Reason::NodeRetired { node } => Cause::Node(NodeCause::NodeRetired { node }),
            Reason::SlotsFull { some_nodes, taken, limit } => {
                self.slots_full(&some_nodes, taken, limit)
            }
            Reason::CanaryFirst { ready_nodes: done, required_nodes: of } => {
                Cause::Rollout(RolloutCause::CanaryFirst { done, of, manual: self.is_manual() })
            }
            Reason::StageFirst { ready_nodes: done, required_nodes: of } => {
                Cause::Rollout(RolloutCause::StageFirst { done, of, manual: self.is_manual() })
            }
            Reason::Soaking { until } => {
                Cause::Rollout(RolloutCause::Soaking { until, manual: self.is_manual() })
            }
            Reason::AwaitsPromotion { since } => {
                Cause::Rollout(RolloutCause::AwaitsPromotion { since })
            }
            Reason::Paused { by, note, since } => {
                let manual = self.is_manual() && !self.deployment.step_allows_all_nodes();
                Cause::Rollout(RolloutCause::Paused { by, note, since, manual })
            }
            Reason::NotStageable { node } => Cause::Rollout(RolloutCause::NotStageable { node }),
            Reason::RolloutStopped { node, code } => self.wave_stopped(node, code),
            Reason::HeldSite { by, note, since } => {
                Cause::Site(SiteCause::HoldSite { by, note, since })
            }
            Reason::HeldDeployment { by, note, since } => {
                Cause::Site(SiteCause::HoldDeployment { by, note, since })
            }
            Reason::WindowClosed { opens } => Cause::Site(SiteCause::WindowClosed { opens }),
            Reason::Delayed { until } => {
                Cause::Rollout(RolloutCause::Delayed { until, since: self.deployment.since() })
            }
            Reason::PurgeFirst { node, deployment } => self.purge_first(node, deployment),
            Reason::Quarantined { workload, .. } => return self.quarantined(workload),
            Reason::Backoff { until } => self.failed(Some(until)),
            Reason::TriesUsedUp { .. } => self.failed(None),
            Reason::Refused { node, .. } => self.refused(node),
            Reason::NoLastGood
            | Reason::TriesLeft { .. }
            | Reason::PolicyStops
            | Reason::EnvironmentError { .. }
            | Reason::HealthLostAfterSoak => {
                Cause::Verdict(VerdictCause::RollbackRefused { reason })
            }
            Reason::NoSuchRow { .. }
            | Reason::OtherRevision { .. }
            | Reason::UnknownNeedsForce
            | Reason::WasDelivered => return None,
        })
    }

    fn never_heard(&self, node: NodeName) -> Cause {
        let joined = self.site.site_node(&node).map(|it| it.joined);
        Cause::Node(NodeCause::NodeNeverHeard { node, joined })
    }

    fn purge_first(&self, node: NodeName, deployment: DeploymentId) -> Cause {
        let id = PlacementId { deployment, node: node.clone() };
        let since = self.site.placement(&id).map_or(self.placement.since, |it| it.since);
        Cause::Removal(RemovalCause::PurgeFirst { node, since })
    }

    fn slots_full(&self, busy: &[NodeName], taken: usize, limit: u32) -> Cause {
        let others = busy.iter().filter(|it| **it != self.placement.id.node);
        let slots = others.take(taken).filter_map(|node| self.slot(node)).collect();
        Cause::Rollout(RolloutCause::SlotsFull { slots, taken, limit })
    }

    fn slot(&self, node: &NodeName) -> Option<Slot> {
        let id = self.placement_on(node);
        let placement = self.site.placement(&id)?;
        Some(Slot { node: id.node, state: placement.state(), since: placement.since })
    }

    fn wave_stopped(&self, node: NodeName, code: Code) -> Cause {
        let stopped = self.deployment.stopped();
        let failure = stopped.map_or_else(|| Failure::new(code, ""), |it| it.failure.clone());
        let since = stopped.map_or(self.placement.since, |it| it.since);
        let version = self.version(self.deployment.accepted());
        Cause::Verdict(VerdictCause::RolloutStopped { version, node, failure, since })
    }

    /// A failure whose next try is due at `until`, or that is not retried.
    fn failed(&self, until: Option<Timestamp>) -> Cause {
        let unheard = || Failure::new(Code::ProgressDeadline, "how it failed was never reported");
        let failure = self.placement.failure.clone().unwrap_or_else(unheard);
        match until {
            _ if self.op() == Op::Delete => {
                Cause::Removal(RemovalCause::DeleteFailed { failure, until })
            }
            _ if self.placement.is_lost_late() => {
                Cause::Attempt(AttemptCause::HealthLost { failure, until })
            }
            Some(until) => self.backoff(failure, until),
            None => Cause::Attempt(AttemptCause::TriesUsedUp {
                failure,
                tries: self.placement.revision_errors(),
            }),
        }
    }

    fn refused(&self, node: NodeName) -> Cause {
        let unheard = || Failure::new(Code::NotEligible, "");
        Cause::Attempt(AttemptCause::Refused {
            node,
            failure: self.placement.failure.clone().unwrap_or_else(unheard),
        })
    }

    /// Only revision errors are counted, and only while the limit is not
    /// reached.
    fn backoff(&self, failure: Failure, until: Timestamp) -> Cause {
        let (tries, failures) = (self.placement.revision_errors(), self.placement.failures());
        let limit = self.deployment.tries_allowed(self.op(), self.placement);
        let (next_try, of) = match failure.code.class() {
            Class::Revision if tries < limit => (tries + 1, Some(limit)),
            Class::Revision | Class::Environment | Class::Device => (failures + 1, None),
        };
        Cause::Attempt(AttemptCause::Backoff { failure, next_try, of, until })
    }

    fn op(&self) -> Op {
        self.placement.state().op().unwrap_or(Op::Install)
    }
}
