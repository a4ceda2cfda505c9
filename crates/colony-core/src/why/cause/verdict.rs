//! Causes that lie in what was decided about a revision after it failed.

use colony_margo::Digest;

use super::{Explanation, causes};
use crate::attempt::Failure;
use crate::id::NodeName;
use crate::time::Wall;
use crate::transition::Reason;
use crate::why::Owner;
use crate::why::words::{ago, told};

causes! {
    /// Why a revision is not tried any more.
    VerdictCause:
    WaveStopped = "wave-stopped" { version: String, node: NodeName, failure: Failure, since: Wall }
    /// Without a node an operator rolled it back.
    Quarantined = "quarantined" {
        version: String,
        workload: Digest,
        node: Option<NodeName>,
        failure: Failure,
        since: Wall,
        runs: Option<String>,
        /// Git still holds it.
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
    /// A guard of the rollback itself disagrees.
    RollbackRefused = "rollback-refused" { reason: Reason }
}

impl VerdictCause {
    pub(super) fn explain(&self, now: Wall) -> Explanation {
        match self {
            VerdictCause::WaveStopped { version, node, failure, since } => {
                let (when, failed) = (ago(*since, now), told(failure));
                Explanation::new(
                    format!("the rollout of {version} stopped {when} on node {node}: {failed}"),
                    "nothing more is started until it is retried or another version is deployed",
                )
                .act(Owner::Operator, retry(failure))
                .since(*since)
                .gate()
            }
            VerdictCause::Quarantined { version, node, failure, since, runs, in_git, .. } => {
                let (when, failed) = (ago(*since, now), told(failure));
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
                format!("{version} was given up on node {node}: {}", told(failure)),
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
            VerdictCause::WaveStopped { failure, .. }
            | VerdictCause::Quarantined { failure, .. }
            | VerdictCause::RejectedHere { failure, .. } => Some(failure),
            VerdictCause::RollbackRefused { .. } => None,
        }
    }
}

/// Nothing is tried again until an operator says so.
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
