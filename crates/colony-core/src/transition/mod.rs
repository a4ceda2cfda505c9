//! The one function through which a placement changes its state.
//!
//! `TABLE` (in `table.rs`) says which state may follow which, on what trigger,
//! by whom and under which guards; `transition` looks the row up and asks the
//! guards. A refusal always says why. The site core writes states through this
//! function alone; CO's projection and the simulator check every event against
//! the same table (`is_legal`).

mod guard;
mod table;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use guard::{Facts, Guard, NoFacts, Reason};
pub use table::{Row, TABLE, To};

use crate::state::State;

/// What happened, or what somebody wants to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// The placement was decided.
    Placed,
    /// Its turn has come: the first attempt may start.
    Start,
    /// The node says: installing.
    Progress,
    /// The node says: all components running and healthy.
    Healthy,
    /// The node says: failed.
    Errored,
    /// The progress deadline has passed.
    Deadline,
    /// The node's lease ran out.
    NodeLost,
    /// Another workload digest is wanted than the one under way.
    Superseded,
    /// Another workload digest is wanted than the one that is there.
    Revised,
    /// Back to the last good revision.
    Rollback,
    /// A healthy workload is healthy no more, beyond its restart policy.
    HealthLost,
    /// The same again, after backoff or by an operator.
    Retry,
    /// The node polls again but says nothing of this placement.
    Silent,
    /// No longer wanted here.
    Remove,
    /// The node says: removed.
    Removed,
    /// Removed before any node heard of it.
    NeverDelivered,
    /// An operator or a retired node ends the wait for a confirmation.
    Forced,
    /// Wanted again while it was being removed.
    Readded,
    /// What is staged may take over.
    Promoted,
}

impl Trigger {
    /// The name in events, tables and messages.
    pub fn name(self) -> &'static str {
        match self {
            Trigger::Placed => "placed",
            Trigger::Start => "start",
            Trigger::Progress => "progress",
            Trigger::Healthy => "healthy",
            Trigger::Errored => "errored",
            Trigger::Deadline => "deadline",
            Trigger::NodeLost => "node-lost",
            Trigger::Superseded => "superseded",
            Trigger::Revised => "revised",
            Trigger::Rollback => "rollback",
            Trigger::HealthLost => "health-lost",
            Trigger::Retry => "retry",
            Trigger::Silent => "silent",
            Trigger::Remove => "remove",
            Trigger::Removed => "removed",
            Trigger::NeverDelivered => "never-delivered",
            Trigger::Forced => "forced",
            Trigger::Readded => "readded",
            Trigger::Promoted => "promoted",
        }
    }
}

/// A change of state that the table allows and whose guards agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub row: &'static Row,
    pub from: Option<State>,
    pub to: State,
}

/// Why a state did not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub from: Option<State>,
    pub trigger: Trigger,
    /// Never empty.
    pub reasons: Vec<Reason>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.reasons.iter().map(Reason::to_string).collect();
        write!(f, "{}", texts.join("; "))
    }
}

impl std::error::Error for Refusal {}

/// Returns the state that follows from `from` on `trigger`, or why none does.
pub fn transition(
    from: Option<State>,
    trigger: Trigger,
    facts: &impl Facts,
) -> Result<Change, Refusal> {
    let Some(row) = row(from, trigger) else {
        return Err(Refusal { from, trigger, reasons: vec![Reason::NoSuchRow { from, trigger }] });
    };
    let reasons: Vec<Reason> = row.guards.iter().filter_map(|it| facts.check(*it).err()).collect();
    if reasons.is_empty() {
        Ok(Change { row, from, to: row.target(from) })
    } else {
        Err(Refusal { from, trigger, reasons })
    }
}

/// Whether the table knows a way from `from` to `to` on `trigger`, whatever the guards say.
pub fn is_legal(from: Option<State>, trigger: Trigger, to: State) -> bool {
    row(from, trigger).is_some_and(|it| it.target(from) == to)
}

fn row(from: Option<State>, trigger: Trigger) -> Option<&'static Row> {
    TABLE.iter().find(|it| it.trigger == trigger && it.starts_at(from))
}

#[cfg(test)]
mod tests;
