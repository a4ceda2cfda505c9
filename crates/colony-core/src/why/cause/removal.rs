//! Causes that lie in a removal.

use super::{Explanation, causes};
use crate::attempt::Failure;
use crate::id::NodeName;
use crate::time::Wall;
use crate::why::Owner;
use crate::why::words::{ago, away, told};

causes! {
    /// Why something is not removed yet.
    RemovalCause:
    Removing = "removing" { node: NodeName, told: Wall }
    DeleteWaitsForNode = "delete-waits-for-node" { node: NodeName, last_heard: Option<Wall> }
    DeleteFailed = "delete-failed" { failure: Failure, until: Option<Wall> }
}

impl RemovalCause {
    pub(super) fn explain(&self, now: Wall) -> Explanation {
        match self {
            RemovalCause::Removing { node, told } => Explanation::new(
                format!("node {node} was told {} and has not confirmed", ago(*told, now)),
                format!("it is gone when node {node} confirms"),
            )
            .since(*told),
            RemovalCause::DeleteWaitsForNode { node, last_heard } => Explanation::new(
                format!("node {node} has to confirm but {}", away(*last_heard, now)),
                format!("it is removed as soon as node {node} is heard"),
            )
            .act(
                Owner::DeviceOwner,
                format!(
                    "bring node {node} back; if it is gone for good, delete again with `--force`"
                ),
            )
            .since(*last_heard),
            RemovalCause::DeleteFailed { failure, until } => {
                let next = match until {
                    Some(_) => "the removal is tried again",
                    None => "nothing until it is retried",
                };
                let found = Explanation::new(told(failure), next).act_on(&failure.code).at(*until);
                let act =
                    found.act.as_ref().map(|it| format!("{it}, or delete again with `--force`"));
                Explanation { act, ..found }
            }
        }
    }

    pub(super) fn failure(&self) -> Option<&Failure> {
        match self {
            RemovalCause::DeleteFailed { failure, .. } => Some(failure),
            RemovalCause::Removing { .. } | RemovalCause::DeleteWaitsForNode { .. } => None,
        }
    }
}
