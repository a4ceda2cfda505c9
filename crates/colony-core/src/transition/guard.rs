//! The conditions of the transition table, and the reasons they give.
//!
//! The site core evaluates the guards through `Facts`. A guard that fails
//! always returns a reason that names what the placement waits for.

use std::fmt;

use serde::{Deserialize, Serialize};

use colony_margo::Digest;

use crate::code::Code;
use crate::id::{DeploymentId, NodeName};
use crate::state::State;
use crate::time::Timestamp;
use crate::transition::Trigger;

/// A condition of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guard {
    NodeOnline,
    SlotFree,
    StepOpen,
    NotHeld,
    WindowOpen,
    NotQuarantined,
    LastGoodKnown,
    TriesSpent,
    PolicyRollsBack,
    Due,
    RevisionMatches,
    ForcedIfUnknown,
    Undelivered,
    VolumesPurged,
}

impl Guard {
    /// The name in the published table.
    pub fn name(self) -> &'static str {
        match self {
            Guard::NodeOnline => "node online",
            Guard::SlotFree => "slot free",
            Guard::StepOpen => "rollout step open",
            Guard::NotHeld => "no hold",
            Guard::WindowOpen => "window open",
            Guard::NotQuarantined => "not quarantined",
            Guard::LastGoodKnown => "last good known",
            Guard::TriesSpent => "tries spent",
            Guard::PolicyRollsBack => "policy rolls back",
            Guard::Due => "backoff over or by operator",
            Guard::RevisionMatches => "desired revision",
            Guard::ForcedIfUnknown => "forced, if an operator removes it while UNKNOWN",
            Guard::Undelivered => "never delivered",
            Guard::VolumesPurged => "no volumes to purge before",
        }
    }
}

/// Evaluates the guards of a row.
pub trait Facts {
    fn check(&self, guard: Guard) -> Result<(), Reason>;
}

/// Facts that satisfy every guard: for tables, replays and tests.
#[derive(Debug, Clone, Copy)]
pub struct AllGuardsPass;

impl Facts for AllGuardsPass {
    fn check(&self, _guard: Guard) -> Result<(), Reason> {
        Ok(())
    }
}

/// Why a state change is refused, for a while or for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Reason {
    NoSuchRow {
        from: Option<State>,
        trigger: Trigger,
    },
    NodeOffline {
        node: NodeName,
        last_heard: Timestamp,
    },
    NodeNeverHeard {
        node: NodeName,
    },
    NodeRetired {
        node: NodeName,
    },
    /// `some_nodes` lists a few of the nodes that hold the `taken` slots.
    SlotsFull {
        #[serde(rename = "busy")]
        some_nodes: Vec<NodeName>,
        taken: usize,
        limit: u32,
    },
    RolloutStopped {
        node: NodeName,
        code: Code,
    },
    /// The canary nodes have to run the revision and be healthy before other
    /// nodes get it.
    CanaryFirst {
        #[serde(rename = "done")]
        ready_nodes: usize,
        #[serde(rename = "of")]
        required_nodes: usize,
    },
    /// All nodes have to stage the revision beside the active one before it
    /// takes over on any node.
    StageFirst {
        #[serde(rename = "done")]
        ready_nodes: usize,
        #[serde(rename = "of")]
        required_nodes: usize,
    },
    Soaking {
        until: Timestamp,
    },
    /// An operator has to open the next step.
    AwaitsPromotion {
        since: Timestamp,
    },
    Paused {
        by: String,
        note: String,
        since: Timestamp,
    },
    /// The device cannot run two revisions side by side.
    NotStageable {
        node: NodeName,
    },
    HeldSite {
        by: String,
        note: String,
        since: Timestamp,
    },
    HeldDeployment {
        by: String,
        note: String,
        since: Timestamp,
    },
    WindowClosed {
        opens: Timestamp,
    },
    /// The `delay` of the deployment is not over.
    Delayed {
        until: Timestamp,
    },
    Quarantined {
        workload: Digest,
        code: Code,
        node: Option<NodeName>,
        since: Timestamp,
    },
    NoLastGood,
    TriesLeft {
        #[serde(rename = "left")]
        count: u32,
    },
    PolicyStops,
    EnvironmentError {
        code: Code,
    },
    HealthLostAfterSoak,
    Backoff {
        until: Timestamp,
    },
    TriesUsedUp {
        tries: u32,
        code: Code,
    },
    /// The device refuses the revision until the device or the deployment
    /// changes.
    Refused {
        node: NodeName,
        code: Code,
    },
    OtherRevision {
        wanted: Digest,
        reported: Digest,
    },
    UnknownNeedsForce,
    WasDelivered,
    /// The node still has the volumes of a deleted deployment of this name,
    /// which are to be removed.
    PurgeFirst {
        node: NodeName,
        deployment: DeploymentId,
    },
}

