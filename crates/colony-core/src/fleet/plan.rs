//! The state of a plan, from where its sites stand.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::fleet::{Fleet, Standing};
use crate::id::{DeploymentName, SiteName};
use crate::state::State;

/// Where a plan stands. Computed, never stored: a retry that helps takes a
/// plan out of FAILED again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PlanState {
    Completed,
    Pending,
    InProgress,
    Paused,
    RolledBack,
    Failed,
}

impl PlanState {
    /// Everything that was planned is there, or gone as planned.
    pub fn is_success(self) -> bool {
        self == PlanState::Completed
    }
}

/// The state of a plan whose sites stand like this: a failure, then a rollback,
/// then an operator's pause outweigh what is still moving.
pub fn plan_state(standings: impl IntoIterator<Item = Standing>, paused: bool) -> PlanState {
    let states: Vec<PlanState> = standings.into_iter().map(site_state).collect();
    let worst = states.iter().copied().max().unwrap_or(PlanState::Completed);
    let some = |it: PlanState| states.contains(&it);
    match worst {
        PlanState::Completed | PlanState::RolledBack | PlanState::Failed => worst,
        PlanState::Pending | PlanState::InProgress | PlanState::Paused if paused => {
            PlanState::Paused
        }
        PlanState::Pending if some(PlanState::Completed) => PlanState::InProgress,
        PlanState::Pending | PlanState::InProgress | PlanState::Paused => worst,
    }
}

fn site_state(standing: Standing) -> PlanState {
    match standing {
        Standing::Pending => PlanState::Pending,
        Standing::Conflict | Standing::Refused | Standing::Placed(State::Failed(_)) => {
            PlanState::Failed
        }
        Standing::RolledBack => PlanState::RolledBack,
        Standing::Gone | Standing::Placed(State::Installed | State::Deleted) => {
            PlanState::Completed
        }
        Standing::InProgress
        | Standing::Placed(
            State::Pending
            | State::Installing
            | State::Updating
            | State::RollingBack
            | State::Unknown(_)
            | State::Deleting,
        ) => PlanState::InProgress,
    }
}

impl Fleet {
    /// The state of a plan for `name` over these sites.
    pub fn plan_state<'a>(
        &self,
        name: &DeploymentName,
        sites: impl IntoIterator<Item = &'a SiteName>,
        paused: bool,
    ) -> PlanState {
        let standings = sites.into_iter().filter_map(|it| self.standing(it, name));
        plan_state(standings, paused)
    }
}

impl fmt::Display for PlanState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            PlanState::Completed => "COMPLETED",
            PlanState::Pending => "PENDING",
            PlanState::InProgress => "IN_PROGRESS",
            PlanState::Paused => "PAUSED",
            PlanState::RolledBack => "ROLLED_BACK",
            PlanState::Failed => "FAILED",
        })
    }
}
