//! Views of the example in the README, for tests.

use serde_json::{Value, json};

use colony_api::view::{DeploymentView, StatusView};
use colony_core::time::Timestamp;

use super::RenderOptions;

pub(crate) const NOW: u64 = 1_800_000_000_000;

pub(crate) fn now() -> Timestamp {
    Timestamp(NOW)
}

pub(crate) fn look() -> RenderOptions {
    RenderOptions { wide: false, now: now(), width: None, colour: false }
}

pub(crate) fn wide() -> RenderOptions {
    RenderOptions { wide: true, ..look() }
}

/// So many seconds ago, in milliseconds since 1970.
pub(crate) fn ago(seconds: u64) -> u64 {
    NOW - seconds * 1000
}

pub(crate) fn commit(digits: &str) -> String {
    format!("{digits:0<40}")
}

/// Reads a view as a client does.
pub(crate) fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a view")
}

/// A deployment of `hello` at the given sites.
pub(crate) fn hello(outcome: &str, version: &str, sites: Value) -> DeploymentView {
    said(&format!("hello is {outcome}"), outcome, version, sites)
}

/// The same with a sentence.
fn said(sentence: &str, outcome: &str, version: &str, sites: Value) -> DeploymentView {
    read(json!({
        "name": "hello", "application": "hello", "version": version,
        "outcome": outcome, "sentence": sentence, "sites": sites,
    }))
}

pub(crate) fn site(name: &str, standing: &str, placements: Value) -> Value {
    let has = |it: &&Value| it["state"] == "INSTALLED" && it["version"] == "1.1";
    let installed = placements.as_array().into_iter().flatten().filter(has).count();
    json!({
        "site": name, "status": standing, "since": ago(60), "version": "1.1",
        "commit": commit("3f2a1c9"), "placements": placements, "installed": installed,
    })
}

pub(crate) fn placement(node: &str, state: &str, version: &str) -> Value {
    json!({
        "node": node, "state": state, "version": version, "since": ago(60),
        "presence": "online", "commit": commit("3f2a1c9"),
    })
}

/// The same value with other fields.
pub(crate) fn with(mut value: Value, fields: Value) -> Value {
    let (Some(value_fields), Value::Object(fields)) = (value.as_object_mut(), fields) else {
        panic!("objects")
    };
    value_fields.extend(fields);
    value
}

pub(crate) fn unhealthy() -> Value {
    json!({"code": "unhealthy", "message": "GET / 500, 3×", "tries": 1, "of": 1})
}

/// Three nodes have it, one is offline.
pub(crate) fn deferred() -> DeploymentView {
    let away = with(
        placement("b2", "INSTALLED", "1.0"),
        json!({"presence": "offline", "lastHeard": ago(3 * 3600),
               "deferred": {"reason": "offline 3 h", "since": ago(3 * 3600)}}),
    );
    let home =
        json!([placement("laptop", "INSTALLED", "1.1"), placement("shed", "INSTALLED", "1.1")]);
    let plant = json!([placement("b1", "INSTALLED", "1.1"), away]);
    let sites = json!([site("home", "INSTALLED", home), site("plant-b", "INSTALLED", plant)]);
    let sentence = "INSTALLED 3, deferred 1 (plant-b/b2 offline 3 h); catches up on return";
    said(sentence, "deferred", "1.1", sites)
}

/// `1.2-bad` was tried at home.
pub(crate) fn rolled_back() -> DeploymentView {
    let home = site("home", "ROLLED_BACK", json!([placement("laptop", "INSTALLED", "1.1")]));
    let fields = json!({
        "quarantine": [{
            "version": "1.2-bad", "workload": "sha256:ab", "since": ago(20), "node": "laptop",
            "reason": "laptop unhealthy (GET / 500, 3×)", "failure": unhealthy(),
        }],
        "rolledBack": {
            "from": "1.2-bad", "to": "1.1", "since": ago(10), "revert": commit("9c01de4"),
        },
    });
    let sentence = "ROLLED BACK to 1.1: home/laptop unhealthy (GET / 500, 3×); \
                    1.2-bad quarantined, revert commit 9c01de4";
    said(sentence, "rolled-back", "1.1", json!([with(home, fields)]))
}

pub(crate) fn failed() -> DeploymentView {
    let failure = json!({
        "code": "image-missing", "message": "hub/hello:9 does not exist", "tries": 3, "of": 3,
        "remedy": "publish the image or deploy a version that has one",
    });
    let laptop = with(placement("laptop", "FAILED(install)", "9"), json!({"failure": failure}));
    let sentence = "FAILED: home/laptop: image-missing (hub/hello:9 does not exist)";
    said(sentence, "failed", "9", json!([site("home", "FAILED(install)", json!([laptop]))]))
}

/// Deleted from three nodes, one is offline.
pub(crate) fn deleted() -> DeploymentView {
    let away = with(
        placement("b2", "DELETING", "1.0"),
        json!({"presence": "offline", "deferred": {"reason": "offline 3 h"}}),
    );
    let home = with(site("home", "GONE", json!([])), json!({"deleted": 2}));
    let plant = site("plant-b", "DELETING", json!([away]));
    let sentence = "deferred 1 (plant-b/b2 offline 3 h, to be removed there); \
                    catches up on return";
    said(sentence, "deferred", "1.0", json!([home, plant]))
}

pub(crate) fn status() -> StatusView {
    let nodes = json!({"total": 2, "online": 1, "cordoned": 0});
    read(json!({
        "role": "central", "version": "0.1.0", "url": "https://hub.local:7443", "ready": true,
        "commit": commit("3f2a1c9"), "at": NOW,
        "sites": [
            {"name": "home", "presence": "online", "lastHeard": ago(1), "ready": true,
             "commit": commit("3f2a1c9"), "nodes": nodes, "deployments": {"INSTALLED": 2}},
            {"name": "plant-b", "presence": "offline", "lastHeard": ago(600), "ready": true,
             "nodes": nodes, "deployments": {"FAILED(update)": 1},
             "holds": [{"what": "hold", "by": "ann", "note": "audit", "since": ago(7200)}]},
            {"name": "plant-c", "presence": "expected", "ready": false,
             "nodes": {"total": 0, "online": 0, "cordoned": 0}},
        ],
        "deployments": [
            {"name": "hello", "application": "hello", "version": "1.1", "outcome": "rolled-back",
             "sentence": "1.2-bad was left at home", "sites": 2, "installed": 3, "placements": 4},
        ],
        "attention": [
            {"subject": "hello@home", "sentence": "1.2-bad is quarantined",
             "act": "colony quarantine release hello --site home"},
        ],
    }))
}

/// The site `home`, with one node that has the version.
pub(crate) fn installed(version: &str) -> Value {
    site("home", "INSTALLED", json!([placement("laptop", "INSTALLED", version)]))
}
