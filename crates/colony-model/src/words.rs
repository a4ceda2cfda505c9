//! The words of a trace.

use std::collections::BTreeMap;

use colony_core::event::{Body, Event, VERSION_BITS};
use colony_core::id::{DeploymentId, GitRevision, PlacementId};
use colony_core::node::Action;
use colony_core::site::{Asks, Have, Step};
use colony_core::state::State;
use colony_margo::DeploymentStatus;

use crate::edge::Doing;
use crate::message::{Sheet, Up};

/// A manifest version: the incarnation, and the count within it.
pub(crate) fn version(version: u64) -> String {
    format!("v{}.{}", version >> VERSION_BITS, version % (1 << VERSION_BITS))
}

/// The number of a commit, counted from the first.
pub(crate) fn commit(revision: &GitRevision) -> &str {
    revision.as_str().trim_start_matches('0')
}

/// `a INSTALLED, b PENDING`.
pub(crate) fn states(states: &BTreeMap<PlacementId, State>) -> String {
    let each: Vec<String> = states.iter().map(|(id, it)| format!("{} {it}", id.node)).collect();
    if each.is_empty() { "nothing".to_owned() } else { each.join(", ") }
}

pub(crate) fn have(have: Option<Have>) -> String {
    have.map_or("nothing".to_owned(), |it| version(it.version))
}

/// The version a document asks for.
pub(crate) fn revision(text: &str) -> Option<&str> {
    let rest = text.split("revision: ").nth(1).or_else(|| text.split("\"revision\":\"").nth(1))?;
    rest.split(['\n', '"']).find(|it| !it.is_empty())
}

/// The versions a manifest lists.
pub(crate) fn listed(sheet: &Sheet) -> BTreeMap<DeploymentId, String> {
    let one = |it: &(DeploymentId, colony_margo::Digest, Vec<u8>)| {
        let text = String::from_utf8_lossy(&it.2);
        Some((it.0.clone(), revision(&text)?.to_owned()))
    };
    sheet.documents.iter().filter_map(one).collect()
}

pub(crate) fn answer(sheet: Option<&Sheet>, asks: &Asks) -> String {
    let manifest = sheet.map(|it| {
        let listed = listed(it).into_values().collect::<Vec<_>>().join(", ");
        let listed = if listed.is_empty() { "nothing" } else { &listed };
        format!("manifest {} lists {listed}", version(it.version))
    });
    let asks = (!asks.deployments.is_empty()).then(|| "say again what you know".to_owned());
    manifest.into_iter().chain(asks).collect::<Vec<_>>().join("; ")
}

pub(crate) fn status(status: &DeploymentStatus) -> String {
    let number = status.colony.as_ref().and_then(|it| it.report).unwrap_or(0);
    let adopted = version(status.adopted_manifest_version.get());
    let error = status.status.error.as_ref().map(|it| format!(" {}", it.code)).unwrap_or_default();
    format!("{}{error} of {adopted} (report {number})", status.status.state)
}

pub(crate) fn call(call: &Up) -> String {
    match call {
        Up::Hello => "what it can do".to_owned(),
        Up::Poll { have: it } => format!("a poll, holding {}", have(*it)),
        Up::Report(it) => format!("a report: {}", status(it)),
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

pub(crate) fn refused(step: &Step) -> String {
    step.refused.as_ref().map(ToString::to_string).unwrap_or_default()
}

pub(crate) fn event(event: &Event) -> String {
    let Body::StateTransition(it) = &event.body else { return other(&event.body) };
    let from = it.from.map_or("–".to_owned(), |it| it.to_string());
    let code = it.failure.as_ref().map(|it| format!(", {}", it.code)).unwrap_or_default();
    let why = it.trigger.name();
    format!("{}: {from} → {} ({why}, attempt {}{code})", it.node, it.to, it.attempt)
}

/// The name of an event, as the log spells it.
fn other(body: &Body) -> String {
    let value = serde_json::to_value(body).unwrap_or_default();
    let text = |key: &str| value.get(key).and_then(|it| it.as_str()).map(str::to_owned);
    let words = ["kind", "node", "presence"].into_iter().filter_map(text);
    words.collect::<Vec<_>>().join(" ")
}
