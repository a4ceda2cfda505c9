//! An event, with a sentence for people.

use colony_api::view::EventView;
use colony_store::StoredEvent;
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

/// What happened, in a few words.
fn sentence(event: &StoredEvent) -> String {
    // A site's event carries its body inside; CO's own is the body.
    let body = event.body.get("body").unwrap_or(&event.body);
    let text = |key: &str| body.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let what = event.deployment.clone().unwrap_or_else(|| text("deployment"));
    let node = event.node.clone().unwrap_or_default();
    let site = event.site.as_ref().map(ToString::to_string).unwrap_or_default();
    match event.kind.as_str() {
        "ready" => format!("site {site} has read Git and serves its nodes"),
        "state_transition" => transition(body, &what, &site, &node),
        "deployment_accepted" => format!("site {site} took {what} from Git"),
        "deployment_withdrawn" => format!("{what} is gone from Git at {site}"),
        "deployment_converged" => format!("{what} is installed on every reachable node of {site}"),
        "quarantined" => format!("site {site} refuses a revision of {what}: {}", failure(body)),
        "quarantine_released" => format!("a revision of {what} may run at {site} again"),
        "rolled_back" => format!("site {site} went back to the revision of {what} before"),
        "rollout_stopped" => format!("{what} stopped at {site}/{node}: {}", failure(body)),
        "rollout_step" => step(body, &what, &site),
        "rollout_paused" => format!("{} paused {what} at {site}: {}", event.actor, text("note")),
        "rollout_released" | "rollout_resumed" | "rollout_unpaused" => {
            format!("{what} goes on at {site}")
        }
        "running_health" => running(body, &what, &site, &node),
        "revision_rejected" => format!("{site}/{node} gave {what} up: {}", failure(body)),
        "file_refused" => format!("site {site} refuses {}: {}", text("path"), finding(body)),
        "file_accepted" => format!("{} is usable again", text("path")),
        "removal_held" => format!("site {site} holds a commit that removes too much"),
        "removal_released" => format!("the removals at {site} may happen"),
        "history_held" => format!("site {site} holds a rewritten history"),
        "history_accepted" => format!("site {site} takes the rewritten history"),
        "held" => format!("{} holds changes at {site}: {}", event.actor, text("note")),
        "hold_released" => format!("{} released the hold at {site}", event.actor),
        "node_joined" => format!("node {site}/{node} joined"),
        "node_capable" => format!("node {site}/{node} said what it can do"),
        "node_presence" => format!("node {site}/{node} is {}", text("presence")),
        "node_cordoned" => cordoned(body, &site, &node),
        "node_retired" => format!("node {site}/{node} is gone for good"),
        "command_done" => done(body, &site),
        "deployment_planned" => text("message"),
        "committed" => format!("{}: commit {}", text("message"), short(&text("commit"))),
        "conflict" => {
            format!("{} holds something else than expected; nothing was written", text("path"))
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
        other => other.replace('_', " "),
    }
}

fn transition(body: &Value, what: &str, site: &str, node: &str) -> String {
    let to = body.get("to").and_then(Value::as_str).unwrap_or_default();
    let from = body.get("from").and_then(Value::as_str);
    let said = failure(body);
    let said = if said.is_empty() { said } else { format!(": {said}") };
    match from {
        Some(from) => format!("{what} on {site}/{node}: {from} → {to}{said}"),
        None => format!("{what} on {site}/{node}: {to}{said}"),
    }
}

/// What runs on while another version is staged.
fn running(body: &Value, what: &str, site: &str, node: &str) -> String {
    match failure(body).as_str() {
        "" => format!("{what} as it runs on {site}/{node} meanwhile is well again"),
        said => format!("{what} as it runs on {site}/{node} meanwhile is not well: {said}"),
    }
}

fn failure(body: &Value) -> String {
    let Some(failure) = body.get("failure").filter(|it| !it.is_null()) else {
        return String::new();
    };
    let text = |key: &str| failure.get(key).and_then(Value::as_str).unwrap_or_default();
    let line = text("message").lines().next().unwrap_or_default();
    if line.is_empty() { text("code").to_owned() } else { format!("{} ({line})", text("code")) }
}

fn finding(body: &Value) -> String {
    let first = body.pointer("/findings/0").cloned().unwrap_or_default();
    serde_json::from_value::<colony_margo::Finding>(first)
        .map_or_else(|_| String::new(), |it| it.to_string())
}

fn step(body: &Value, what: &str, site: &str) -> String {
    let number = |key: &str| body.get(key).and_then(Value::as_u64).unwrap_or_default();
    let standing = body.pointer("/standing/name").and_then(Value::as_str).unwrap_or_default();
    let (step, of) = (number("step"), number("of"));
    match standing {
        "soaking" => format!("step {step} of {of} of {what} soaks at {site}"),
        "awaits-promotion" => {
            format!("step {step} of {of} of {what} waits to be promoted at {site}")
        }
        _ => format!("step {step} of {of} of {what} is open at {site}"),
    }
}

fn cordoned(body: &Value, site: &str, node: &str) -> String {
    match body.get("cordoned").and_then(Value::as_bool) {
        Some(false) => format!("node {site}/{node} takes deployments again"),
        Some(true) | None => format!("node {site}/{node} gets nothing new"),
    }
}

fn done(body: &Value, site: &str) -> String {
    let text = |key: &str| body.get(key).and_then(Value::as_str);
    let command = text("command").unwrap_or_default();
    match text("refusal") {
        Some(refusal) => format!("site {site} refused {command}: {refusal}"),
        None => format!("site {site} did {command}"),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}
