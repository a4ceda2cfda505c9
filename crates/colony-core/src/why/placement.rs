//! Why a placement is not where it should be.

use crate::code::Code;
use crate::id::{NodeName, PlacementId};
use crate::site::view::PlacementOutlook;
use crate::site::{Deployment, Placement, Site, SiteNode};
use crate::state::{Op, State};
use crate::time::Now;
use crate::transition::Trigger;
use crate::why::{AttemptCause, Cause, NodeCause, RolloutCause, Subject, VerdictCause, Why};

/// The answer for one placement; `None` if it runs the wanted revision and its
/// node is online.
pub fn placement(site: &Site, id: &PlacementId, now: Now) -> Option<Why> {
    let case = Case::of(site, id, now)?;
    let why = Why::new(case.subject(), case.causes(), &case.clause())?;
    let since = why.since.or_else(|| Some(case.waits_since()));
    Some(Why { since, ..why })
}

/// A placement with everything that explains it.
pub(super) struct Case<'a> {
    pub(super) site: &'a Site,
    pub(super) deployment: &'a Deployment,
    pub(super) placement: &'a Placement,
    pub(super) outlook: PlacementOutlook,
    pub(super) now: Now,
}

impl<'a> Case<'a> {
    fn of(site: &'a Site, id: &PlacementId, now: Now) -> Option<Case<'a>> {
        let placement = site.placement(id)?;
        let deployment = site.deployment(&id.deployment)?;
        let outlook = site.outlook(placement);
        Some(Case { site, deployment, placement, outlook, now })
    }

    fn subject(&self) -> Subject {
        Subject::Placement {
            deployment: self.deployment.name.clone(),
            nodes: vec![self.placement.id.node.clone()],
            state: self.placement.state(),
            since: self.placement.since,
            doing: self.doing(),
            waits: self.waits(),
        }
    }

    /// A wait begins when the placement is in its state and the revision is
    /// wanted. For a failing placement, it begins when the revision is wanted.
    pub(super) fn waits_since(&self) -> crate::time::Timestamp {
        let op = self.placement.state().op();
        let failing = matches!(self.placement.state(), State::Failed(_)) && op != Some(Op::Delete);
        match self.outlook.trigger {
            _ if failing && !self.placement.is_lost_late() => self.deployment.since(),
            Some(_) => self.placement.since.max(self.deployment.since()),
            None => self.placement.since,
        }
    }

    /// Everything that explains the placement, most important first.
    fn causes(&self) -> Vec<Cause> {
        let waits = !self.placement.state().is_final() || self.outlook.trigger.is_some();
        if let Some(frozen) = super::site::frozen(self.site).filter(|_| waits) {
            return vec![frozen];
        }
        match self.placement.state() {
            State::Pending => self.pending(),
            State::Installing | State::Updating | State::RollingBack => self.under_way(),
            State::Installed => self.installed(),
            State::Failed(op) => self.after_failure(op),
            State::Unknown(_) => self.lost(),
            State::Deleting => self.deleting(),
            State::Deleted => Vec::new(),
        }
    }

    fn pending(&self) -> Vec<Cause> {
        let mut causes = self.refusals(self.outlook.trigger);
        causes.extend(self.rollback_target());
        causes
    }

    fn under_way(&self) -> Vec<Cause> {
        let mut causes = self.refusals(self.outlook.trigger);
        if !self.placement.is_ready_to_take_over() {
            causes.push(self.in_progress());
            let before = self.placement.failure.clone().filter(|_| !self.outlook.back);
            causes
                .extend(before.map(|failure| Cause::Attempt(AttemptCause::LastError { failure })));
        }
        causes.extend(self.active_failure());
        causes.extend(self.suspect());
        causes.extend(self.rollback_target());
        causes
    }

    fn installed(&self) -> Vec<Cause> {
        let mut causes = self.refusals(self.outlook.trigger);
        causes.extend(self.rollback_target());
        causes.extend(self.lost_eligibility());
        if self.outlook.trigger.is_none() {
            causes.extend(self.stale());
        }
        causes
    }

    /// The failure is listed even if the placement waits for something else.
    fn after_failure(&self, op: Op) -> Vec<Cause> {
        let trigger = self.outlook.trigger.or(Some(Trigger::Retry));
        let mut causes = self.refusals(trigger);
        if causes.len() > 1 {
            causes.retain(|it| !self.is_own_stop(it));
        }
        let away = causes.iter().any(is_absence);
        if away {
            causes.retain(|it| !is_silence(it));
        }
        let told = causes.iter().any(|it| it.failure().is_some());
        let is_told = |code: &Code| told || away && *code == Code::NodeOffline;
        let failure = self.placement.failure.clone().filter(|it| !is_told(&it.code));
        causes.extend(failure.map(|failure| Cause::Attempt(AttemptCause::LastError { failure })));
        if op != Op::Delete {
            causes.extend(self.active_failure());
            causes.extend(self.rollback_target());
        }
        causes
    }

    /// The rollout stopped because of this very failure.
    fn is_own_stop(&self, cause: &Cause) -> bool {
        let own = self.placement.failure.as_ref();
        matches!(cause, Cause::Verdict(VerdictCause::RolloutStopped { node, failure, .. })
            if *node == self.placement.id.node && Some(failure) == own)
    }

    fn lost(&self) -> Vec<Cause> {
        let mut causes = vec![self.lost_attempt()];
        let refusals = self.refusals(self.outlook.trigger).into_iter();
        causes.extend(
            refusals.filter(|it| !is_absence(it) && *it != Cause::Rollout(RolloutCause::Due {})),
        );
        causes
    }

    fn deleting(&self) -> Vec<Cause> {
        let mut causes = self.refusals(self.outlook.trigger);
        if causes.is_empty() {
            causes.push(self.removal());
        }
        causes
    }

    /// The causes for which the table refuses `trigger`.
    fn refusals(&self, trigger: Option<Trigger>) -> Vec<Cause> {
        let Some(trigger) = trigger else { return Vec::new() };
        match self.site.refusal(&self.placement.id, trigger, self.now) {
            Some(it) => it.reasons.into_iter().filter_map(|it| self.cause(it)).collect(),
            None => vec![Cause::Rollout(RolloutCause::Due {})],
        }
    }

    /// Why the placement runs, or changes to, a revision other than the one in
    /// Git.
    fn rollback_target(&self) -> Option<Cause> {
        self.bad().filter(|_| self.outlook.back)
    }

    pub(super) fn site_node(&self) -> Option<&'a SiteNode> {
        self.site.site_node(&self.placement.id.node)
    }

    /// The placement of the same deployment on `node`.
    pub(super) fn placement_on(&self, node: &NodeName) -> PlacementId {
        PlacementId { deployment: self.deployment.id.clone(), node: node.clone() }
    }
}

fn is_absence(cause: &Cause) -> bool {
    matches!(
        cause,
        Cause::Node(NodeCause::NodeOffline { .. })
            | Cause::Node(NodeCause::NodeNeverHeard { .. })
            | Cause::Node(NodeCause::NodeRetired { .. })
    )
}

/// A backoff after a failure whose only content is that the node was offline.
fn is_silence(cause: &Cause) -> bool {
    matches!(cause, Cause::Attempt(AttemptCause::Backoff { failure, .. }) if failure.code == Code::NodeOffline)
}
