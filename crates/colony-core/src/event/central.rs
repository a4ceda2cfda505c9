//! Events of central: its own actions, and those of operators through it.
//!
//! Stored beside the events of sites, without a place in any site's log. The
//! name of the kind stands in a column of its own and the fields in the body;
//! both are kept forever, so fields are added as options and never renamed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::event::Incarnation;
use crate::id::{BlobId, DeploymentId, GitRevision, NodeName, SiteName};
use crate::site::Action;
use crate::time::Timestamp;

/// One event of central's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "body", rename_all = "snake_case")]
pub enum CentralEvent {
    /// A change of a deployment's file was queued for Git.
    DeploymentPlanned {
        application: String,
        version: Option<String>,
        path: String,
        removed: bool,
        message: String,
        change: String,
        plan: String,
    },
    /// The change was pushed.
    Committed {
        commit: GitRevision,
        path: String,
        blob: Option<BlobId>,
        message: String,
        change: String,
    },
    /// Git held something other than the change expected; nothing was written.
    Conflict {
        path: String,
        expected: Option<BlobId>,
        found: Option<BlobId>,
        diff: String,
        message: String,
        change: String,
    },
    /// Git rejected the change; it left the queue.
    Refused {
        path: String,
        reason: String,
        message: String,
        change: String,
    },
    /// An operator cancelled a change before it was written.
    ChangeCancelled {
        path: String,
        message: String,
        change: String,
    },
    /// Another writer changed the file after central did.
    Overruled {
        path: String,
        wished: Option<BlobId>,
        found: Option<BlobId>,
    },
    /// A site rolled back, and its file in Git is to be reverted.
    RevertPlanned {
        from: String,
        to: String,
        bad: BlobId,
        good: BlobId,
    },
    /// An order for a site was queued.
    CommandSent {
        #[serde(flatten)]
        action: Action,
        number: Option<u64>,
        expires: Timestamp,
    },
    SiteAdded {
        #[serde(default)]
        labels: BTreeMap<String, String>,
    },
    SiteInvited {
        expires: Timestamp,
    },
    SiteJoined {
        incarnation: Incarnation,
        token: String,
        replace: bool,
    },
    SiteRenewed {
        incarnation: Incarnation,
        /// The digest of the key it is for.
        key: String,
    },
    /// The site sent its own CA with its first report.
    SiteAuthorityKnown {
        fingerprint: String,
    },
    /// The site sent another CA than the one on record.
    SiteAuthorityRefused {
        fingerprint: String,
        known: String,
    },
    /// An admin accepted another CA for the site.
    SiteAuthorityAccepted {
        fingerprint: String,
    },
    NodeInvited {
        expires: Timestamp,
    },
    /// A push into the hosted repository.
    Pushed {
        from: Option<GitRevision>,
        commit: Option<GitRevision>,
    },
    RegistryAdded {
        name: String,
        url: String,
    },
    RegistryRemoved {
        name: String,
    },
    TokenMade {
        name: String,
        role: String,
    },
    TokenRemoved {
        name: String,
    },
    /// Central was restored from a backup.
    Restored {
        backup: Timestamp,
        epoch: String,
    },
    /// A transition of a site was stored that does not follow from the one before.
    Flagged {
        node: NodeName,
        deployment: DeploymentId,
        flag: String,
    },
}

/// The columns stored beside the event: actor, site and deployment.
#[derive(Debug, Clone, Copy, Default)]
pub struct CentralContext<'a> {
    pub actor: &'a str,
    pub site: Option<&'a SiteName>,
    /// The deployment's name.
    pub deployment: Option<&'a str>,
}

impl CentralEvent {
    /// The name of the kind and the fields, as they are stored.
    pub fn parts(&self) -> (String, Value) {
        let Ok(Value::Object(mut whole)) = serde_json::to_value(self) else {
            return Default::default();
        };
        let kind = whole.remove("kind").and_then(|it| it.as_str().map(str::to_owned));
        (kind.unwrap_or_default(), whole.remove("body").unwrap_or_default())
    }

    /// Reads a stored event; `None` if another release wrote it with a kind or
    /// with fields that this one does not know.
    pub fn read(kind: &str, body: &Value) -> Option<CentralEvent> {
        serde_json::from_value(json!({"kind": kind, "body": body})).ok()
    }

