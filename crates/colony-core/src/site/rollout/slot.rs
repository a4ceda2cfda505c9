//! Slots: how many nodes of a deployment may be down at once because of colony
//! (`maxUnavailable`).
//!
//! Two tables decide. [`OCCUPANCY`] says how a placement counts against the
//! limit, [`SLOTS`] whether a transition needs a free slot. In both the first
//! row whose conditions all hold applies. `docs/state-machine.md` publishes them,
//! and a test compares it with this file.
//!
//! Not covered: workloads that are down for reasons of their own.

use crate::document::{CountOrPercent, Strategy};
use crate::id::NodeName;
use crate::site::placement::facts::{Check, PlacementFacts};
use crate::site::placement::transition::Initiator;
use crate::site::{Deployment, Placement, Site};
use crate::state::{Op, State};
use crate::time::Now;
use crate::transition::{Reason, Trigger};

/// How a placement counts against `maxUnavailable`.
///
/// A node is *in flight* while an attempt is open and no active version runs
/// beside it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Occupancy {
    /// It does not count.
    #[default]
    Nothing,
    /// An attempt is in progress or its result is unknown, and the active
    /// version keeps running. It does not count; `RolloutIndex` lists it
    /// separately.
    Staging,
    /// An attempt is in progress or its result is unknown, and no active
    /// version runs beside it. It takes a slot.
    InFlight,
    /// Failed on a reachable node: the workload is down. It takes a slot from
    /// transitions that would take another node down.
    Down,
}

/// A condition of a row of [`OCCUPANCY`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlacementCondition {
    /// The attempt is in progress, or its result is UNKNOWN.
    AttemptOpen,
    /// The active version keeps running beside the target.
    ActiveRuns,
    /// FAILED, but not in a removal, on an online node that did not refuse the
    /// revision.
    FailedOnUsableNode,
}

/// A row of [`OCCUPANCY`].
#[derive(Debug)]
pub struct OccupancyRow {
    pub id: &'static str,
    pub conditions: &'static [PlacementCondition],
    pub occupies: Occupancy,
}

/// A condition of a row of [`SLOTS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransitionCondition {
    /// The attempt discards a staged version; the active one was never stopped.
    DiscardsStaged,
    /// The attempt stages a version: it starts beside the active one.
    Stages,
    /// The node is in flight: the attempt replaces one that has a slot.
    HoldsSlot,
    /// The placement is FAILED and no version runs.
    IsDown,
    /// A failed rollback or removal is retried or replaced by a rollback.
    RetriesRollbackOrRemoval,
    /// The previous version keeps running: the device cannot run the new one, or
    /// the new one failed while it was staged.
    PreviousRuns,
}

/// What a transition needs of the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotNeed {
    Nothing,
    /// A free slot; nodes in flight occupy one.
    CountInFlight,
    /// A free slot; nodes in flight and failed nodes occupy one.
    CountInFlightAndDown,
}

/// A row of [`SLOTS`].
#[derive(Debug)]
pub struct SlotRow {
    pub id: &'static str,
    pub conditions: &'static [TransitionCondition],
    pub needs: SlotNeed,
    /// Without a free slot, the nodes behind this one in the queue are skipped
    /// in this call of `Site::step`. While the rollout is staging they are not:
    /// one of them may be staged, which needs no slot.
    pub blocks_queue: bool,
}

use PlacementCondition::*;
use TransitionCondition::*;

/// How a placement counts against the limit.
#[rustfmt::skip]
pub static OCCUPANCY: &[OccupancyRow] = &[
    OccupancyRow { id: "O1", conditions: &[AttemptOpen, ActiveRuns],        occupies: Occupancy::Staging },
    OccupancyRow { id: "O2", conditions: &[AttemptOpen],                    occupies: Occupancy::InFlight },
    OccupancyRow { id: "O3", conditions: &[FailedOnUsableNode, ActiveRuns], occupies: Occupancy::Nothing },
    OccupancyRow { id: "O4", conditions: &[FailedOnUsableNode],             occupies: Occupancy::Down },
    OccupancyRow { id: "O5", conditions: &[],                               occupies: Occupancy::Nothing },
];

/// What a transition needs.
///
/// - S1 and S2 take nothing down.
/// - S3 inherits the slot of the attempt it replaces.
/// - S4 takes nothing down: no version runs.
/// - S5 needs a slot because the retry puts the node in flight. It ignores
///   failed nodes, which would otherwise block each other forever.
/// - S6 takes a running workload down, so it counts failed nodes as well. It is
///   in the queue of retries with S5, which counts fewer nodes, so it does not
///   block the nodes behind it.
/// - S7 takes a running workload down or installs one, and counts failed nodes.
#[rustfmt::skip]
pub static SLOTS: &[SlotRow] = &[
    SlotRow { id: "S1", conditions: &[DiscardsStaged],                   needs: SlotNeed::Nothing,              blocks_queue: false },
    SlotRow { id: "S2", conditions: &[Stages],                           needs: SlotNeed::Nothing,              blocks_queue: false },
    SlotRow { id: "S3", conditions: &[HoldsSlot],                        needs: SlotNeed::Nothing,              blocks_queue: false },
    SlotRow { id: "S4", conditions: &[IsDown, RetriesRollbackOrRemoval], needs: SlotNeed::Nothing,              blocks_queue: false },
    SlotRow { id: "S5", conditions: &[IsDown],                           needs: SlotNeed::CountInFlight,        blocks_queue: true },
    SlotRow { id: "S6", conditions: &[PreviousRuns],                     needs: SlotNeed::CountInFlightAndDown, blocks_queue: false },
    SlotRow { id: "S7", conditions: &[],                                 needs: SlotNeed::CountInFlightAndDown, blocks_queue: true },
];

