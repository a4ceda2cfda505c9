//! A role dies between two steps of a rollout: the step is not lost, what runs
//! is not touched for it, and the rollout goes on where it was.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::bed::{Bed, KEPT};
use crate::engines::Engine;
use crate::reboot::stop_all;

pub(crate) const STAGED: &[&str] =
    &["--strategy", "blue-green", "--soak", "1s", "--promote", "manual"];
pub(crate) const CANARY: &[&str] = &["--strategy", "canary", "--soak", "1s", "--promote", "manual"];

/// What ran before the rollout, by container and when it started.
pub(crate) type Before = BTreeMap<String, String>;

#[test]
#[ignore = "takes long; make chaos runs it"]
fn site_dies_while_a_version_is_staged() {
    dies_staged(Engine::podman(), "local", "home");
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_dies_while_a_version_is_staged() {
    dies_staged(Engine::docker(), "node", "home/n1");
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn central_dies_while_a_version_is_staged() {
    dies_staged(Engine::podman(), "central", "central");
}

#[track_caller]
fn dies_staged(engine: Engine, role: &str, part: &str) {
    let mut bed = Bed::ready(engine, "kill -9", role);
    let before = rolls_out(&bed, STAGED);
    kill(&mut bed, part);
    bed.why("job", part);
    bed.over();
    bed.restart(part);
    waits(&bed);
    keeps(&bed, &before);
    promote(&bed);
    bed.end(&["job", KEPT]);
}

/// Both versions run again from what the node keeps, and neither is taken
/// for the other.
#[test]
#[ignore = "takes long; make chaos runs it"]
fn node_reboots_while_a_version_is_staged() {
    let mut bed = Bed::ready(Engine::podman(), "reboot without network", "node");
    rolls_out(&bed, STAGED);
    let count = bed.running();
    bed.everything_stops();
    kill(&mut bed, "home");
    bed.fleet.process("home/n1").kill();
    stop_all(&bed);
    bed.why("job", "home");
    bed.over();
    bed.restart("home/n1");
    bed.all_run_again(count);
    bed.restart("home");
    waits(&bed);
    promote(&bed);
    bed.end(&["job", KEPT]);
}

#[test]
#[ignore = "takes long; make chaos runs it"]
fn site_dies_while_a_canary_waits() {
    let mut bed = Bed::ready(Engine::docker(), "kill -9", "local");
    bed.fleet.node("home", "n2");
    let before = rolls_out(&bed, CANARY);
    let rest = untouched(&bed, &before);
    kill(&mut bed, "home");
    bed.why("job", "home");
    bed.over();
    bed.restart("home");
    waits(&bed);
    keeps(&bed, &rest);
    promote(&bed);
    bed.end(&["job", KEPT]);
}

pub(crate) fn kill(bed: &mut Bed, part: &str) {
    bed.fleet.process(part).kill();
    bed.faults(1);
}

/// A deployment runs, and its next version waits for a word.
#[track_caller]
pub(crate) fn rolls_out(bed: &Bed, strategy: &[&str]) -> Before {
    bed.install("job");
    let before = bed.fleet.containers();
    update(bed, "1.1", strategy);
    waits(bed);
    before
}

#[track_caller]
pub(crate) fn update(bed: &Bed, version: &str, strategy: &[&str]) {
    let deploy = ["deploy", "hello", "--name", "job", "--version", version, "--site", "home"];
    bed.fleet.type_in(&[&deploy[..], &["--yes"], strategy].concat()).ok();
}

#[track_caller]
pub(crate) fn waits(bed: &Bed) {
    bed.fleet.see("job", is_waiting);
}

pub(crate) fn is_waiting(view: &Value) -> bool {
    view["sites"][0]["rollout"]["standing"] == "awaits-promotion"
}

#[track_caller]
pub(crate) fn promote(bed: &Bed) {
    bed.fleet.colony(["deployment", "promote", "job", "--site", "home"]).ok();
    bed.fleet.see("job", has_new);
}

pub(crate) fn has_new(view: &Value) -> bool {
    has(view, "1.1")
}

/// All of its nodes run the version.
pub(crate) fn has(view: &Value, version: &str) -> bool {
    let placements = view["sites"][0]["placements"].as_array();
    let mut placements = placements.into_iter().flatten();
    view["outcome"] == "installed" && placements.all(|it| it["version"] == version)
}

/// Of what ran before, what still does.
pub(crate) fn untouched(bed: &Bed, before: &Before) -> Before {
    let now = bed.fleet.containers();
    let stays = |it: &(&String, &String)| now.get(it.0) == Some(it.1);
    before.iter().filter(stays).map(|it| (it.0.clone(), it.1.clone())).collect()
}

#[track_caller]
pub(crate) fn keeps(bed: &Bed, before: &Before) {
    assert_eq!(untouched(bed, before), *before, "something that ran was touched");
}
