//! The one function through which a placement changes its state.
//!
//! `TABLE` (in `table.rs`) lists which state may follow which, with the
//! trigger, the role and the guards of each change. `transition` looks the row
//! up and checks its guards; a refusal always contains the reasons. The site
//! core changes states only through this function. The projection of central
//! and the simulator check every event against the same table (`is_legal`).

mod guard;
mod table;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use guard::{AllGuardsPass, Facts, Guard, Reason};
pub use table::{Row, TABLE, To};

use crate::state::State;

/// An observation or a request that may change the state of a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// The deployment was placed on the node.
    Placed,
    /// The first attempt may start.
    Start,
    /// The node reports: installing.
    Progress,
    /// The node reports: all components running and healthy.
    Healthy,
    /// The node reports: failed.
    Errored,
    /// The progress deadline has passed.
    Deadline,
    /// The node's lease has expired.
    NodeLost,
    /// The wanted workload digest differs from that of the attempt in progress.
    Superseded,
    /// The wanted workload digest differs from the one installed or last tried.
    Revised,
    /// Roll back to the last good revision.
    Rollback,
    /// A healthy workload became unhealthy, and its restart policy did not
    /// help.
    HealthLost,
    /// Try the failed operation again, after backoff or by an operator.
    Retry,
    /// The node polls again but does not report this placement.
    Silent,
    /// The placement is no longer wanted.
    Remove,
    /// The node reports: removed.
    Removed,
    /// Removed before the placement was offered to its node.
    NeverDelivered,
    /// The wait for a confirmation ends, by an operator or because the node is
    /// retired.
    Forced,
    /// The placement is wanted again while it is being removed.
    Readded,
    /// The staged revision may take over.
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

/// A state change that the table and its guards allow.
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

/// Returns the state that follows `from` on `trigger`, or why it is refused.
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

/// Whether the table leads from `from` to `to` on `trigger`, ignoring the
/// guards.
pub fn is_legal(from: Option<State>, trigger: Trigger, to: State) -> bool {
    row(from, trigger).is_some_and(|it| it.target(from) == to)
}

fn row(from: Option<State>, trigger: Trigger) -> Option<&'static Row> {
    TABLE.iter().find(|it| it.trigger == trigger && it.starts_at(from))
}

#[cfg(test)]
mod tests;
