//! The kinds of events, each with what a reader needs to follow.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use colony_margo::{Capabilities, Digest, Finding};

use crate::attempt::{Failure, Outcome, Retry, Revision, Revisions};
use crate::id::{DeploymentId, DeploymentName, GitRevision, NodeName};
use crate::state::State;
use crate::time::Wall;
use crate::transition::Trigger;

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Body {
    /// The LO has read Git and knows its placements: it serves manifests.
    Ready,
    /// A placement changed its state.
    StateTransition(Transition),
    /// A report of an attempt that is over; it moves nothing.
    StaleReport {
        deployment: DeploymentId,
        node: NodeName,
        adopted: u64,
        state: String,
    },
    /// The LO took a revision from Git as the wanted one.
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
    /// What was stopped or given up may be tried again.
    RolloutReleased {
        deployment: DeploymentId,
    },
    /// What was stopped goes on.
    RolloutResumed {
        deployment: DeploymentId,
    },
    /// No reachable node runs the quarantined revision any more.
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
    /// The rollout of a revision came to a step, or stands at one.
    RolloutStep {
        deployment: DeploymentId,
        workload: Digest,
        /// Counted from 1.
        step: u32,
        of: u32,
        /// How many nodes may have it; absent if all may.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nodes: Option<u32>,
        /// It runs beside the old one until the next step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        staged: bool,
        standing: StepStanding,
    },
    /// Nothing more of the rollout is started.
    RolloutPaused {
        deployment: DeploymentId,
        note: String,
    },
    /// What was paused goes on.
    RolloutUnpaused {
        deployment: DeploymentId,
    },
    /// What runs on while another revision is staged is not well, or is again.
    RunningHealth {
        deployment: DeploymentId,
        node: NodeName,
        revision: Revision,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
    },
    /// One node gave a revision up for the one before.
    RevisionRejected {
        deployment: DeploymentId,
        node: NodeName,
        workload: Digest,
        failure: Failure,
    },
    /// A file in Git that cannot be used, with all its faults.
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
    /// A node had seen versions this LO has no memory of.
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
    /// What the attempt is to bring, or brought, and the way back.
    #[serde(flatten)]
    pub revisions: Revisions,
    /// How the attempt that this change ends has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Said of FAILED alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Said of DELETED alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removal: Option<Removal>,
    /// The attempt runs beside what was there, and takes nothing down.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beside: bool,
    /// What a later release says besides: kept, or its hash would differ.
    #[serde(flatten)]
    pub more: BTreeMap<String, Value>,
}

/// What the open step of a rollout waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum StepStanding {
    /// Its nodes have to run the revision well.
    Open,
    /// They have to stay well until then.
    Soaking { until: Wall },
    /// An operator's word.
    AwaitsPromotion,
}

/// Whether a node is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// It has an identity but never sent a request.
    Joined,
    Online,
    /// Late, but its lease still runs.
    Suspect,
    Offline,
}

/// How sure it is that a workload is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Removal {
    /// The node confirmed it, or never had it.
    pub deleted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Nobody confirmed it: forced, or the node was retired.
    pub unconfirmed: bool,
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
