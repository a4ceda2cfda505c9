//! The transition table: one line per row of the design, in its order.
//!
//! The ids are those of `docs/state-machine.md`, which a test compares with
//! this file; search an id to jump from the document to the line.

use crate::state::{Op, State};
use crate::transition::{Guard, Trigger};

use Guard::*;
use Role::*;
use StateSet::*;
use To::*;
use Trigger as T;

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    pub id: &'static str,
    pub from: &'static [StateSet],
    pub to: To,
    pub trigger: Trigger,
    pub role: Role,
    pub guards: &'static [Guard],
}

/// The role that causes the change of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The local orchestrator decides.
    LO,
    /// The execution node reports.
    EN,
}

/// One or several states a row starts at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateSet {
    Nothing,
    Only(State),
    /// FAILED in any operation.
    AnyFailed,
    /// FAILED in any operation but delete.
    FailedButDelete,
    AnyUnknown,
    /// Everything but DELETING and DELETED.
    NotLeaving,
}

/// The state a row leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    Exactly(State),
    /// The state in which the operation of `from` is in progress.
    InProgress,
    /// FAILED, keeping the operation of `from`.
    FailedIn,
    /// UNKNOWN, keeping the operation of `from`.
    UnknownIn,
    /// INSTALLING if nothing was ever installed, else UPDATING.
    Renewed,
}

const IN_FLIGHT: &[StateSet] =
    &[Only(State::Installing), Only(State::Updating), Only(State::RollingBack)];
const START: &[Guard] = &[NodeOnline, NotHeld, NotQuarantined, WindowOpen, StepOpen, SlotFree];
const FIRST_START: &[Guard] =
    &[NodeOnline, NotHeld, NotQuarantined, WindowOpen, VolumesPurged, StepOpen, SlotFree];

