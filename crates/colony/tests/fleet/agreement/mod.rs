//! Both orchestrators answer every question and every order alike: asked over
//! the wire, at the central orchestrator and at the site's socket, in several
//! situations.

mod orders;
mod questions;

use serde_json::Value;

use crate::kit::{Fleet, wait_or_not};

/// What the orchestrator that answers says of itself.
const OF_ITSELF: [&str; 5] = ["role", "url", "ready", "reasons", "at"];
/// What only the central orchestrator knows: when it let the site in and heard
/// it last, orders on their way, and the archive of what is deleted.
const OF_CENTRAL: [&str; 5] = ["joined", "lastHeard", "commandsOpen", "deleted", "unconfirmed"];

/// Every question, of a site with `hello` on nodes n1 and n2. The last two show
/// what central keeps longer than a site.
const QUESTIONS: [&[&str]; 14] = [
    &["why"],
    &["why", "--site", "home"],
    &["why", "hello"],
    &["why", "hello", "--site", "home"],
    &["why", "--node", "home/n2"],
    &["node", "list"],
    &["node", "list", "--site", "home"],
    &["node", "show", "home/n1"],
    &["site", "list"],
    &["site", "show", "home"],
    &["event", "--deployment", "hello", "--last", "1000"],
    &["status"],
    &["deployment", "list"],
    &["deployment", "show", "hello"],
];

/// Asks both until they agree; the central orchestrator may be a moment behind.
#[track_caller]
fn check(fleet: &Fleet, when: &str, questions: &[&[&str]]) {
    for question in questions {
        let mut last = (Value::Null, Value::Null);
        let agreed = wait_or_not(|| {
            last = (ask(fleet, question, None), ask(fleet, question, Some("home")));
            (last.0 == last.1).then_some(())
        });
        let (central, site) = last;
        assert!(agreed.is_some(), "{when}: {question:?}\ncentral {central:#}\nsite {site:#}");
    }
}

fn ask(fleet: &Fleet, question: &[&str], site: Option<&str>) -> Value {
    let socket = site.map(|it| fleet.path().join(it).join("local/local.sock"));
    let mut arguments = question.to_vec();
    arguments.extend(["-o", "json"]);
    if let Some(socket) = &socket {
        arguments.extend(["--socket", socket.to_str().unwrap()]);
    }
    let mut answer = fleet.type_in(&arguments).ok().json();
    if let Some(events) = answer.get_mut("events").and_then(Value::as_array_mut) {
        return events_of_site(events);
    }
    common(&mut answer);
    answer
}

/// The events of the site alone, without their positions in the log that was
/// asked. Only the central orchestrator has others.
fn events_of_site(events: &mut Vec<Value>) -> Value {
    events.retain(|it| !it["body"]["body"].is_null());
    for it in events.iter_mut().filter_map(Value::as_object_mut) {
        it.retain(|name, _| !["id", "position"].contains(&name.as_str()));
    }
    std::mem::take(events).into()
}

/// Leaves out what only one can know, and ages that pass between two questions.
fn common(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let is_status = fields.contains_key("role");
            fields.retain(|name, _| {
                let own = is_status && OF_ITSELF.contains(&name.as_str());
                !own && !OF_CENTRAL.contains(&name.as_str())
            });
            fields.values_mut().for_each(common);
        }
        Value::Array(items) => items.iter_mut().for_each(common),
        Value::String(text) => *text = without_ages(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// `40 s` and `41 s` are the same moment asked twice.
fn without_ages(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let is_age = |at: usize| {
        let unit = words.get(at + 1).map(|it| it.trim_end_matches(|c: char| !c.is_alphanumeric()));
        let number = words[at].bytes().all(|it| it.is_ascii_digit());
        number && unit.is_some_and(|it| ["s", "min", "h"].contains(&it))
    };
    let kept = (0..words.len()).map(|at| if is_age(at) { "N" } else { words[at] });
    kept.collect::<Vec<_>>().join(" ")
}
