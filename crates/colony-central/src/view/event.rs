//! An event, with a sentence for people.

use colony_api::view::EventView;
use colony_core::attempt::Revision;
use colony_core::event::{Event, Names};
use colony_core::id::DeploymentId;
use colony_store::StoredEvent;
use serde::Deserialize;
use serde_json::Value;

use super::event_id;
use crate::app::App;

pub(crate) fn event(app: &App, stored: StoredEvent) -> EventView {
    let sentence = sentence(&stored);
    EventView {
        id: event_id(app, stored.position),
        position: stored.position,
        at: stored.at,
        kind: stored.kind,
        site: stored.site.map(|it| it.to_string()),
        deployment: stored.deployment,
        node: stored.node,
        actor: stored.actor,
        sentence,
        body: stored.body,
    }
}

/// What happened, in a few words: a site's event as the site would tell it.
fn sentence(stored: &StoredEvent) -> String {
    if stored.seq.is_none() {
        return own(stored);
    }
    let event = Event::deserialize(&stored.body);
    // A later release of the site may know kinds of events that this one does not.
    event.map_or_else(|_| spoken(&stored.kind), |it| it.sentence(&Called(stored)))
}

/// Names as they were when the event came; the files are not at hand.
struct Called<'a>(&'a StoredEvent);

impl Names for Called<'_> {
    fn deployment(&self, id: &DeploymentId) -> String {
        self.0.deployment.clone().unwrap_or_else(|| id.to_string())
    }

    fn version(&self, _: &DeploymentId, _: &Revision) -> Option<String> {
        None
    }
}

/// What CO did itself, or somebody did through it.
fn own(event: &StoredEvent) -> String {
    let body = &event.body;
    let text = |key: &str| body.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let what = event.deployment.clone().unwrap_or_default();
    let node = event.node.clone().unwrap_or_default();
    let site = event.site.as_ref().map(ToString::to_string).unwrap_or_default();
    match event.kind.as_str() {
        "deployment_planned" => text("message"),
        "committed" => format!("{}: commit {}", text("message"), short(&text("commit"))),
        "conflict" => {
            format!("{} holds something else than expected; nothing was written", text("path"))
        }
        "refused" => format!("Git refused the change of {}: {}", text("path"), text("reason")),
        "change_cancelled" => {
            format!("{} cancelled a change that waited for Git: {}", event.actor, text("message"))
        }
        "overruled" => format!("{} was written by somebody else", text("path")),
        "revert_planned" => {
            format!("{what} at {site} goes back from {} to {} in Git", text("from"), text("to"))
        }
        "command_sent" => format!("{} ordered {} at {site}", event.actor, text("action")),
        "site_added" => format!("{} added site {site}", event.actor),
        "site_joined" => format!("an orchestrator joined site {site}"),
        "site_invited" => format!("{} invited an orchestrator for site {site}", event.actor),
        "node_invited" => format!("{} invited a node for site {site}", event.actor),
        "pushed" => format!("{} pushed commit {}", event.actor, short(&text("commit"))),
        "registry_added" => format!("{} added registry {}", event.actor, text("name")),
        "registry_removed" => format!("{} removed registry {}", event.actor, text("name")),
        "token_made" => {
            format!("{} made the token {} ({})", event.actor, text("name"), text("role"))
        }
        "token_removed" => format!("{} deleted the token {}", event.actor, text("name")),
        "restored" => "the central orchestrator came back from a backup".to_owned(),
        "flagged" => format!("what is told of {site}/{node} does not fit: {}", text("flag")),
        other => spoken(other),
    }
}

fn spoken(kind: &str) -> String {
    kind.replace('_', " ")
}

fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}