/// All state changes.
#[rustfmt::skip]
pub static TABLE: &[Row] = &[
    Row { id: "T01",  from: &[Nothing],                     trigger: T::Placed,         to: Exactly(State::Pending),     role: LO, guards: &[] },
    Row { id: "T02",  from: &[Only(State::Pending)],        trigger: T::Start,          to: Exactly(State::Installing),  role: LO, guards: FIRST_START },
    Row { id: "T03",  from: IN_FLIGHT,                      trigger: T::Healthy,        to: Exactly(State::Installed),   role: EN, guards: &[] },
    Row { id: "T04a", from: IN_FLIGHT,                      trigger: T::Errored,        to: FailedIn,                    role: EN, guards: &[] },
    Row { id: "T04b", from: IN_FLIGHT,                      trigger: T::Deadline,       to: FailedIn,                    role: LO, guards: &[] },
    Row { id: "T05",  from: IN_FLIGHT,                      trigger: T::NodeLost,       to: UnknownIn,                   role: LO, guards: &[] },
    Row { id: "T06",  from: &[Only(State::Installing), Only(State::Updating)], trigger: T::Superseded, to: InProgress,     role: LO, guards: &[NotHeld, NotQuarantined, WindowOpen, StepOpen, SlotFree] },
    Row { id: "T07",  from: &[Only(State::RollingBack)],    trigger: T::Superseded,     to: Exactly(State::Updating),    role: LO, guards: &[NotHeld, NotQuarantined, WindowOpen, StepOpen, SlotFree] },
    Row { id: "T08",  from: &[Only(State::Installed)],      trigger: T::Revised,        to: Exactly(State::Updating),    role: LO, guards: START },
    Row { id: "T09",  from: &[Only(State::Installed), Only(State::Updating)], trigger: T::Rollback, to: Exactly(State::RollingBack), role: LO, guards: &[NodeOnline, LastGoodKnown, SlotFree] },
    Row { id: "T10",  from: &[Only(State::Installed)],      trigger: T::HealthLost,     to: Exactly(State::Failed(Op::Update)), role: EN, guards: &[] },
    Row { id: "T11",  from: &[AnyFailed],                   trigger: T::Retry,          to: InProgress,                    role: LO, guards: &[NodeOnline, NotHeld, Due, StepOpen, SlotFree] },
    Row { id: "T12",  from: &[FailedButDelete],             trigger: T::Revised,        to: Renewed,                     role: LO, guards: START },
    Row { id: "T13",  from: &[Only(State::Failed(Op::Update))], trigger: T::Rollback,   to: Exactly(State::RollingBack), role: LO, guards: &[NodeOnline, PolicyRollsBack, TriesSpent, LastGoodKnown] },
    Row { id: "T14",  from: &[FailedButDelete],             trigger: T::Healthy,        to: Exactly(State::Installed),   role: EN, guards: &[RevisionMatches] },
    Row { id: "T15a", from: &[AnyUnknown],                  trigger: T::Progress,       to: InProgress,                    role: EN, guards: &[] },
    Row { id: "T15b", from: &[AnyUnknown],                  trigger: T::Healthy,        to: Exactly(State::Installed),   role: EN, guards: &[] },
    Row { id: "T15c", from: &[AnyUnknown],                  trigger: T::Errored,        to: FailedIn,                    role: EN, guards: &[] },
    Row { id: "T16a", from: &[AnyUnknown],                  trigger: T::Silent,         to: InProgress,                    role: LO, guards: &[NodeOnline] },
    Row { id: "T16b", from: &[AnyUnknown],                  trigger: T::Superseded,     to: Renewed,                     role: LO, guards: START },
    Row { id: "T17",  from: &[AnyUnknown],                  trigger: T::Deadline,       to: FailedIn,                    role: LO, guards: &[] },
    Row { id: "T18",  from: &[NotLeaving],                  trigger: T::Remove,         to: Exactly(State::Deleting),    role: LO, guards: &[NotHeld, ForcedIfUnknown] },
    Row { id: "T19",  from: &[Only(State::Deleting)],       trigger: T::Removed,        to: Exactly(State::Deleted),     role: EN, guards: &[] },
    Row { id: "T20a", from: &[Only(State::Deleting)],       trigger: T::NeverDelivered, to: Exactly(State::Deleted),     role: LO, guards: &[Undelivered] },
    Row { id: "T20b", from: &[Only(State::Deleting)],       trigger: T::Forced,         to: Exactly(State::Deleted),     role: LO, guards: &[] },
    Row { id: "T21",  from: &[Only(State::Deleting)],       trigger: T::Errored,        to: FailedIn,                    role: EN, guards: &[] },
    Row { id: "T22",  from: &[Only(State::Deleting), Only(State::Failed(Op::Delete))], trigger: T::Readded, to: Exactly(State::Pending), role: LO, guards: &[] },
    Row { id: "T23",  from: &[Only(State::Updating)],       trigger: T::Promoted,       to: Exactly(State::Updating),    role: LO, guards: START },
];

impl Row {
    /// Whether the row starts at `from`.
    pub fn starts_at(&self, from: Option<State>) -> bool {
        self.from.iter().any(|it| it.contains(from))
    }

    /// The state the row leads to when it starts at `from`.
    pub fn target(&self, from: Option<State>) -> State {
        let op = from.and_then(State::op).unwrap_or(Op::Install);
        match self.to {
            Exactly(state) => state,
            InProgress => op.in_progress_state(),
            FailedIn => State::Failed(op),
            UnknownIn => State::Unknown(op),
            Renewed if op == Op::Install => State::Installing,
            Renewed => State::Updating,
        }
    }
}

impl StateSet {
    fn contains(self, state: Option<State>) -> bool {
        let Some(state) = state else { return self == Nothing };
        match self {
            Nothing => false,
            Only(only) => only == state,
            AnyFailed => matches!(state, State::Failed(_)),
            FailedButDelete => matches!(state, State::Failed(op) if op != Op::Delete),
            AnyUnknown => matches!(state, State::Unknown(_)),
            NotLeaving => !matches!(state, State::Deleting | State::Deleted),
        }
    }
}