    /// The node it is about, if it is about one.
    pub fn node(&self) -> Option<&NodeName> {
        match self {
            CentralEvent::CommandSent { action, .. } => action_node(action),
            CentralEvent::Flagged { node, .. } => Some(node),
            CentralEvent::DeploymentPlanned { .. }
            | CentralEvent::Committed { .. }
            | CentralEvent::Conflict { .. }
            | CentralEvent::Refused { .. }
            | CentralEvent::ChangeCancelled { .. }
            | CentralEvent::Overruled { .. }
            | CentralEvent::RevertPlanned { .. }
            | CentralEvent::SiteAdded { .. }
            | CentralEvent::SiteInvited { .. }
            | CentralEvent::SiteJoined { .. }
            | CentralEvent::SiteRenewed { .. }
            | CentralEvent::SiteAuthorityKnown { .. }
            | CentralEvent::SiteAuthorityRefused { .. }
            | CentralEvent::SiteAuthorityAccepted { .. }
            | CentralEvent::NodeInvited { .. }
            | CentralEvent::Pushed { .. }
            | CentralEvent::RegistryAdded { .. }
            | CentralEvent::RegistryRemoved { .. }
            | CentralEvent::TokenMade { .. }
            | CentralEvent::TokenRemoved { .. }
            | CentralEvent::Restored { .. } => None,
        }
    }

    /// What happened, as a sentence.
    pub fn sentence(&self, context: CentralContext<'_>) -> String {
        let actor = context.actor;
        let site = context.site.map_or("a site", SiteName::as_str);
        let deployment = context.deployment.unwrap_or("a deployment");
        match self {
            CentralEvent::DeploymentPlanned { message, .. } => message.clone(),
            CentralEvent::Committed { commit, message, .. } => {
                format!("{message}: commit {}", commit.short())
            }
            CentralEvent::Conflict { path, .. } => {
                format!("{path} was changed after the plan was made; nothing was written")
            }
            CentralEvent::Refused { path, reason, .. } => {
                format!("Git rejected the change of {path}: {reason}")
            }
            CentralEvent::ChangeCancelled { message, .. } => {
                format!("{actor} cancelled a change that waited for Git: {message}")
            }
            CentralEvent::Overruled { path, .. } => {
                format!("{path} was changed in Git by someone else")
            }
            CentralEvent::RevertPlanned { from, to, .. } => {
                format!("{deployment} at {site} is reverted from {from} to {to} in Git")
            }
            CentralEvent::CommandSent { action, .. } => {
                format!("{actor} sent the command {} to {site}", action.name())
            }
            CentralEvent::SiteAdded { .. } => format!("{actor} added site {site}"),
            CentralEvent::SiteInvited { .. } => {
                format!("{actor} invited an orchestrator for site {site}")
            }
            CentralEvent::SiteJoined { .. } => format!("an orchestrator joined site {site}"),
            CentralEvent::SiteRenewed { .. } => format!("site {site} renewed its certificate"),
            CentralEvent::SiteAuthorityKnown { fingerprint } => {
                format!("the CA of site {site} is {fingerprint}")
            }
            CentralEvent::SiteAuthorityRefused { fingerprint, known } => {
                format!("site {site} reported the CA {fingerprint}, but {known} is on record")
            }
            CentralEvent::SiteAuthorityAccepted { fingerprint } => {
                format!("{actor} accepted {fingerprint} as the CA of site {site}")
            }
            CentralEvent::NodeInvited { .. } => format!("{actor} invited a node for site {site}"),
            CentralEvent::Pushed { commit: Some(commit), .. } => {
                format!("{actor} pushed commit {}", commit.short())
            }
            CentralEvent::Pushed { commit: None, .. } => format!("{actor} deleted the branch"),
            CentralEvent::RegistryAdded { name, .. } => format!("{actor} added registry {name}"),
            CentralEvent::RegistryRemoved { name } => format!("{actor} removed registry {name}"),
            CentralEvent::TokenMade { name, role } => {
                format!("{actor} made the token {name} ({role})")
            }
            CentralEvent::TokenRemoved { name } => format!("{actor} deleted the token {name}"),
            CentralEvent::Restored { .. } => {
                "the central orchestrator was restored from a backup".to_owned()
            }
            CentralEvent::Flagged { node, flag, .. } => {
                format!("{site}/{node} reported something unexpected: {flag}")
            }
        }
    }
}

