//! Causes that lie in a decision about a failed revision.

use colony_margo::Digest;

use super::{Explanation, causes};
use crate::attempt::Failure;
use crate::id::NodeName;
use crate::time::Timestamp;
use crate::transition::Reason;
use crate::why::Owner;
use crate::why::text::words::{ago, failure_text};

causes! {
    /// Why a revision is no longer tried.
    VerdictCause:
    RolloutStopped = "rollout-stopped" { version: String, node: NodeName, failure: Failure, since: Timestamp }
    /// Without a node, an operator rolled it back.
    Quarantined = "quarantined" {
        version: String,
        workload: Digest,
        node: Option<NodeName>,
        failure: Failure,
        since: Timestamp,
        runs: Option<String>,
        /// Git still holds the revision.
        #[serde(default)]
        in_git: bool,
    }
    RejectedHere = "rejected-here" {
        version: String,
        workload: Digest,
        node: NodeName,
        failure: Failure,
        runs: Option<String>,
    }
    /// A guard refuses the rollback itself.
    RollbackRefused = "rollback-refused" { reason: Reason }
}

impl VerdictCause {
    pub(super) fn explain(&self, now: Timestamp) -> Explanation {
        match self {
            VerdictCause::RolloutStopped { version, node, failure, since } => {
                let (when, failed) = (ago(*since, now), failure_text(failure));
                Explanation::new(
                    format!("the rollout of {version} stopped {when} on node {node}: {failed}"),
                    "nothing more is started until it is retried or another version is deployed",
                )
                .act(Owner::Operator, retry(failure))
                .since(*since)
                .gate()
            }
            VerdictCause::Quarantined { version, node, failure, since, runs, in_git, .. } => {
                let (when, failed) = (ago(*since, now), failure_text(failure));
                Explanation::new(
                    match node {
                        Some(node) => format!(
                            "{version} was quarantined at this site {when}: on node {node}, {failed}"
                        ),
                        None => format!("{version} was rolled back by an operator {when}"),
                    },
                    match in_git {
                        true => stays("nothing runs", version, runs.as_deref()),
                        false => stays_until_deployed(runs.as_deref()),
                    },
                )
                .act(
                    Owner::Operator,
                    match in_git {
                        true => release(version),
                        false => format!(
                            "deploy a corrected version; {version} can be deployed again once it is released"
                        ),
                    },
                )
                .since(*since)
            }
            VerdictCause::RejectedHere { version, node, failure, runs, .. } => Explanation::new(
                format!("{version} was given up on node {node}: {}", failure_text(failure)),
                stays("nothing runs there", version, runs.as_deref()),
            )
            .act(Owner::Operator, release(version)),
            VerdictCause::RollbackRefused { reason } => Explanation::new(
                format!("it does not roll back because {reason}"),
                "nothing until an operator decides",
            )
            .act(Owner::Operator, "retry it, or deploy another version"),
        }
    }

    pub(super) fn failure(&self) -> Option<&Failure> {
        match self {
            VerdictCause::RolloutStopped { failure, .. }
            | VerdictCause::Quarantined { failure, .. }
            | VerdictCause::RejectedHere { failure, .. } => Some(failure),
            VerdictCause::RollbackRefused { .. } => None,
        }
    }
}

/// The advice for a failure that is retried by an operator only.
pub(super) fn retry(failure: &Failure) -> String {
    format!("{}; then retry it, or deploy another version", failure.code.remedy())
}

fn release(version: &str) -> String {
    format!("deploy a corrected version, or release {version}")
}

fn stays_until_deployed(runs: Option<&str>) -> String {
    let what = runs.map_or("nothing runs".to_owned(), |it| format!("{it} stays"));
    format!("{what} until another version is deployed")
}

fn stays(nothing: &str, version: &str, runs: Option<&str>) -> String {
    let what = runs.map_or(nothing.to_owned(), |it| format!("{it} stays"));
    format!("{what} until another version is committed or {version} is released")
}
