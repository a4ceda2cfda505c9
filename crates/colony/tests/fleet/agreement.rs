//! Both orchestrators answer every question alike: asked over the wire, at the
//! central orchestrator and at the site's socket, in several situations.

use serde_json::Value;

use crate::kit::{Fleet, wait, wait_or_not};

/// What the orchestrator that answers says of itself.
const OF_ITSELF: [&str; 5] = ["role", "url", "ready", "reasons", "at"];
/// What only the central orchestrator knows: when it let the site in and heard
/// it last, orders on their way, and the archive of what is deleted.
const OF_CENTRAL: [&str; 5] = ["joined", "lastHeard", "commandsOpen", "deleted", "unconfirmed"];

const QUESTIONS: [&[&str]; 8] = [
    &["why"],
    &["why", "--site", "home"],
    &["why", "hello"],
    &["why", "--node", "home/n2"],
    &["node", "list"],
    &["site", "show", "home"],
    &["status"],
    &["deployment", "show", "hello"],
];

#[test]
fn central_and_site_answer_alike() {
    let mut fleet = Fleet::central(&[]).with_node();
    fleet.node("home", "n2");
    fleet.hello_installs();
    check(&fleet, "installed", &QUESTIONS);

    fleet.colony(["hold", "hello", "--site", "home", "--note", "audit"]).ok();
    fleet.colony(["deploy", "hello", "--version", "1.1", "--yes"]).ok();
    wait("the update to be held", || says(&fleet, "hold-deployment"));
    check(&fleet, "held", &QUESTIONS);

    fleet.colony(["release", "hello", "--site", "home"]).ok();
    fleet.see("hello", |it| it["outcome"] == "installed");
    check(&fleet, "updated", &QUESTIONS);

    fleet.colony(["deploy", "hello", "--version", "1.2-bad", "--watch", "--yes"]).ends(3);
    check(&fleet, "rolled back", &QUESTIONS);

    fleet.colony(["deploy", "hello", "--version", "1.0", "--watch", "--yes"]).ok();
    check(&fleet, "updated after a rollback", &QUESTIONS);
    // The site has forgotten the file; its clone of the repository has it.
    let shown = ask(&fleet, &["deployment", "show", "hello"], Some("home"));
    assert_eq!(shown["sites"][0]["quarantine"][0]["version"], "1.2-bad", "{shown:#}");

    fleet.process("home/n2").kill();
    wait("the node to be offline", || says(&fleet, "node-offline"));
    check(&fleet, "node offline", &QUESTIONS);

    fleet.colony(["deployment", "delete", "hello", "--yes"]).ok();
    wait("the removal to wait", || says(&fleet, "delete-waits-for-node"));
    // How many are deleted already, and by which commit, only central keeps.
    check(&fleet, "removal waits", &QUESTIONS[..6]);
}

fn says(fleet: &Fleet, cause: &str) -> Option<()> {
    let why = fleet.json(["why"]);
    let reasons = why["reasons"].as_array()?.clone();
    reasons.iter().any(|it| it["cause"] == cause).then_some(())
}

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
    common(&mut answer);
    answer
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