impl Reason {
    /// When the reason ends, if the wall clock alone ends it.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most reasons wait for an event")]
    pub(crate) fn until(&self) -> Option<Timestamp> {
        match self {
            Reason::WindowClosed { opens: until } | Reason::Delayed { until } => Some(*until),
            _ => None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NoSuchRow { from: Some(from), trigger } => {
                write!(f, "{from} has no transition on `{}`", trigger.name())
            }
            Reason::NoSuchRow { from: None, trigger } => {
                write!(f, "without a placement there is no transition on `{}`", trigger.name())
            }
            Reason::NodeOffline { node, .. } => write!(f, "node {node} is offline"),
            Reason::NodeNeverHeard { node } => write!(f, "node {node} has not connected yet"),
            Reason::NodeRetired { node } => write!(f, "node {node} is retired"),
            Reason::SlotsFull { some_nodes, taken, limit } => {
                write!(f, "{taken} of {limit} rollout slots taken by {}", list(some_nodes, *taken))
            }
            Reason::RolloutStopped { node, code } => {
                write!(f, "the rollout stopped when node {node} failed with {code}")
            }
            Reason::CanaryFirst { required_nodes: 0, .. } => {
                write!(f, "no reachable node is a canary, the others wait for one")
            }
            Reason::CanaryFirst { ready_nodes, required_nodes } => {
                write!(
                    f,
                    "{ready_nodes} of {required_nodes} canaries run it and are healthy, the others wait for them"
                )
            }
            Reason::StageFirst { required_nodes: 0, .. } => {
                write!(f, "no reachable node runs an earlier version to stage next to")
            }
            Reason::StageFirst { ready_nodes, required_nodes } => {
                write!(
                    f,
                    "{ready_nodes} of {required_nodes} nodes have staged it; the takeover starts when all have"
                )
            }
            Reason::Soaking { .. } => {
                write!(f, "soaking: nodes on the new version must stay healthy")
            }
            Reason::AwaitsPromotion { .. } => write!(f, "the next step waits to be promoted"),
            Reason::Paused { by, note, .. } => {
                write!(f, "{by} paused the rollout{}", note_suffix(note))
            }
            Reason::NotStageable { node } => {
                write!(f, "node {node} is not colony's own and cannot stage a revision")
            }
            Reason::HeldSite { by, note, .. } => {
                write!(f, "{by} holds the site{}", note_suffix(note))
            }
            Reason::HeldDeployment { by, note, .. } => {
                write!(f, "{by} holds the deployment{}", note_suffix(note))
            }
            Reason::WindowClosed { .. } => write!(f, "outside the maintenance window"),
            Reason::Delayed { .. } => write!(f, "its `delay` is not over"),
            Reason::Quarantined { workload, code, node: Some(node), .. } => {
                write!(f, "revision {} is quarantined: {code} on node {node}", workload.short())
            }
            Reason::Quarantined { workload, code, node: None, .. } => {
                write!(f, "revision {} is quarantined: {code}", workload.short())
            }
            Reason::NoLastGood => write!(f, "no revision was ever installed to go back to"),
            Reason::TriesLeft { count } => write!(f, "{count} attempts are left"),
            Reason::PolicyStops => {
                write!(f, "`onFailure: stop` leaves the decision to an operator")
            }
            Reason::EnvironmentError { code } => {
                write!(f, "{code} is a fault of the environment, not of the revision")
            }
            Reason::HealthLostAfterSoak => {
                write!(f, "the revision was proven before its health was lost")
            }
            Reason::Backoff { .. } => write!(f, "waiting before the next try"),
            Reason::TriesUsedUp { tries, code } => {
                write!(f, "all {tries} tries ended in {code}")
            }
            Reason::Refused { node, code } => {
                write!(f, "node {node} refuses it ({code}) until it or the deployment changes")
            }
            Reason::OtherRevision { wanted, reported } => {
                write!(f, "revision {} is wanted, not {}", wanted.short(), reported.short())
            }
            Reason::UnknownNeedsForce => {
                write!(f, "whether it runs is unknown; `--force` removes it without confirmation")
            }
            Reason::WasDelivered => write!(f, "the node has received it and has to confirm"),
            Reason::PurgeFirst { node, .. } => {
                write!(f, "node {node} removes the volumes of the deleted deployment first")
            }
        }
    }
}

fn note_suffix(note: &str) -> String {
    if note.is_empty() { String::new() } else { format!(": {note}") }
}

fn list(nodes: &[NodeName], total: usize) -> String {
    let names: Vec<&str> = nodes.iter().take(3).map(NodeName::as_str).collect();
    match total.saturating_sub(names.len()) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
