//! Causes that lie in a removal.

use super::{Explanation, causes};
use crate::attempt::Failure;
use crate::id::NodeName;
use crate::time::Timestamp;
use crate::why::Owner;
use crate::why::text::words::{ago, away, failure_text};

causes! {
    /// Why something is not removed yet.
    RemovalCause:
    Removing = "removing" { node: NodeName, told: Timestamp }
    DeleteWaitsForNode = "delete-waits-for-node" { node: NodeName, last_heard: Option<Timestamp> }
    /// A deleted deployment of this name has to go first, with its volumes.
    PurgeFirst = "purge-first" { node: NodeName, since: Timestamp }
    DeleteFailed = "delete-failed" { failure: Failure, until: Option<Timestamp> }
}

impl RemovalCause {
    pub(super) fn explain(&self, now: Timestamp) -> Explanation {
        match self {
            RemovalCause::Removing { node, told } => Explanation::new(
                format!(
                    "node {node} received the removal {} and has not confirmed it",
                    ago(*told, now)
                ),
                format!("it is gone when node {node} confirms"),
            )
            .since(*told),
            RemovalCause::DeleteWaitsForNode { node, last_heard } => Explanation::new(
                format!("node {node} has to confirm but {}", away(*last_heard, now)),
                format!("it is removed as soon as node {node} connects"),
            )
            .act(
                Owner::DeviceOwner,
                format!("bring node {node} back; if it is gone for good, retire it"),
            )
            .since(*last_heard),
            RemovalCause::PurgeFirst { node, since } => Explanation::new(
                format!(
                    "node {node} has not removed the volumes of the deployment of this name that \
                     was deleted {}",
                    ago(*since, now)
                ),
                "it is installed with empty volumes once they are gone",
            )
            .act(
                Owner::DeviceOwner,
                format!(
                    "bring node {node} back if it is offline; `colony why --node {node}` says more"
                ),
            )
            .since(*since),
            RemovalCause::DeleteFailed { failure, until } => {
                let next = match until {
                    Some(_) => "the removal is tried again",
                    None => "nothing until it is retried",
                };
                let found =
                    Explanation::new(failure_text(failure), next).act_on(&failure.code).at(*until);
                let act =
                    found.act.as_ref().map(|it| format!("{it}, or delete again with `--force`"));
                Explanation { act, ..found }
            }
        }
    }

    pub(super) fn failure(&self) -> Option<&Failure> {
        match self {
            RemovalCause::DeleteFailed { failure, .. } => Some(failure),
            RemovalCause::Removing { .. }
            | RemovalCause::DeleteWaitsForNode { .. }
            | RemovalCause::PurgeFirst { .. } => None,
        }
    }
}
