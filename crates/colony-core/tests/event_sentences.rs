//! Events as people read them, at the site and at the central orchestrator.

use colony_core::attempt::Revision;
use colony_core::event::{Event, Names};
use colony_core::id::DeploymentId;
use serde_json::{Value, json};

const ID: &str = "0b9e2a6e-4f0c-4b1b-9d5a-0d4f6c1d2e3f";
const DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
const COMMIT: &str = "abcdef0123456789abcdef0123456789abcdef01";
const OLD: &str = "1111111111111111111111111111111111111111";
const NEW: &str = "2222222222222222222222222222222222222222";

#[test]
fn states_are_told_with_where_they_come_from() {
    let moved = |from: Value, to: &str| {
        json!({"kind": "state_transition", "deployment": ID, "node": "press", "attempt": 2, "from": from,
            "to": to, "trigger": "errored", "target": revision(NEW), "lastGood": revision(OLD)})
    };
    check(moved(json!(null), "PENDING"), "hello 2.0.0 on plant/press: PENDING");
    check(
        moved(json!("UPDATING"), "INSTALLED"),
        "hello 2.0.0 on plant/press: UPDATING → INSTALLED",
    );
    let mut failed = moved(json!("UPDATING"), "FAILED(update)");
    failed["failure"] = json!({"code": "exited", "message": "exit code 3\nand more"});
    let told = "hello 2.0.0 on plant/press: UPDATING → FAILED(update): exited (exit code 3)";
    check(failed.clone(), told);
    failed["failure"] = json!({"code": "exited"});
    check(failed, "hello 2.0.0 on plant/press: UPDATING → FAILED(update): a container ended");
    let mut deleted = moved(json!("DELETING"), "DELETED");
    deleted["removal"] =
        json!({"deleted": true, "exit_code": 0, "unconfirmed": false, "purged": true});
    check(deleted, "hello 2.0.0 on plant/press: DELETING → DELETED, with its volumes");
    check(
        json!({"kind": "stale_report", "deployment": ID, "node": "press", "adopted": 7, "state": "installed"}),
        "plant/press reported installed of an older attempt of hello",
    );
}

#[test]
fn what_runs_beside_a_stage_is_told_with_its_version() {
    let mut body = json!({"kind": "running_health", "deployment": ID, "node": "press",
        "revision": revision(OLD), "failure": {"code": "unhealthy"}});
    let told = "hello 1.0.0, which plant/press runs meanwhile, is unhealthy: the health check does not pass";
    check(body.clone(), told);
    body["failure"] = Value::Null;
    check(body, "hello 1.0.0, which plant/press runs meanwhile, is healthy again");
}

#[test]
fn verdicts_name_the_version_and_the_failure() {
    let body = |kind: &str, more: Value| with(json!({"kind": kind, "deployment": ID}), more);
    let failure = json!({"code": "exited", "message": "exit code 3"});
    check(
        body("deployment_accepted", json!({"name": "hello", "revision": revision(NEW)})),
        "site plant took hello 2.0.0 from Git",
    );
    check(
        body("deployment_withdrawn", json!({"name": "hello"})),
        "hello is gone from Git at plant",
    );
    check(
        body("deployment_withdrawn", json!({"name": "hello", "purge": true})),
        "hello is gone from Git at plant; its volumes are removed as well",
    );
    check(
        body("deployment_converged", json!({"revision": revision(NEW)})),
        "hello 2.0.0 is installed on every reachable node of plant",
    );
    check(
        body("quarantined", json!({"bad": revision(NEW), "failure": failure})),
        "site plant quarantined hello 2.0.0: exited (exit code 3)",
    );
    check(
        body("quarantine_released", json!({"workload": DIGEST})),
        "a quarantined revision of hello may run at plant again",
    );
    check(
        body("rolled_back", json!({"bad": revision(NEW), "good": revision(OLD)})),
        "site plant rolled back from hello 2.0.0 to 1.0.0",
    );
    check(
        body("rolled_back", json!({"bad": revision(NEW)})),
        "site plant rolled back from hello 2.0.0; nothing ran before",
    );
    check(
        body(
            "rollout_stopped",
            json!({"revision": revision(NEW), "node": "press", "failure": failure}),
        ),
        "the rollout of hello 2.0.0 stopped at plant/press: exited (exit code 3)",
    );
    check(
        body("revision_rejected", json!({"node": "press", "workload": DIGEST, "failure": failure})),
        "plant/press rolled back from hello: exited (exit code 3)",
    );
}

