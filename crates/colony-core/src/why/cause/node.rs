//! Causes that lie in a node: offline, not ready, or cordoned.

use super::{Explanation, causes};
use crate::id::NodeName;
use crate::time::Timestamp;
use crate::why::Owner;
use crate::why::text::words::{ago, away};

causes! {
    /// The problem of a node.
    NodeCause:
    /// The node reports that it is not ready.
    NodeNotReady = "node-not-ready" { node: NodeName, reasons: Vec<String> }
    NodeOffline = "node-offline" { node: NodeName, last_heard: Timestamp }
    NodeNeverHeard = "node-never-heard" { node: NodeName, joined: Option<Timestamp> }
    NodeRetired = "node-retired" { node: NodeName }
    /// Its requests are late, but its lease has not expired.
    NodeSuspect = "node-suspect" { node: NodeName, last_heard: Timestamp, offline_at: Timestamp }
    NodeCordoned = "node-cordoned" { node: NodeName }
    NoCapabilities = "no-capabilities" { node: NodeName }
    /// It runs, according to the last report.
    Stale = "stale" { node: NodeName, last_heard: Timestamp }
}

impl NodeCause {
    pub(super) fn explain(&self, now: Timestamp, then: &str) -> Explanation {
        match self {
            NodeCause::NodeNotReady { node, reasons } => {
                Explanation::new(format!("node {node} is not ready: {}", reasons.join("; ")), then)
                    .act(Owner::DeviceOwner, format!("put right what node {node} reports"))
            }
            NodeCause::NodeOffline { node, last_heard } => Explanation::new(
                format!("node {node} {}", away(Some(*last_heard), now)),
                format!("{then} as soon as node {node} connects"),
            )
            .act(Owner::DeviceOwner, format!("bring node {node} back"))
            .since(*last_heard)
            .gate(),
            NodeCause::NodeNeverHeard { node, joined } => {
                let when = joined.map(|it| format!(" {}", ago(it, now))).unwrap_or_default();
                Explanation::new(
                    format!("node {node} joined{when} and has not connected since"),
                    format!("{then} as soon as node {node} connects"),
                )
                .act(
                    Owner::DeviceOwner,
                    format!("start colony on node {node} and check its network"),
                )
                .since(*joined)
                .gate()
            }
            NodeCause::NodeRetired { node } => {
                Explanation::new(format!("node {node} is retired"), "it is dropped")
                    .act(Owner::Operator, "choose another node")
            }
            NodeCause::NodeSuspect { node, last_heard, offline_at } => Explanation::new(
                format!("node {node} is late, last contact {}", ago(*last_heard, now)),
                "it counts as offline unless it sends a request before",
            )
            .since(*last_heard)
            .at(*offline_at),
            NodeCause::NodeCordoned { node } => Explanation::new(
                format!("node {node} is cordoned"),
                "it keeps what it has and gets nothing new",
            )
            .act(Owner::SiteEngineer, format!("uncordon node {node}")),
            NodeCause::NoCapabilities { node } => Explanation::new(
                format!("node {node} is connected but has not reported its capabilities"),
                "it gets its deployments once it has reported them",
            )
            .act(Owner::DeviceOwner, format!("look at the logs of colony on node {node}")),
            NodeCause::Stale { node, last_heard } => Explanation::new(
                format!("node {node} {}", away(Some(*last_heard), now)),
                format!("node {node} runs it on its own and reports when it is back"),
            )
            .act(Owner::DeviceOwner, format!("bring node {node} back"))
            .since(*last_heard),
        }
    }
}
