//! Which steps of a rollout let a placement through, and what is staged.

use crate::attempt::Revision;
use crate::document::{Strategy, WirePhase};
use crate::site::facts::{Check, PlacementFacts};
use crate::site::turn::Turn;
use crate::site::{Deployment, Member, Placement, Site};
use crate::state::{Op, State};
use crate::transition::{Reason, Refusal, Trigger};

impl Deployment {
    pub(super) fn is_blue_green(&self) -> bool {
        let strategy = self.policy().map(|it| &it.settings.strategy);
        matches!(strategy, Some(Strategy::BlueGreen(_)))
    }

    /// The wanted revision is to run beside the old one for the time being.
    pub(crate) fn is_staging(&self) -> bool {
        self.is_blue_green() && !self.is_open() && !self.is_quarantined()
    }
}

impl Placement {
    /// The node was told to run `workload`, and not to leave.
    fn has(&self, workload: colony_margo::Digest) -> bool {
        let leaving = matches!(
            self.state(),
            State::Pending | State::Deleting | State::Deleted | State::Failed(Op::Delete)
        );
        !leaving && self.target_workload() == Some(workload)
    }
}

impl Site {
    /// The placement was told to run what Git wants.
    pub(super) fn is_fresh(&self, placement: &Placement) -> bool {
        let deployment = self.deployments.get(&placement.id.deployment);
        let forward = self.want(placement).is_some_and(|it| !it.back);
        forward && deployment.is_some_and(|it| placement.has(it.wanted.workload))
    }

    /// The strategy asks for what only colony's own nodes can do.
    pub(super) fn is_foreign_to(&self, placement: &Placement) -> bool {
        let deployment = self.deployments.get(&placement.id.deployment);
        let blue_green = deployment.is_some_and(Deployment::is_blue_green);
        let forward = || self.want(placement).is_some_and(|it| !it.back);
        blue_green && forward() && !self.is_ours(placement)
    }

    fn is_ours(&self, placement: &Placement) -> bool {
        let member = self.members.get(&placement.id.node);
        member.is_none_or(Member::is_ours)
    }
}

impl PlacementFacts<'_> {
    /// Ways back, removals and repairs wait for no step.
    pub(super) fn step_open(&self) -> Check {
        let leaves = matches!(self.placement.state(), State::Failed(Op::Delete));
        if self.is_back() || self.is_repair() || self.want.is_none() || leaves {
            return Ok(());
        }
        if let Some(hold) = self.deployment.rollout.paused.clone() {
            return Err(Reason::Paused { by: hold.by, note: hold.note, since: hold.since });
        }
        if self.site.is_foreign_to(self.placement) {
            return Err(Reason::NotStageable { node: self.placement.id.node.clone() });
        }
        let has = self.placement.has(self.deployment.wanted.workload);
        let swaps = self.trigger == Trigger::Promoted;
        if self.deployment.is_open() || (has && !swaps) || (!swaps && self.is_let_in()) {
            return Ok(());
        }
        Err(self.closed())
    }

    /// The open step has a place for this node.
    fn is_let_in(&self) -> bool {
        if self.deployment.is_blue_green() {
            return self.placement.state() == State::Installed || self.placement.aside;
        }
        let room = self.deployment.step_size();
        let taken = self.deployment.lanes.fresh.len();
        let node = &self.placement.id.node;
        room.is_none_or(|it| taken < it as usize) && self.site.is_canary(self.deployment, node)
    }

    fn closed(&self) -> Reason {
        let rollout = &self.deployment.rollout;
        match (rollout.awaits, rollout.soaking, self.deployment.gate()) {
            (Some(since), _, _) => Reason::AwaitsPromotion { since },
            (None, Some(since), Some(gate)) => {
                Reason::Soaking { until: self.now.wall_second(since.after(gate.soak)) }
            }
            _ => self.not_done(),
        }
    }

    fn not_done(&self) -> Reason {
        let (done, of) = self.site.progress(self.deployment);
        match self.deployment.is_blue_green() {
            true => Reason::StageFirst { done, of },
            false => Reason::CanaryFirst { done, of },
        }
    }

    /// To what runs on beside the attempt.
    fn leads_back(&self) -> bool {
        let runs = self.placement.revisions.last_good.as_ref().map(|it| it.workload);
        let wanted = self.want.as_ref().map(|it| it.revision.workload);
        let replaced = self.trigger == Trigger::Superseded && runs.is_some() && runs == wanted;
        self.trigger == Trigger::Rollback || replaced
    }

    /// What runs beside the old one, or is only taken away from there.
    pub(super) fn takes_nothing_down(&self) -> bool {
        let back = self.placement.aside && self.leads_back();
        let forward = self.trigger != Trigger::Promoted
            && self.trigger != Trigger::Rollback
            && (self.placement.state() == State::Installed || self.placement.aside)
            && !self.is_back()
            && self.deployment.is_staging();
        back || forward
    }
}

impl Refusal {
    /// A step holds everybody back whom it means and who waits in that queue.
    pub(super) fn is_gated(&self) -> bool {
        self.reasons.iter().any(|it| {
            matches!(
                it,
                Reason::Paused { .. }
                    | Reason::Soaking { .. }
                    | Reason::AwaitsPromotion { .. }
                    | Reason::CanaryFirst { .. }
                    | Reason::StageFirst { .. }
            )
        })
    }
}

impl Turn<'_> {
    /// Whether an attempt runs beside what is there, and takes nothing down.
    pub(super) fn set_phase(
        &self,
        placement: &mut Placement,
        to: State,
        trigger: Trigger,
        revision: &Revision,
    ) {
        let deployment = self.site.deployments.get(&placement.id.deployment);
        let stages =
            deployment.is_some_and(|it| it.is_staging() && it.wanted.workload == revision.workload);
        let was_aside = placement.aside;
        (placement.staged, placement.running_lost) = (false, None);
        if stages && to == State::Updating {
            (placement.phase, placement.aside) = (WirePhase::Stage, true);
            return;
        }
        // Back to what was never stopped.
        let last_good = placement.revisions.last_good.as_ref().map(|it| it.workload);
        let back = trigger == Trigger::Rollback && last_good == Some(revision.workload);
        (placement.phase, placement.aside) = (WirePhase::Active, was_aside && back);
    }
}
