//! The kinds of events, each with what a reader needs to follow.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use colony_margo::{Capabilities, Digest, Finding};

use crate::attempt::{Failure, Outcome, Retry, Revision, Revisions};
use crate::id::{DeploymentId, DeploymentName, GitRevision, NodeName};
use crate::state::State;
use crate::time::Timestamp;
use crate::transition::Trigger;

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Body {
    /// The local orchestrator has read Git and knows its placements: it serves
    /// manifests.
    Ready,
    /// A placement changed its state.
    StateTransition(Transition),
    /// A report of an attempt that is over; it changes no state.
    StaleReport {
        deployment: DeploymentId,
        node: NodeName,
        adopted: u64,
        state: String,
    },
    /// The site accepted a revision from Git.
    DeploymentAccepted {
        deployment: DeploymentId,
        name: DeploymentName,
        revision: Revision,
        /// The commit that brought the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<GitRevision>,
    },
    /// The file is gone from Git.
    DeploymentWithdrawn {
        deployment: DeploymentId,
        name: DeploymentName,
        /// Its volumes are removed with it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        purge: bool,
    },
    /// Every node that could be reached runs this revision.
    DeploymentConverged {
        deployment: DeploymentId,
        revision: Revision,
    },
    /// A revision is refused at this site until it is released.
    Quarantined {
        deployment: DeploymentId,
        bad: Revision,
        good: Option<Revision>,
        node: Option<NodeName>,
        failure: Failure,
    },
    QuarantineReleased {
        deployment: DeploymentId,
        workload: Digest,
    },
    /// Stopped or rejected revisions may be tried again.
    RolloutReleased {
        deployment: DeploymentId,
    },
    /// A stopped rollout continues.
    RolloutResumed {
        deployment: DeploymentId,
    },
    /// No reachable node still runs the quarantined revision.
    RolledBack {
        deployment: DeploymentId,
        bad: Revision,
        good: Option<Revision>,
    },
    /// The rollout of a revision stopped and waits for an operator.
    RolloutStopped {
        deployment: DeploymentId,
        revision: Revision,
        node: NodeName,
        failure: Failure,
    },
    /// The rollout of a revision reached a step, or its step waits for
    /// something.
    RolloutStep {
        deployment: DeploymentId,
        workload: Digest,
        /// Counted from 1.
        step: u32,
        of: u32,
        /// How many nodes may have it; absent if all may.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nodes: Option<u32>,
        /// The revision runs beside the active version until the next step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        staged: bool,
        standing: StepStanding,
    },
    /// The rollout starts no further change.
    RolloutPaused {
        deployment: DeploymentId,
        note: String,
    },
    /// A paused rollout continues.
    RolloutUnpaused {
        deployment: DeploymentId,
    },
    /// The active version beside a staged revision lost its health, or
    /// recovered.
    RunningHealth {
        deployment: DeploymentId,
        node: NodeName,
        revision: Revision,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
    },
    /// One node gave up a revision for the previous one.
    RevisionRejected {
        deployment: DeploymentId,
        node: NodeName,
        workload: Digest,
        failure: Failure,
    },
    /// A file in Git that cannot be used, with all findings.
    FileRefused {
        path: String,
        findings: Vec<Finding>,
    },
    /// The file is usable again, or gone.
    FileAccepted {
        path: String,
    },
    /// A commit removes too much at once; its removals wait for a release.
    RemovalHeld {
        commit: GitRevision,
        deployments: Vec<DeploymentId>,
    },
    RemovalReleased,
    /// Git's history was rewritten; its content waits to be accepted.
    HistoryHeld {
        commit: GitRevision,
    },
    HistoryAccepted {
        commit: GitRevision,
    },
    Held {
        scope: HoldScope,
        note: String,
    },
    HoldReleased {
        scope: HoldScope,
    },
    NodeJoined {
        node: NodeName,
    },
    NodeCapable {
        node: NodeName,
        capabilities: Box<Capabilities>,
    },
    NodePresence {
        node: NodeName,
        presence: Presence,
    },
    NodeCordoned {
        node: NodeName,
        cordoned: bool,
    },
    NodeRetired {
        node: NodeName,
    },
    /// A node has seen manifest versions that this local orchestrator does not
    /// know.
    VersionRaised {
        node: NodeName,
        version: u64,
    },
    /// An operator's command was executed, or refused with a reason.
    CommandDone {
        number: Option<u64>,
        command: String,
        refusal: Option<String>,
    },
}

/// A change of state, with the attempt it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transition {
    pub deployment: DeploymentId,
    pub node: NodeName,
    pub attempt: u32,
    pub from: Option<State>,
    pub to: State,
    pub trigger: Trigger,
    /// The revision that the attempt installs, and the one to roll back to.
    #[serde(flatten)]
    pub revisions: Revisions,
    /// The outcome of the attempt that this transition ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Only with FAILED.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Only with DELETED.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removal: Option<Removal>,
    /// The attempt runs beside the active version, and takes nothing down.
    #[serde(rename = "beside", default, skip_serializing_if = "std::ops::Not::not")]
    pub staged: bool,
    /// Fields of later releases: kept, because the hash covers them.
    #[serde(flatten)]
    pub more: BTreeMap<String, Value>,
}

/// What the open step of a rollout waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum StepStanding {
    /// The nodes of the step have to run the revision well.
    Open,
    /// The nodes have to stay well until then.
    Soaking { until: Timestamp },
    /// An operator has to promote the rollout.
    AwaitsPromotion,
}

/// Whether a node sends requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// It has an identity but never sent a request.
    Joined,
    Online,
    /// Its requests are late, but its lease has not expired.
    Suspect,
    Offline,
}

/// Whether the removal of a workload is certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Removal {
    /// The node confirmed it, or never had it.
    pub deleted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// No node confirmed it: forced, or the node was retired.
    pub unconfirmed: bool,
    /// The node, one of colony's own, removed the volumes as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub purged: bool,
}

/// What a hold covers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HoldScope {
    Site,
    Deployment(DeploymentId),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;

    #[test]
    fn events_of_before_are_read_and_keep_their_hash() {
        check(r#""failure":{"code":"disk-full"}"#);
    }

    #[test]
    fn the_next_try_is_told() {
        check(r#""failure":{"code":"disk-full"},"retry":{"tried":3,"at":7000}"#);
        check(r#""failure":{"code":"exited"},"retry":{"tried":2,"of":3}"#);
    }

    #[test]
    fn what_a_later_release_says_besides_is_kept_for_its_hash() {
        check(r#""failure":{"code":"disk-full"},"weather":{"sky":["grey"]}"#);
    }

    /// Reads a transition with these fields and writes the same again.
    #[track_caller]
    fn check(fields: &str) {
        let prev = Digest::of(b"home/0");
        let id = "0b9e2a6e-4f0c-4b1b-9d5a-0d4f6c1d2e3f";
        let text = format!(
            r#"{{"site":"home","incarnation":0,"seq":1,"at":5,"actor":"local","prev":"{prev}",
            "body":{{"kind":"state_transition","deployment":"{id}","node":"a","attempt":1,
            "from":"INSTALLING","to":"FAILED(install)",
            "trigger":"errored","outcome":"failed",{fields}}}}}"#
        );
        let sent: Value = serde_json::from_str(&text).expect("JSON");

        let read: Event = serde_json::from_value(sent.clone()).expect("an event");

        assert_eq!(serde_json::to_value(&read).expect("JSON"), sent);
    }
}
