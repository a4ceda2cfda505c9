//! Whether the current step of a rollout allows a placement to move, and which
//! version is staged beside the active one.

use crate::attempt::Revision;
use crate::document::Strategy;
use crate::site::placement::facts::{Check, PlacementFacts};
use crate::site::step_context::StepContext;
use crate::site::{Deployment, Placement, Site, SiteNode, Staging};
use crate::state::{Op, State};
use crate::transition::{Reason, Refusal, Trigger};

impl Deployment {
    pub(in crate::site) fn is_blue_green(&self) -> bool {
        let strategy = self.policy().map(|it| &it.settings.strategy);
        matches!(strategy, Some(Strategy::BlueGreen(_)))
    }

    /// The accepted revision runs beside the active one until the last step opens.
    pub(crate) fn is_staging(&self) -> bool {
        self.is_blue_green() && !self.step_allows_all_nodes() && !self.is_quarantined()
    }
}

impl Placement {
    /// The manifest of the node lists `workload` and does not remove it.
    fn has(&self, workload: colony_margo::Digest) -> bool {
        let leaving = matches!(
            self.state(),
            State::Pending | State::Deleting | State::Deleted | State::Failed(Op::Delete)
        );
        !leaving && self.target_workload() == Some(workload)
    }
}

impl Site {
    /// The manifest of the node lists the accepted revision, which the node may
    /// run.
    pub(in crate::site) fn has_accepted_revision(&self, placement: &Placement) -> bool {
        let deployment = self.deployments.get(&placement.id.deployment);
        let forward = self.want(placement).is_some_and(|it| !it.back);
        forward && deployment.is_some_and(|it| placement.has(it.accepted.workload))
    }

    /// The strategy needs staging, which only colony's own nodes can do.
    pub(in crate::site) fn is_foreign_to(&self, placement: &Placement) -> bool {
        let deployment = self.deployments.get(&placement.id.deployment);
        let blue_green = deployment.is_some_and(Deployment::is_blue_green);
        let forward = || self.want(placement).is_some_and(|it| !it.back);
        blue_green && forward() && !self.is_ours(placement)
    }

    fn is_ours(&self, placement: &Placement) -> bool {
        let site_node = self.site_nodes.get(&placement.id.node);
        site_node.is_none_or(SiteNode::is_ours)
    }
}

impl PlacementFacts<'_> {
    /// Rollbacks, removals and repairs ignore steps.
    pub(in crate::site) fn step_open(&self) -> Check {
        let removal_failed = matches!(self.placement.state(), State::Failed(Op::Delete));
        if self.moves_backward() || self.is_repair() || self.want.is_none() || removal_failed {
            return Ok(());
        }
        if let Some(hold) = self.deployment.rollout.paused.clone() {
            return Err(Reason::Paused { by: hold.by, note: hold.note, since: hold.since });
        }
        if self.site.is_foreign_to(self.placement) {
            return Err(Reason::NotStageable { node: self.placement.id.node.clone() });
        }
        let has = self.placement.has(self.deployment.accepted.workload);
        let swaps = self.trigger == Trigger::Promoted;
        if self.deployment.step_allows_all_nodes()
            || (has && !swaps)
            || (!swaps && self.has_room_in_step())
        {
            return Ok(());
        }
        Err(self.closed())
    }

    /// The open step allows one more node, and this node may be it.
    fn has_room_in_step(&self) -> bool {
        if self.deployment.is_blue_green() {
            return self.placement.can_stage();
        }
        let room = self.deployment.step_size();
        let taken = self.deployment.rollout_index.has_revision.len();
        let node = &self.placement.id.node;
        room.is_none_or(|it| taken < it as usize)
            && self.site.matches_step_labels(self.deployment, node)
    }

    fn closed(&self) -> Reason {
        let rollout = &self.deployment.rollout;
        match (rollout.awaits_promotion_since, rollout.soaking_since, self.deployment.gate()) {
            (Some(since), _, _) => Reason::AwaitsPromotion { since },
            (None, Some(since), Some(gate)) => {
                Reason::Soaking { until: self.now.wall_second(since.after(gate.soak)) }
            }
            _ => self.not_done(),
        }
    }

    fn not_done(&self) -> Reason {
        let (ready_nodes, required_nodes) = self.site.healthy_and_required(self.deployment);
        match self.deployment.is_blue_green() {
            true => Reason::StageFirst { ready_nodes, required_nodes },
            false => Reason::CanaryFirst { ready_nodes, required_nodes },
        }
    }
}

impl Refusal {
    /// The refusal comes from the current step, so it applies to the whole queue.
    pub(in crate::site) fn is_from_current_step(&self) -> bool {
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

impl StepContext<'_> {
    /// Sets whether an attempt runs beside the active version.
    pub(in crate::site) fn set_staging(
        &self,
        placement: &mut Placement,
        to: State,
        trigger: Trigger,
        revision: &Revision,
    ) {
        let deployment = self.site.deployments.get(&placement.id.deployment);
        let stages = deployment
            .is_some_and(|it| it.is_staging() && it.accepted.workload == revision.workload);
        let last_good = placement.revisions.last_good.as_ref().map(|it| it.workload);
        let back = trigger == Trigger::Rollback && last_good == Some(revision.workload);
        placement.active_failure = None;
        placement.staging = match placement.staging.active_runs() {
            _ if stages && to == State::Updating => Staging::Staged,
            true if back => Staging::Discarding,
            true | false => Staging::NotStaged,
        };
    }
}