impl Site {
    /// How a placement counts against the limit, by the table.
    pub(in crate::site) fn occupancy(&self, placement: &Placement) -> Occupancy {
        let holds = |it: &PlacementCondition| self.placement_condition(placement, *it);
        let row = OCCUPANCY.iter().find(|it| it.conditions.iter().all(holds));
        row.map_or(Occupancy::Nothing, |it| it.occupies)
    }

    fn placement_condition(&self, placement: &Placement, condition: PlacementCondition) -> bool {
        let state = placement.state();
        match condition {
            AttemptOpen => state.is_in_progress() || matches!(state, State::Unknown(_)),
            ActiveRuns => placement.staging.active_runs(),
            FailedOnUsableNode => {
                matches!(state, State::Failed(op) if op != Op::Delete)
                    && self.can_run_target(placement)
            }
        }
    }

    /// The node is online, and its device can run the revision.
    pub(in crate::site) fn can_run_target(&self, placement: &Placement) -> bool {
        let site_node = self.site_nodes.get(&placement.id.node);
        site_node.is_some_and(|it| it.is_online()) && !placement.is_refused()
    }

    /// Whether a lack of slots blocks every node behind this one in its queue.
    pub(in crate::site) fn full_slots_block_queue(
        &self,
        placement: &Placement,
        trigger: Trigger,
        now: Now,
    ) -> bool {
        let Some(deployment) = self.deployments.get(&placement.id.deployment) else { return false };
        let by = Initiator::local();
        let want = self.want(placement);
        let facts =
            PlacementFacts { site: self, deployment, placement, want, trigger, by: &by, now };
        !deployment.is_staging() && facts.slot_row().is_some_and(|it| it.blocks_queue)
    }
}

impl PlacementFacts<'_> {
    /// The limit of nodes that are down leaves room for the transition.
    pub(in crate::site) fn has_slot(&self) -> Check {
        let (Some(limit), Some(row)) = (limit(self.deployment), self.slot_row()) else {
            return Ok(());
        };
        let in_flight = &self.deployment.rollout_index.in_flight;
        let (down, counted_down) = match row.needs {
            SlotNeed::Nothing => return Ok(()),
            SlotNeed::CountInFlight => (0, None),
            SlotNeed::CountInFlightAndDown => {
                (self.count_down_in_current_step(), Some(self.down_in_current_step()))
            }
        };
        let taken = in_flight.len() + down;
        if taken < limit as usize {
            return Ok(());
        }
        let taken_by = in_flight.iter().chain(counted_down.into_iter().flatten());
        let some_nodes = taken_by.take(3).cloned().collect();
        Err(Reason::SlotsFull { some_nodes, taken, limit })
    }

    fn slot_row(&self) -> Option<&'static SlotRow> {
        SLOTS.iter().find(|it| it.conditions.iter().all(|it| self.transition_condition(*it)))
    }

    fn transition_condition(&self, condition: TransitionCondition) -> bool {
        let placement = self.placement;
        let previous_runs = placement.is_refused() || placement.staging.active_runs();
        match condition {
            DiscardsStaged => placement.staging.active_runs() && self.returns_to_active(),
            Stages => self.stages(),
            HoldsSlot => self.deployment.rollout_index.in_flight.contains(&placement.id.node),
            IsDown => matches!(placement.state(), State::Failed(_)) && !previous_runs,
            RetriesRollbackOrRemoval => self.retries_rollback_or_removal(),
            PreviousRuns => previous_runs,
        }
    }

    /// The attempt returns to the version that kept running beside it.
    fn returns_to_active(&self) -> bool {
        let active = self.placement.revisions.last_good.as_ref().map(|it| it.workload);
        let wanted = self.want.as_ref().map(|it| it.revision.workload);
        let superseded_by_active =
            self.trigger == Trigger::Superseded && active.is_some() && active == wanted;
        self.trigger == Trigger::Rollback || superseded_by_active
    }

    fn stages(&self) -> bool {
        let forward = !matches!(self.trigger, Trigger::Promoted | Trigger::Rollback);
        forward
            && self.placement.can_stage()
            && !self.moves_backward()
            && self.deployment.is_staging()
    }

    fn retries_rollback_or_removal(&self) -> bool {
        self.has_failed_rollback_or_removal()
            && (self.trigger == Trigger::Retry || self.moves_backward())
    }

    /// The failed nodes; while a rollout step is open, only those in it. The
    /// others cannot recover before it ends, so they must not block it.
    fn down_in_current_step(&self) -> impl Iterator<Item = &NodeName> {
        let all = self.deployment.step_allows_all_nodes();
        let down = self.deployment.rollout_index.down.iter();
        down.filter(move |it| all || self.site.in_current_step(self.deployment, it))
    }

    fn count_down_in_current_step(&self) -> usize {
        match self.deployment.step_allows_all_nodes() {
            true => self.deployment.rollout_index.down.len(),
            false => self.down_in_current_step().count(),
        }
    }
}