#[test]
fn steps_and_orders_name_who_gave_them() {
    let step = |standing: Value| {
        json!({"kind": "rollout_step", "deployment": ID, "workload": DIGEST, "step": 1, "of": 3,
            "standing": standing})
    };
    check(step(json!({"name": "open"})), "step 1 of 3 of hello is open at plant");
    check(step(json!({"name": "soaking", "until": 5})), "step 1 of 3 of hello soaks at plant");
    check(
        step(json!({"name": "awaits-promotion"})),
        "step 1 of 3 of hello waits to be promoted at plant",
    );
    let paused = |note: &str| json!({"kind": "rollout_paused", "deployment": ID, "note": note});
    check(paused(""), "ana paused the rollout of hello at plant");
    check(paused("a look first"), "ana paused the rollout of hello at plant: a look first");
    for kind in ["rollout_unpaused", "rollout_resumed"] {
        check(json!({"kind": kind, "deployment": ID}), "the rollout of hello goes on at plant");
    }
    check(
        json!({"kind": "rollout_released", "deployment": ID}),
        "hello may be tried again at plant",
    );
    check(json!({"kind": "held", "scope": "site", "note": "audit"}), "ana holds site plant: audit");
    let own = json!({"deployment": ID});
    check(json!({"kind": "held", "scope": own, "note": ""}), "ana holds hello at plant");
    check(
        json!({"kind": "hold_released", "scope": own}),
        "ana released the hold of hello at plant",
    );
    let done = |refusal: Value| json!({"kind": "command_done", "number": 4, "command": "hold of plant", "refusal": refusal});
    check(done(Value::Null), "site plant carried out: hold of plant");
    check(done(json!("it is held")), "site plant refused hold of plant: it is held");
}

#[test]
fn git_is_told_with_its_commits_and_files() {
    check(json!({"kind": "ready"}), "site plant has read Git and serves its nodes");
    let path = "deployments/plant/hello.yaml";
    let finding = json!({"severity": "error", "file": path, "line": 3, "column": 5, "path": "spec",
        "problem": "is missing", "expected": ""});
    let refused =
        |findings: Value| json!({"kind": "file_refused", "path": path, "findings": findings});
    check(refused(json!([])), "site plant rejects deployments/plant/hello.yaml");
    let told = "site plant rejects deployments/plant/hello.yaml:3:5: spec: is missing";
    check(refused(json!([finding])), told);
    check(refused(json!([finding, finding, finding])), &format!("{told} (and 2 more)"));
    check(
        json!({"kind": "file_accepted", "path": path}),
        "deployments/plant/hello.yaml is usable again at plant, or gone",
    );
    check(
        json!({"kind": "removal_held", "commit": COMMIT, "deployments": [ID, ID]}),
        "site plant holds commit abcdef0, which removes 2 deployments at once",
    );
    check(json!({"kind": "removal_released"}), "the removals at plant may happen");
    check(
        json!({"kind": "history_held", "commit": COMMIT}),
        "site plant holds the rewritten history at abcdef0",
    );
    check(
        json!({"kind": "history_accepted", "commit": COMMIT}),
        "site plant takes the rewritten history at abcdef0",
    );
}

#[test]
fn nodes_are_told_with_their_site() {
    let node = |kind: &str, more: Value| with(json!({"kind": kind, "node": "press"}), more);
    check(node("node_joined", json!({})), "node plant/press joined");
    for (presence, told) in [
        ("joined", "has joined"),
        ("online", "is online"),
        ("suspect", "is late"),
        ("offline", "is offline"),
    ] {
        let body = node("node_presence", json!({"presence": presence}));
        check(body, &format!("node plant/press {told}"));
    }
    check(node("node_cordoned", json!({"cordoned": true})), "node plant/press gets nothing new");
    check(
        node("node_cordoned", json!({"cordoned": false})),
        "node plant/press gets deployments again",
    );
    check(node("node_retired", json!({})), "node plant/press is gone for good");
    check(
        node("version_raised", json!({"version": 9})),
        "node plant/press had seen later manifests; its version goes on at 9",
    );
}

#[test]
fn what_is_not_known_is_told_by_its_id_without_a_version() {
    let accepted = json!({"kind": "deployment_accepted", "deployment": ID, "name": "hello",
        "revision": revision(NEW)});
    assert_eq!(event(accepted).sentence(&Unknown), format!("site plant took {ID} from Git"));
    let back = json!({"kind": "rolled_back", "deployment": ID, "bad": revision(NEW),
        "good": revision(OLD)});
    assert_eq!(event(back).sentence(&Unknown), format!("site plant rolled back from {ID}"));
}

fn with(mut body: Value, more: Value) -> Value {
    let more = more.as_object().cloned().unwrap_or_default();
    body.as_object_mut().expect("a map").extend(more);
    body
}

fn revision(blob: &str) -> Value {
    json!({"blob": blob, "workload": DIGEST})
}

/// Two versions of one deployment are known.
struct KnownVersions;

impl Names for KnownVersions {
    fn deployment(&self, _: &DeploymentId) -> String {
        "hello".to_owned()
    }

    fn version(&self, _: &DeploymentId, revision: &Revision) -> Option<String> {
        let version = if revision.blob.as_str() == OLD { "1.0.0" } else { "2.0.0" };
        Some(version.to_owned())
    }
}

/// Nothing but the id is known.
struct Unknown;

impl Names for Unknown {
    fn deployment(&self, id: &DeploymentId) -> String {
        id.to_string()
    }

    fn version(&self, _: &DeploymentId, _: &Revision) -> Option<String> {
        None
    }
}

#[track_caller]
fn check(body: Value, expected: &str) {
    assert_eq!(event(body).sentence(&KnownVersions), expected);
}

fn event(body: Value) -> Event {
    let event = json!({"site": "plant", "incarnation": 0, "seq": 1, "at": 5, "actor": "operator:ana",
        "prev": DIGEST, "body": body});
    serde_json::from_value(event).expect("an event")
}
