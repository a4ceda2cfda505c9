//! Causes that lie in a rollout: its limits and its steps.

use serde::{Deserialize, Serialize};

use super::{Explanation, causes};
use crate::id::NodeName;
use crate::state::State;
use crate::time::Timestamp;
use crate::why::Owner;
use crate::why::text::words::{ago, note_suffix, slots};

causes! {
    /// What a rollout waits for.
    RolloutCause:
    /// The `delay` of the deployment has not ended.
    Delayed = "delayed" { until: Timestamp, since: Timestamp }
    /// `slots` lists a few of the `taken` slots.
    SlotsFull = "slots-full" { slots: Vec<Slot>, taken: usize, limit: u32 }
    /// The other nodes wait for the canary nodes. `manual`: then for a
    /// promotion.
    CanaryFirst = "canary-first" { done: usize, of: usize, #[serde(default)] manual: bool }
    /// All nodes have to stage the revision before the first one takes over.
    StageFirst = "stage-first" { done: usize, of: usize, #[serde(default)] manual: bool }
    Soaking = "soaking" { until: Timestamp, #[serde(default)] manual: bool }
    AwaitsPromotion = "awaits-promotion" { since: Timestamp }
    Paused = "paused" { by: String, note: String, since: Timestamp, manual: bool }
    /// The device is not a colony node.
    NotStageable = "not-stageable" { node: NodeName }
    /// Nothing blocks it any longer.
    Due = "due" {}
}

/// A node whose workload is down because of a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    pub node: NodeName,
    pub state: State,
    pub since: Timestamp,
}

impl RolloutCause {
    pub(super) fn explain(&self, now: Timestamp, then: &str) -> Explanation {
        match self {
            RolloutCause::Delayed { until, since } => Explanation::new(
                format!(
                    "its `delay` is not over: the site accepted the revision {}",
                    ago(*since, now)
                ),
                format!("the delay ends and {then}"),
            )
            .since(*since)
            .at(*until)
            .gate(),
            RolloutCause::SlotsFull { slots: some, taken, limit } => {
                let are = if *limit == 1 { "slot is" } else { "slots are" };
                let by = slots(some, *taken, now);
                Explanation::new(
                    format!("{taken} of {limit} rollout {are} taken by {by}"),
                    format!("{then} when {} done", done(some)),
                )
                .gate()
            }
            RolloutCause::CanaryFirst { of: 0, .. } => Explanation::new(
                "no reachable node is a canary, and the others wait for one",
                format!("a canary gets it first, then {then}"),
            )
            .act(
                Owner::GitAuthor,
                "choose canaries by labels that a node has, or bring one that has them back",
            )
            .gate(),
            RolloutCause::CanaryFirst { done, of, manual } => Explanation::new(
                format!(
                    "{done} of {of} canaries run it and are healthy, and the others wait for them"
                ),
                format!("they soak, then {}", promoted(*manual, then)),
            )
            .gate(),
            RolloutCause::StageFirst { done, of, manual } => Explanation::new(
                match of {
                    0 => "no reachable node runs an earlier version to stage next to".to_owned(),
                    _ => format!(
                        "{done} of {of} nodes have staged it; the takeover starts when all have"
                    ),
                },
                format!("they soak, then {}", promoted(*manual, then)),
            )
            .gate(),
            RolloutCause::Soaking { until, manual } => Explanation::new(
                "soaking: nodes on the new version must stay healthy",
                format!("the soak ends and {}", promoted(*manual, then)),
            )
            .at(*until)
            .gate(),
            RolloutCause::AwaitsPromotion { since } => Explanation::new(
                format!(
                    "the soak ended {} and the next step waits to be promoted",
                    ago(*since, now)
                ),
                format!("{then} when it is promoted"),
            )
            .act(Owner::Operator, "promote it, or abort it")
            .since(*since)
            .gate(),
            RolloutCause::Paused { by, note, since, manual } => Explanation::new(
                format!("{by} paused the rollout {}{}", ago(*since, now), note_suffix(note)),
                match manual {
                    true => format!("the rollout is resumed, then {}", promoted(true, then)),
                    false => format!("{then} when the rollout is resumed"),
                },
            )
            .act(Owner::Operator, "resume it, or abort it")
            .since(*since)
            .gate(),
            RolloutCause::NotStageable { node } => Explanation::new(
                format!("node {node} is not colony's own and cannot stage a revision"),
                "it keeps what it has",
            )
            .act(Owner::GitAuthor, "choose another strategy, or other nodes"),
            RolloutCause::Due {} => {
                Explanation::new("nothing blocks it", format!("{then} at once"))
            }
        }
    }
}

/// What comes after a soak.
fn promoted(manual: bool, then: &str) -> String {
    match manual {
        true => format!("an operator has to promote it before {then}"),
        false => then.to_owned(),
    }
}

fn done(slots: &[Slot]) -> String {
    match slots {
        [one] => format!("{} is", one.node),
        _ => "one of them is".to_owned(),
    }
}
