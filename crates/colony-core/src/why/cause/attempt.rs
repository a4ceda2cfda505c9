//! Causes that lie in an attempt on a node: under way, lost, or failed.

use super::verdict::retry;
use super::{Explanation, causes};
use crate::attempt::{Failure, Settling};
use crate::code::Class;
use crate::id::NodeName;
use crate::time::Timestamp;
use crate::why::Owner;
use crate::why::text::words::{away, failure_text, lasting, used_up};

causes! {
    /// The progress or the failure of an attempt.
    AttemptCause:
    InProgress = "in-progress" {
        node: NodeName,
        attempt: u32,
        started: Timestamp,
        deadline: Option<Timestamp>,
        /// Everything runs; it counts as installed after its settle time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        settling: Option<Settling>,
    }
    /// The node went silent during the attempt and is still away.
    LostOffline = "lost-offline" { node: NodeName, attempt: u32, last_heard: Option<Timestamp>, until: Option<Timestamp> }
    /// The node is back but does not report the attempt.
    LostSilent = "lost-silent" { node: NodeName, attempt: u32, again_at: Option<Timestamp> }
    /// `of` is the number of tries, where they are limited.
    Backoff = "backoff" { failure: Failure, next_try: u32, of: Option<u32>, until: Timestamp }
    /// The device refuses to run it, and has not changed since.
    Refused = "refused" { node: NodeName, failure: Failure }
    TriesUsedUp = "tries-used-up" { failure: Failure, tries: u32 }
    HealthLost = "health-lost" { failure: Failure, until: Option<Timestamp> }
    /// The active version beside a staged one is not healthy.
    RunningLost = "running-lost" { node: NodeName, version: String, failure: Failure }
    /// The failure behind a wait for something else.
    LastError = "last-error" { failure: Failure }
}

impl AttemptCause {
    pub(super) fn explain(&self, now: Timestamp, then: &str) -> Explanation {
        match self {
            AttemptCause::InProgress { node, started, settling: Some(it), .. } => Explanation::new(
                format!(
                    "all its containers have been running on node {node} for {}",
                    lasting(it.since, now)
                ),
                "it counts as installed if they are still running after their settle time",
            )
            .since(*started)
            .at(it.until),
            AttemptCause::InProgress { node, attempt, started, deadline, settling: None } => {
                Explanation::new(
                    format!("attempt {attempt} is in progress on node {node}"),
                    match deadline {
                        Some(_) => {
                            format!("it counts as failed unless node {node} reports success before")
                        }
                        None => format!("node {node} reports the result"),
                    },
                )
                .since(*started)
                .at(*deadline)
            }
            AttemptCause::LostOffline { node, attempt, last_heard, until } => Explanation::new(
                format!(
                    "the result of attempt {attempt} is unknown, node {node} {}",
                    away(*last_heard, now)
                ),
                match until {
                    Some(_) => {
                        "the attempt counts as failed unless the node is back before".to_owned()
                    }
                    None => format!("node {node} reports the result as soon as it is back"),
                },
            )
            .act(Owner::DeviceOwner, format!("bring node {node} back"))
            .since(*last_heard)
            .at(*until),
            AttemptCause::LostSilent { node, attempt, again_at } => Explanation::new(
                format!("node {node} is back but has not reported attempt {attempt}"),
                match again_at {
                    Some(_) => {
                        "a new attempt starts unless the node reports this one first".to_owned()
                    }
                    None => format!("it continues when node {node} reports the result"),
                },
            )
            .at(*again_at),
            AttemptCause::Backoff { failure, next_try, of, until } => {
                Explanation::new(failure_text(failure), next_attempt(failure, *next_try, *of))
                    .act_on(&failure.code)
                    .at(*until)
            }
            AttemptCause::Refused { node, failure } => Explanation::new(
                format!("node {node} will not run it: {}", failure_text(failure)),
                "what runs there stays; it is tried again when the node or the file changes",
            )
            .act(Owner::GitAuthor, "change what the file asks for, or choose another node"),
            AttemptCause::TriesUsedUp { failure, tries } => Explanation::new(
                format!("{}; {}", failure_text(failure), used_up(*tries)),
                UNTIL_RETRIED,
            )
            .act(Owner::Operator, retry(failure)),
            AttemptCause::HealthLost { failure, until } => Explanation::new(
                format!("{}, after it had proven itself", failure_text(failure)),
                until.map_or(UNTIL_RETRIED, |_| "it is started again"),
            )
            .act_on(&failure.code)
            .at(*until),
            AttemptCause::RunningLost { node, version, failure } => Explanation::new(
                format!(
                    "{version}, which node {node} runs meanwhile, is unhealthy: {}",
                    failure_text(failure)
                ),
                "the node starts it again",
            )
            .act(Owner::Operator, "look at its log"),
            AttemptCause::LastError { failure } => {
                Explanation::new(format!("the last try failed: {}", failure_text(failure)), then)
                    .act_on(&failure.code)
            }
        }
    }

    pub(super) fn failure(&self) -> Option<&Failure> {
        match self {
            AttemptCause::Backoff { failure, .. }
            | AttemptCause::Refused { failure, .. }
            | AttemptCause::TriesUsedUp { failure, .. }
            | AttemptCause::HealthLost { failure, .. }
            | AttemptCause::RunningLost { failure, .. }
            | AttemptCause::LastError { failure } => Some(failure),
            AttemptCause::InProgress { .. }
            | AttemptCause::LostOffline { .. }
            | AttemptCause::LostSilent { .. } => None,
        }
    }
}

const UNTIL_RETRIED: &str = "nothing until it is retried or another version is deployed";

fn next_attempt(failure: &Failure, number: u32, of: Option<u32>) -> String {
    match (failure.code.class(), of) {
        (Class::Revision, Some(of)) => format!("try {number} of {of}"),
        _ => format!("try {number}, and so on until it works"),
    }
}