/// How many nodes may be down at once; `None` if any number may.
pub(in crate::site) fn limit(deployment: &Deployment) -> Option<u32> {
    let limit = match deployment.policy().map(|it| &it.settings.strategy) {
        Some(Strategy::AllAtOnce) => None,
        Some(Strategy::Rolling { max_unavailable }) => Some(*max_unavailable),
        Some(Strategy::Canary(it)) => Some(it.max_unavailable),
        Some(Strategy::BlueGreen(it)) => it.max_unavailable,
        None => Some(CountOrPercent::Count(1)),
    };
    limit.map(|it| it.of(deployment.nodes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_prints_both_tables() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/state-machine.md");
        let document = std::fs::read_to_string(path).expect("docs/state-machine.md is readable");
        for table in [occupancy_markdown(), slots_markdown()] {
            assert!(document.contains(&table), "docs/state-machine.md should contain:\n\n{table}");
        }
    }

    /// A row never applies if an earlier row's conditions are a subset of its own.
    #[test]
    fn no_row_hides_a_later_one() {
        for (at, row) in SLOTS.iter().enumerate() {
            let hides = |it: &&SlotRow| row.conditions.iter().all(|of| it.conditions.contains(of));
            let hidden = SLOTS[at + 1..].iter().find(hides);
            assert!(hidden.is_none(), "{} hides {hidden:?}", row.id);
        }
        for (at, row) in OCCUPANCY.iter().enumerate() {
            let hides =
                |it: &&OccupancyRow| row.conditions.iter().all(|of| it.conditions.contains(of));
            let hidden = OCCUPANCY[at + 1..].iter().find(hides);
            assert!(hidden.is_none(), "{} hides {hidden:?}", row.id);
        }
    }

    fn occupancy_markdown() -> String {
        let head = "| row | placement | occupies |\n| --- | --- | --- |\n".to_owned();
        OCCUPANCY.iter().fold(head, |text, row| {
            let conditions: Vec<&str> =
                row.conditions.iter().map(|it| placement_text(*it)).collect();
            let occupies = match row.occupies {
                Occupancy::Nothing => "nothing",
                Occupancy::Staging => "nothing: it is staging",
                Occupancy::InFlight => "a slot: it is in flight",
                Occupancy::Down => "a slot: it is down",
            };
            text + &format!("| {} | {} | {occupies} |\n", row.id, conditions_text(&conditions))
        })
    }

    fn slots_markdown() -> String {
        let head = "| row | transition | needs | a refusal skips the rest of the queue |\n| --- | --- | --- | --- |\n";
        SLOTS.iter().fold(head.to_owned(), |text, row| {
            let conditions: Vec<&str> =
                row.conditions.iter().map(|it| transition_text(*it)).collect();
            let needs = match row.needs {
                SlotNeed::Nothing => "nothing",
                SlotNeed::CountInFlight => "a slot, counting nodes in flight",
                SlotNeed::CountInFlightAndDown => "a slot, counting nodes in flight and down",
            };
            let blocks = if row.blocks_queue { "yes, unless the rollout is staging" } else { "no" };
            text + &format!(
                "| {} | {} | {needs} | {blocks} |\n",
                row.id,
                conditions_text(&conditions)
            )
        })
    }

    fn conditions_text(conditions: &[&str]) -> String {
        if conditions.is_empty() { "otherwise".to_owned() } else { conditions.join(", ") }
    }

    fn placement_text(condition: PlacementCondition) -> &'static str {
        match condition {
            AttemptOpen => "attempt in progress or UNKNOWN",
            ActiveRuns => "the active version keeps running",
            FailedOnUsableNode => "FAILED (not delete), node online, not refused by the device",
        }
    }

    fn transition_text(condition: TransitionCondition) -> &'static str {
        match condition {
            DiscardsStaged => "discards a staged version and returns to the active one",
            Stages => "stages a version beside the active one",
            HoldsSlot => "replaces an attempt of a node in flight",
            IsDown => "FAILED and no version runs",
            RetriesRollbackOrRemoval => {
                "a failed rollback or removal is retried or replaced by a rollback"
            }
            PreviousRuns => {
                "the previous version keeps running (the device cannot run the new one, or the new one failed while staged)"
            }
        }
    }
}