fn action_node(action: &Action) -> Option<&NodeName> {
    match action {
        Action::Cordon { node } | Action::Uncordon { node } | Action::Retire { node } => Some(node),
        Action::Retry { node, .. } | Action::Force { node, .. } => node.as_ref(),
        Action::Hold { .. }
        | Action::ReleaseHold { .. }
        | Action::ReleaseRemoval
        | Action::AcceptHistory { .. }
        | Action::ReleaseQuarantine { .. }
        | Action::Rollback { .. }
        | Action::Promote { .. }
        | Action::Pause { .. }
        | Action::Resume { .. }
        | Action::Abort { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3f2a1c0000000000000000000000000000000000";
    const UUID: &str = "6d1e2f3a-0000-4000-8000-000000000001";

    /// Bodies as releases before this type stored them.
    #[test]
    fn stored_events_read_as_sentences_and_write_the_same_body() {
        check(
            "deployment_planned",
            json!({"application": "hello", "version": "1.0.0", "path": "deployments/home/hello.yaml",
                "removed": false, "message": "Deploy hello", "change": "7", "plan": "abc"}),
            "Deploy hello",
        );
        check(
            "committed",
            json!({"commit": ID, "path": "p", "blob": ID, "message": "Deploy hello", "change": "7"}),
            "Deploy hello: commit 3f2a1c0",
        );
        check(
            "conflict",
            json!({"path": "p.yaml", "expected": null, "found": ID, "diff": "-a", "message": "m",
                "change": "7"}),
            "p.yaml was changed after the plan was made; nothing was written",
        );
        check(
            "overruled",
            json!({"path": "p.yaml", "wished": ID, "found": null}),
            "p.yaml was changed in Git by someone else",
        );
        check(
            "revert_planned",
            json!({"from": "2.0.0", "to": "1.0.0", "bad": ID, "good": ID}),
            "hello at home is reverted from 2.0.0 to 1.0.0 in Git",
        );
        check(
            "command_sent",
            json!({"action": "retry", "deployment": UUID, "node": "a", "number": 3, "expires": 9}),
            "ana sent the command retry to home",
        );
        check(
            "command_sent",
            json!({"action": "release-removal", "number": 3, "expires": 9}),
            "ana sent the command release-removal to home",
        );
        check("site_added", json!({"labels": {"hall": "2"}}), "ana added site home");
        check("site_invited", json!({"expires": 1}), "ana invited an orchestrator for site home");
        check(
            "site_joined",
            json!({"incarnation": 0, "token": "t", "replace": false}),
            "an orchestrator joined site home",
        );
        check("node_invited", json!({"expires": 1}), "ana invited a node for site home");
        check("pushed", json!({"from": null, "commit": ID}), "ana pushed commit 3f2a1c0");
        check("registry_added", json!({"name": "r", "url": "u"}), "ana added registry r");
        check("registry_removed", json!({"name": "r"}), "ana removed registry r");
        check(
            "token_made",
            json!({"name": "t", "role": "viewer"}),
            "ana made the token t (viewer)",
        );
        check("token_removed", json!({"name": "t"}), "ana deleted the token t");
        check(
            "restored",
            json!({"backup": 1, "epoch": "ab"}),
            "the central orchestrator was restored from a backup",
        );
        check(
            "flagged",
            json!({"node": "a", "deployment": UUID, "flag": "event 3 is odd"}),
            "home/a reported something unexpected: event 3 is odd",
        );
    }

    #[test]
    fn kinds_and_bodies_of_other_releases_are_not_read() {
        assert_eq!(CentralEvent::read("site_moved", &json!({})), None);
        assert_eq!(CentralEvent::read("committed", &json!({"commit": 7})), None);
        let more = json!({"name": "t", "since": 3});
        assert!(CentralEvent::read("token_removed", &more).is_some(), "new fields are passed over");
    }

    #[test]
    fn an_event_names_the_node_of_its_order() {
        for (body, expected) in [
            (json!({"action": "cordon", "node": "a", "expires": 1}), Some("a")),
            (json!({"action": "retry", "deployment": UUID, "node": null, "expires": 1}), None),
            (json!({"action": "release-removal", "expires": 1}), None),
        ] {
            let event = CentralEvent::read("command_sent", &body).expect("it is known");
            assert_eq!(event.node().map(NodeName::as_str), expected, "{body}");
        }
    }

    #[track_caller]
    fn check(kind: &str, body: Value, sentence: &str) {
        let event = CentralEvent::read(kind, &body).expect("it is known");
        let home: SiteName = "home".parse().expect("a name");
        let context = CentralContext { actor: "ana", site: Some(&home), deployment: Some("hello") };
        assert_eq!(event.sentence(context), sentence);
        assert_eq!(event.parts(), (kind.to_owned(), body));
    }
}
