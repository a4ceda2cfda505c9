//! Orders: each given at both, accepted and refused, with the same answer.

use serde_json::Value;

use super::{QUESTIONS, check};
use crate::kit::{Fleet, wait};

/// Ends where it began, so that it can be given at both.
const AT_REST: &[&[&str]] = &[
    &["hold", "--site", "home", "--note", "audit"],
    &["hold", "--site", "home"],
    &["release", "--site", "home"],
    &["release", "--site", "home"],
    &["release", "--site", "home", "--what", "removal"],
    &["release", "--site", "home", "--what", "history"],
    &["hold", "--site", "mars"],
    &["hold", "hello", "--note", "audit"],
    &["hold", "hello"],
    &["release", "hello"],
    &["release", "hello"],
    &["hold", "hello", "--site", "mars"],
    &["hold", "ghost"],
    &["node", "cordon", "home/n1"],
    &["node", "uncordon", "home/n1"],
    &["node", "cordon", "home/ghost"],
    &["node", "uncordon", "mars/n1"],
    &["node", "retire", "home/ghost", "--yes"],
    &["deployment", "retry", "hello"],
    &["deployment", "retry", "hello", "--node", "home/ghost"],
    &["deployment", "retry", "ghost"],
    &["deployment", "promote", "hello"],
    &["deployment", "pause", "hello"],
    &["deployment", "resume", "hello"],
    &["deployment", "abort", "hello"],
    &["quarantine", "release", "hello"],
    // Not orders, but refused as well.
    &["logs", "hello"],
    &["logs", "hello", "--node", "home/ghost"],
    &["logs", "ghost"],
    &["event", "--site", "mars"],
    &["node", "list", "--site", "mars"],
    &["deployment", "show", "ghost"],
    &["why", "hello", "--site", "mars"],
];

const PROMOTE: &[&[&str]] = &[&["deployment", "promote", "hello"]];
const ABORT: &[&[&str]] = &[&["deployment", "abort", "hello", "--note", "audit"]];
const FORGIVE: &[&[&str]] = &[&["quarantine", "release", "hello"]];
const PAUSE: &[&[&str]] = &[
    &["deployment", "pause", "hello", "--note", "audit"],
    &["deployment", "resume", "hello"],
    &["deployment", "resume", "hello"],
];

#[test]
fn orders_are_answered_alike() {
    let mut fleet = Fleet::central(&[]).with_node();
    fleet.node("home", "n2");
    fleet.hello_installs();
    let central = answers(&fleet, AT_REST, None);
    assert_eq!(answers(&fleet, AT_REST, SITE), central);
    check(&fleet, "after orders", &QUESTIONS);
}

#[test]
fn orders_to_a_rollout_are_answered_alike() {
    let mut fleet = Fleet::central(&[]).with_node();
    fleet.node("home", "n2");
    fleet.hello_installs();

    stage(&fleet, "1.1");
    check(&fleet, "staged, awaits promotion", &QUESTIONS);
    let central = answers(&fleet, PAUSE, None);
    assert_eq!(answers(&fleet, PAUSE, SITE), central);
    answers(&fleet, &PAUSE[..1], SITE);
    check(&fleet, "paused", &QUESTIONS);
    answers(&fleet, &PAUSE[1..2], SITE);
    check(&fleet, "resumed", &QUESTIONS);

    let central = answers(&fleet, PROMOTE, None);
    fleet.see("hello", |it| it["outcome"] == "installed");
    stage(&fleet, "1.0");
    assert_eq!(answers(&fleet, PROMOTE, SITE), central);
    fleet.see("hello", |it| it["outcome"] == "installed");
    check(&fleet, "promoted", &QUESTIONS);

    let central = abort(&fleet, None);
    assert_eq!(abort(&fleet, SITE), central);
    check(&fleet, "aborted and released", &QUESTIONS);
}

const SITE: Option<&str> = Some("home");

/// Aborts the rollout of a version, and lets it try again.
fn abort(fleet: &Fleet, site: Option<&str>) -> Vec<String> {
    stage(fleet, "1.1");
    let aborted = answers(fleet, ABORT, site);
    // Released before the revert, it would be rolled out again.
    let reverted = |it: &Value| it["sites"][0]["rolledBack"]["revert"].is_string();
    fleet.see("hello", |it| it["outcome"] == "rolled-back" && reverted(it));
    [aborted, answers(fleet, FORGIVE, site)].concat()
}

/// Brings a version beside the old one; both see that it awaits promotion.
#[track_caller]
fn stage(fleet: &Fleet, version: &str) {
    let change = ["deploy", "hello", "--version", version, "--yes"];
    let blue_green = ["--strategy", "blue-green", "--soak", "1s", "--promote", "manual"];
    fleet.type_in(&[&change[..], &blue_green].concat()).ok();
    let awaits = |it: &Value| {
        let site = &it["sites"][0];
        site["version"] == version && site["rollout"]["standing"] == "awaits-promotion"
    };
    fleet.see("hello", awaits);
}

/// The answers to orders that are given one after the other, at the central
/// orchestrator or at the site's socket.
fn answers(fleet: &Fleet, orders: &[&[&str]], site: Option<&str>) -> Vec<String> {
    let answers = orders.iter().map(|it| answer(fleet, it, site)).collect();
    wait("the orders to be executed", || {
        let shown = fleet.json(["site", "show", "home"]);
        Some(()).filter(|()| shown["commandsOpen"] == 0)
    });
    answers
}

fn answer(fleet: &Fleet, order: &[&str], site: Option<&str>) -> String {
    let socket = site.map(|it| fleet.path().join(it).join("local/local.sock"));
    let mut arguments = order.to_vec();
    if let Some(socket) = &socket {
        arguments.extend(["--socket", socket.to_str().unwrap()]);
    }
    let said = fleet.type_in(&arguments);
    let text = format!("{}{}", said.out, said.err);
    // A slow site confirms an order of the central orchestrator a moment later.
    let text = text.replace("ordered: ", "").replace("; site home has not confirmed it yet", "");
    format!("{order:?} ends with {}: {text}", said.code)
}
