//! The states of a placement, and their names.
//!
//! `transition` defines which state may follow which; this file knows only the
//! names of the states and the operations they belong to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What an attempt tries to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    Install,
    Update,
    Rollback,
    Delete,
}

impl Op {
    pub const ALL: [Op; 4] = [Op::Install, Op::Update, Op::Rollback, Op::Delete];

    pub fn name(self) -> &'static str {
        match self {
            Op::Install => "install",
            Op::Update => "update",
            Op::Rollback => "rollback",
            Op::Delete => "delete",
        }
    }

    /// The state in which this operation is in progress.
    pub fn in_progress_state(self) -> State {
        match self {
            Op::Install => State::Installing,
            Op::Update => State::Updating,
            Op::Rollback => State::RollingBack,
            Op::Delete => State::Deleting,
        }
    }
}

/// The state of one deployment on one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum State {
    Pending,
    Installing,
    Updating,
    RollingBack,
    Installed,
    /// The operation ended in an error or ran out of time.
    Failed(Op),
    /// The node was lost while the operation was in progress.
    Unknown(Op),
    Deleting,
    Deleted,
}

impl State {
    /// All states, for tables and tests.
    pub fn all() -> impl Iterator<Item = State> {
        let plain = [
            State::Pending,
            State::Installing,
            State::Updating,
            State::RollingBack,
            State::Installed,
            State::Deleting,
            State::Deleted,
        ];
        let failed = Op::ALL.into_iter().map(State::Failed);
        let unknown = [Op::Install, Op::Update, Op::Rollback].into_iter().map(State::Unknown);
        plain.into_iter().chain(failed).chain(unknown)
    }

    /// The operation this state belongs to, if any.
    pub fn op(self) -> Option<Op> {
        match self {
            State::Installing => Some(Op::Install),
            State::Updating => Some(Op::Update),
            State::RollingBack => Some(Op::Rollback),
            State::Deleting => Some(Op::Delete),
            State::Failed(op) | State::Unknown(op) => Some(op),
            State::Pending | State::Installed | State::Deleted => None,
        }
    }

    /// A node is working on the operation, and a deadline applies.
    pub fn is_in_progress(self) -> bool {
        matches!(self, State::Installing | State::Updating | State::RollingBack)
    }

    /// A removal has started and is not finished.
    pub fn is_leaving(self) -> bool {
        self.op() == Some(Op::Delete)
    }

    /// The placement waits for nothing, so `why` has nothing to explain.
    pub fn is_final(self) -> bool {
        matches!(self, State::Installed | State::Deleted)
    }

    pub fn name(self) -> &'static str {
        match self {
            State::Pending => "PENDING",
            State::Installing => "INSTALLING",
            State::Updating => "UPDATING",
            State::RollingBack => "ROLLINGBACK",
            State::Installed => "INSTALLED",
            State::Failed(_) => "FAILED",
            State::Unknown(_) => "UNKNOWN",
            State::Deleting => "DELETING",
            State::Deleted => "DELETED",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Failed(op) | State::Unknown(op) => write!(f, "{}({})", self.name(), op.name()),
            State::Pending
            | State::Installing
            | State::Updating
            | State::RollingBack
            | State::Installed
            | State::Deleting
            | State::Deleted => f.pad(self.name()),
        }
    }
}

/// The error for a text that is not the name of a state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a state; expected one such as INSTALLED or FAILED(update)")]
pub struct StateError(String);

impl FromStr for State {
    type Err = StateError;
    fn from_str(text: &str) -> Result<State, StateError> {
        State::all()
            .find(|it| it.to_string() == text)
            .ok_or_else(|| StateError(text.chars().take(40).collect()))
    }
}

impl TryFrom<String> for State {
    type Error = StateError;
    fn try_from(text: String) -> Result<State, StateError> {
        text.parse()
    }
}

impl From<State> for String {
    fn from(state: State) -> String {
        state.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_reads_back_as_written() {
        for state in State::all() {
            assert_eq!(state.to_string().parse(), Ok(state));
        }
        assert!("UNKNOWN(delete)".parse::<State>().is_err(), "a delete never becomes unknown");
    }
}
