//! Rollouts in steps on real engines, while something happens to those who
//! carry them out: who goes first, what waits, what goes back, and that nobody
//! else is touched by it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::bed::{Bed, KEPT};
use crate::engines::Engine;
use crate::kit::wait;
use crate::rollout::{Before, CANARY, STAGED, has_new, keeps, kill, promote, update, waits};

const BAD: &str = "1.2-bad";

/// Two of three go first; when they have stayed well the third follows, with
/// nobody's word, although the site died meanwhile.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn canary_by_percent_goes_on_by_itself() {
    let mut bed = nodes(Engine::podman(), "kill -9 in a canary", "local", 3);
    let third = of_node(&bed, "n3");
    update(&bed, "1.1", &["--strategy", "canary", "--canary", "67%", "--soak", "5s"]);
    let view = stands(&bed, "soaking");
    assert_eq!(versions(&view), "n1 1.1, n2 1.1, n3 1.0");
    assert_eq!(of_node(&bed, "n3"), third, "it was not its turn");
    kill(&mut bed, "home");
    bed.why("job", "home");
    bed.over();
    bed.restart("home");
    let view = bed.fleet.see("job", has_new);
    assert_eq!(versions(&view), "n1 1.1, n2 1.1, n3 1.1");
    bed.end(&["job", KEPT]);
}

/// Those with the label go first, whatever their names are.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn canary_by_label_waits_for_a_word() {
    let mut bed = nodes(Engine::podman(), "kill -9 in a canary", "central", 2);
    label(&mut bed, "home/n2", "line=press");
    let first = of_node(&bed, "n1");
    let canary = ["--strategy", "canary", "--canary", "line=press", "--soak", "1s"];
    update(&bed, "1.1", &[&canary[..], &["--promote", "manual"]].concat());
    let view = stands(&bed, "awaits-promotion");
    assert_eq!(versions(&view), "n1 1.0, n2 1.1");
    kill(&mut bed, "central");
    bed.why("job", "central");
    bed.over();
    bed.restart("central");
    bed.fleet.central_answers();
    waits(&bed);
    keeps(&bed, &first);
    promote(&bed);
    bed.end(&["job", KEPT]);
}

/// A pause outlives the site's orchestrator, and no promotion goes past it.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn canary_that_is_paused_starts_nothing_more() {
    let mut bed = nodes(Engine::podman(), "kill -9 in a canary", "local", 2);
    let second = of_node(&bed, "n2");
    update(&bed, "1.1", CANARY);
    waits(&bed);
    let steer = |bed: &Bed, how: &str| bed.fleet.colony(["deployment", how, "job"]).ok();
    steer(&bed, "pause");
    stands(&bed, "paused");
    kill(&mut bed, "home");
    bed.why("job", "home");
    bed.over();
    bed.restart("home");
    bed.fleet.colony(["deployment", "promote", "job"]).ends(1).says("resume it first");
    stands(&bed, "paused");
    keeps(&bed, &second);
    steer(&bed, "resume");
    waits(&bed);
    keeps(&bed, &second);
    promote(&bed);
    bed.end(&["job", KEPT]);
}

/// Whoever goes first goes back; the other one never moved.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn canary_that_fails_goes_back_alone() {
    let mut bed = nodes(Engine::docker(), "bad version", "canary", 2);
    let second = of_node(&bed, "n2");
    update(&bed, BAD, CANARY);
    bed.faults(1);
    bed.why("job", "");
    bed.over();
    let view = bed.fleet.see("job", |it| it["outcome"] == "rolled-back");
    assert_eq!(versions(&view), "n1 1.0, n2 1.0");
    keeps(&bed, &second);
    bed.end(&[KEPT]);
}

/// One node is down when a staged version is aborted; both discard it, and
/// what runs is not touched on either.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn blue_green_that_is_aborted_touches_nothing() {
    let mut bed = nodes(Engine::podman(), "kill -9 in an abort", "node", 2);
    bed.remember();
    let count = bed.running();
    update(&bed, "1.1", STAGED);
    waits(&bed);
    assert_eq!(bed.running(), count + 2, "staged on both");
    kill(&mut bed, "home/n2");
    bed.fleet.colony(["deployment", "abort", "job", "--site", "home"]).ok();
    bed.why("job", "home/n2");
    bed.over();
    bed.restart("home/n2");
    bed.fleet.see("job", |it| it["outcome"] == "rolled-back");
    bed.all_run(count);
    bed.end(&[KEPT]);
}

/// A bad version is discarded everywhere before it took over anywhere.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn blue_green_that_fails_touches_nothing() {
    let mut bed = nodes(Engine::podman(), "bad version", "blue-green", 2);
    bed.remember();
    let count = bed.running();
    update(&bed, BAD, &["--strategy", "blue-green", "--soak", "1s"]);
    bed.faults(1);
    bed.why("job", "");
    bed.over();
    let view = bed.fleet.see("job", |it| it["outcome"] == "rolled-back");
    assert_eq!(versions(&view), "n1 1.0, n2 1.0");
    bed.all_run(count);
    bed.end(&[KEPT]);
}

/// So many nodes of site `home` on one engine, where `job` runs as 1.0.
fn nodes(engine: Engine, fault: &str, role: &str, count: usize) -> Bed {
    let mut bed = Bed::ready(engine, fault, role);
    for number in 2..=count {
        bed.fleet.node("home", &format!("n{number}"));
    }
    bed.install("job");
    bed.installed(KEPT);
    bed
}

/// The node gets a label, and the fleet hears of it.
fn label(bed: &mut Bed, node: &str, label: &str) {
    let process = bed.fleet.process(node);
    process.environment.push(("COLONY_NODE_LABELS".to_owned(), label.to_owned()));
    process.kill();
    bed.restart(node);
    let (key, value) = label.split_once('=').unwrap();
    let shown = || bed.fleet.colony(["node", "show", node, "-o", "json"]);
    wait("the label", || {
        let text = shown().out;
        (text.contains(key) && text.contains(value)).then_some(())
    });
}

#[track_caller]
fn stands(bed: &Bed, how: &str) -> Value {
    bed.fleet.see("job", |it| it["sites"][0]["rollout"]["standing"] == how)
}

/// What the nodes run, by name.
fn versions(view: &Value) -> String {
    let of = |it: &Value| {
        let text = |key: &str| it[key].as_str().unwrap_or("?").to_owned();
        (text("node"), text("version"))
    };
    let all = view["sites"][0]["placements"].as_array();
    let all: BTreeMap<String, String> = all.into_iter().flatten().map(of).collect();
    let words = all.iter().map(|(node, version)| format!("{node} {version}"));
    words.collect::<Vec<String>>().join(", ")
}

/// The containers of the job on one node, and when they started.
fn of_node(bed: &Bed, node: &str) -> Before {
    let own = bed.labelled("job", |it| it["Labels"]["colony.node"] == node);
    assert!(!own.is_empty(), "`{node}` does not run it");
    bed.fleet.containers().into_iter().filter(|it| own.contains(&it.0)).collect()
}
