//! Texts for a trace.

use std::collections::BTreeMap;

use colony_core::event::{Body, Event};
use colony_core::id::PlacementId;
use colony_core::node::Action;
use colony_core::state::State;
use colony_world::ToLocal;
pub(crate) use colony_world::words::{have, revision, status, version};

use crate::world::node::Doing;

/// `a INSTALLED, b PENDING`.
pub(crate) fn states(states: &BTreeMap<PlacementId, State>) -> String {
    let each: Vec<String> = states.iter().map(|(id, it)| format!("{} {it}", id.node)).collect();
    if each.is_empty() { "nothing".to_owned() } else { each.join(", ") }
}

/// A message of a node.
pub(crate) fn call(call: &ToLocal) -> String {
    match call {
        ToLocal::Poll { have: it, .. } => format!("a poll, holding {}", have(*it)),
        ToLocal::Status { status: it, .. } => format!("a report: {}", status(it)),
        ToLocal::Capabilities { .. }
        | ToLocal::EventsTaken { .. }
        | ToLocal::Diverged { .. }
        | ToLocal::Fenced { .. }
        | ToLocal::Commands(_) => "what it can do".to_owned(),
    }
}

pub(crate) fn action(doing: Option<&Doing>) -> String {
    let Some(doing) = doing else { return "do nothing".to_owned() };
    let version = doing.version.as_deref().unwrap_or("?");
    match &doing.action {
        Action::Prepare { .. } => format!("fetch {version}"),
        Action::Start { .. } => format!("start {version}"),
        Action::Stage { .. } => format!("stage {version}"),
        Action::Unstage { .. } => "clear what is staged".to_owned(),
        Action::Clear { keep: Some(_), .. } => "clear what is not wanted".to_owned(),
        Action::Clear { keep: None, .. } => "clear everything".to_owned(),
        Action::Remove { .. } => "remove it".to_owned(),
    }
}

pub(crate) fn event(event: &Event) -> String {
    let Body::StateTransition(it) = &event.body else { return other(&event.body) };
    let from = it.from.map_or("–".to_owned(), |it| it.to_string());
    let code = it.failure.as_ref().map(|it| format!(", {}", it.code)).unwrap_or_default();
    let why = it.trigger.name();
    format!("{}: {from} → {} ({why}, attempt {}{code})", it.node, it.to, it.attempt)
}

/// The name of an event, as in the log.
fn other(body: &Body) -> String {
    let value = serde_json::to_value(body).unwrap_or_default();
    let text = |key: &str| value.get(key).and_then(|it| it.as_str()).map(str::to_owned);
    let words = ["kind", "node", "presence"].into_iter().filter_map(text);
    words.collect::<Vec<_>>().join(" ")
}
