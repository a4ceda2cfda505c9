//! Rollouts in steps on real engines: a canary that waits for a word, and a
//! version that runs beside the old one until it takes over or is discarded.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::engines::Engine;
use crate::kit::{Fleet, wait};

#[test]
fn canary_goes_first_and_the_rest_after_a_word() {
    let fleet = two_nodes();
    deploy(&fleet, &["--strategy", "canary", "--soak", "1s", "--promote", "manual"]);

    let view = awaits(&fleet);

    assert_eq!(versions(&view), "n1 1.1, n2 1.0", "{view:#}");
    fleet.colony(["why", "hello"]).ok().says("waits to be promoted");
    fleet.colony(["deployment", "promote", "hello", "--site", "home"]).ok();
    let view = fleet.see("hello", |it| it["outcome"] == "installed");
    assert_eq!(versions(&view), "n1 1.1, n2 1.1", "{view:#}");
}

#[test]
fn canary_that_is_aborted_goes_back_and_the_rest_never_moved() {
    let fleet = two_nodes();
    let rest = containers_of(&fleet, "n2");
    deploy(&fleet, &["--strategy", "canary", "--soak", "1s", "--promote", "manual"]);
    awaits(&fleet);

    fleet.colony(["deployment", "abort", "hello", "--site", "home"]).ok();

    let back = |it: &Value| versions(it) == "n1 1.0, n2 1.0" && it["outcome"] == "rolled-back";
    fleet.see("hello", back);
    assert_eq!(containers_of(&fleet, "n2"), rest);
}

#[test]
fn blue_green_on_podman() {
    blue_green(Engine::podman());
}

#[test]
fn blue_green_on_docker() {
    blue_green(Engine::docker());
}

#[track_caller]
fn blue_green(engine: Engine) {
    let fleet = Fleet::central(&[]).with_node_on(engine);
    fleet.hello_installs();
    let old = fleet.containers();
    deploy(&fleet, &["--strategy", "blue-green", "--soak", "1s", "--promote", "manual"]);

    // The new one runs beside the old one, which is untouched.
    let view = awaits(&fleet);
    assert_eq!(view["sites"][0]["rollout"]["staged"], true, "{view:#}");
    let both = fleet.containers();
    assert!(both.len() > old.len() && keeps(&both, &old), "{old:?} {both:?}");

    fleet.colony(["deployment", "promote", "hello", "--site", "home"]).ok();
    let view = fleet.see("hello", |it| it["outcome"] == "installed");
    assert_eq!(versions(&view), "n1 1.1", "{view:#}");
    let swapped =
        |it: &Vec<String>| it.len() == old.len() && it.iter().all(|it| !old.contains_key(it));
    let mine = wait("what was staged to go", || Some(ids(&fleet)).filter(swapped));
    let new = fleet.containers();

    // A bad one is discarded before it took over.
    let bad = ["deploy", "hello", "--version", "1.2-bad", "--watch", "--yes"];
    fleet.colony(bad).ends(3).says("ROLLED BACK to 1.1");
    wait("what was staged to go", || Some(()).filter(|()| ids(&fleet) == mine));
    assert_eq!(fleet.containers(), new);
}

fn two_nodes() -> Fleet {
    let mut fleet = Fleet::small();
    fleet.node("home", "n2");
    fleet.hello_installs();
    fleet
}

#[track_caller]
fn deploy(fleet: &Fleet, strategy: &[&str]) {
    let change = ["deploy", "hello", "--version", "1.1", "--yes"];
    fleet.type_in(&[&change[..], strategy].concat()).ok();
}

#[track_caller]
fn awaits(fleet: &Fleet) -> Value {
    fleet.see("hello", |it| it["sites"][0]["rollout"]["standing"] == "awaits-promotion")
}

/// What the nodes run, by name.
fn versions(view: &Value) -> String {
    let of = |it: &Value| {
        let text = |key: &str| it[key].as_str().unwrap_or("?").to_owned();
        format!("{} {}", text("node"), text("version"))
    };
    let all = view["sites"][0]["placements"].as_array();
    let mut all: Vec<String> = all.into_iter().flatten().map(of).collect();
    all.sort();
    all.join(", ")
}

/// Of all containers there are, sorted.
fn ids(fleet: &Fleet) -> Vec<String> {
    let all = fleet.engine.as_ref().unwrap().ask("GET", "/containers/json?all=true");
    let id = |it: &Value| it["Id"].as_str().unwrap().to_owned();
    let mut ids: Vec<String> = all.as_array().unwrap().iter().map(id).collect();
    ids.sort();
    ids
}

/// Of one node, by its label.
fn containers_of(fleet: &Fleet, node: &str) -> Vec<Value> {
    let engine = fleet.engine.as_ref().unwrap();
    let all = engine.ask("GET", "/containers/json?all=true");
    let mine = |it: &&Value| it["Labels"]["colony.node"] == node;
    let ids = all.as_array().unwrap().iter().filter(mine);
    let state = |id: &str| engine.ask("GET", &format!("/containers/{id}/json"))["State"].clone();
    ids.map(|it| state(it["Id"].as_str().unwrap())["StartedAt"].clone()).collect()
}

fn keeps(all: &BTreeMap<String, String>, some: &BTreeMap<String, String>) -> bool {
    some.iter().all(|it| all.get(it.0) == Some(it.1))
}
