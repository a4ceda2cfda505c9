//! What people read: the story's own words are the floor.

use insta::assert_snapshot;
use serde_json::{Value, json};

use colony_api::view::{DeploymentView, Outcome};

use super::end::{Goal, end, exit_code};
use super::sample::{self, ago, commit, hello, look, placement, read, site, with};
use super::{application, deployment, event, node, plan, site as sites, status, talk};

#[test]
fn a_placement_is_a_line() {
    let view = hello("installed", "1.0", json!([installed("1.0")]));
    assert_snapshot!(lines(&view), @"");
}

#[test]
fn a_line_says_what_a_placement_waits_for() {
    let pulling = with(
        placement("laptop", "INSTALLING", "1.1"),
        json!({"progress": "pulling 34 of 120 MB"}),
    );
    let mut failure = sample::unhealthy();
    failure["of"] = json!(3);
    failure["retryAt"] = json!(sample::NOW + 20_000);
    let failing = with(placement("shed", "FAILED(install)", "1.1"), json!({"failure": failure}));
    let stale = with(
        placement("attic", "INSTALLED", "1.0"),
        json!({"presence": "offline", "lastHeard": ago(10_800)}),
    );
    let waiting = with(
        site("plant-b", "PENDING", json!([])),
        json!({"why": ["the site has not taken the commit yet"], "silentSince": ago(300)}),
    );
    let home = site("home", "FAILED(install)", json!([pulling, failing, stale]));
    let view = hello("in-progress", "1.1", json!([home, waiting]));
    assert_snapshot!(lines(&view), @"");
}

#[test]
fn one_node_needs_no_sentence() {
    check_end(&hello("installed", "1.0", json!([installed("1.0")])), Goal::Present, "0: ");
}

#[test]
fn a_rollback_names_cause_quarantine_and_revert() {
    let view = sample::rolled_back();
    assert_snapshot!(told(&view, Goal::Present), @"");
    assert_eq!(exit_code(view.outcome, Goal::Present), 3);
    assert_eq!(exit_code(view.outcome, Goal::Back), 0);
}

#[test]
fn a_first_install_goes_back_to_nothing() {
    let mut home = with(
        site("home", "ROLLED_BACK", json!([])),
        json!({"rolledBack": {"from": "1.0", "since": ago(3)}}),
    );
    home["quarantine"] = json!([{"version": "1.0", "workload": "sha256:ab", "since": ago(3),
        "reason": "it exited with 1"}]);
    let view = hello("rolled-back", "1.0", json!([home]));
    assert_snapshot!(told(&view, Goal::Present), @"");
}

#[test]
fn a_failure_says_what_to_do() {
    assert_snapshot!(told(&sample::failed(), Goal::Present), @"");
}

#[test]
fn a_conflict_shows_the_difference() {
    let home = with(
        site("home", "CONFLICT", json!([])),
        json!({"conflict": {"diff": "-a: 1\n+a: 2", "since": ago(3)}}),
    );
    assert_snapshot!(told(&hello("failed", "1.1", json!([home])), Goal::Present), @"");
}

#[test]
fn who_is_away_is_counted_and_named() {
    let expected = "4: INSTALLED 3, deferred 1 (plant-b/b2 offline 3 h); catches up on return";
    check_end(&sample::deferred(), Goal::Present, expected);
    let expected = "4: DELETED 3, deferred 1 (plant-b/b2 offline 3 h); catches up on return";
    check_end(&sample::deleted(), Goal::Absent, expected);
}

#[test]
fn a_deployment_that_vanishes_is_no_success_unless_asked_for() {
    assert_eq!(exit_code(Outcome::Deleted, Goal::Absent), 0);
    assert_eq!(exit_code(Outcome::Deleted, Goal::Present), 1);
    assert_eq!(exit_code(Outcome::Installed, Goal::Absent), 1);
    assert_eq!(exit_code(Outcome::Failed, Goal::Back), 1);
}

#[test]
fn a_deployment_is_shown_with_all_its_nodes() {
    assert_snapshot!(deployment::show(&sample::deferred(), &look()), @"");
    assert_snapshot!(deployment::show(&sample::rolled_back(), &look()), @"");
}

#[test]
fn deployments_are_listed() {
    let views = [sample::deferred(), sample::rolled_back()];
    assert_snapshot!(deployment::list(&views, &look()), @"");
    assert_snapshot!(deployment::list(&views, &sample::wide()), @"");
    assert_snapshot!(deployment::quarantine(&views, &look()), @"");
}

#[test]
fn a_history_is_read_from_the_top() {
    let entry = |digits: &str, version: Value, subject: &str| {
        json!({"commit": commit(digits), "at": ago(90), "site": "home", "author": "ann",
               "subject": subject, "version": version})
    };
    let entries = [
        entry("9c01de4", json!("1.1"), "Roll hello back to 1.1"),
        entry("3f2a1c9", Value::Null, "Delete hello"),
    ];
    let view = read(json!({"name": "hello", "entries": entries}));
    assert_snapshot!(deployment::history(&view, &look()), @"");
}

#[test]
fn the_fleet_is_seen_at_a_glance() {
    assert_snapshot!(status::show(&sample::status(), &look()), @"");
}

#[test]
fn an_empty_fleet_says_how_to_begin() {
    let view = read(json!({"role": "central", "version": "0.1.0", "url": "https://hub:7443",
        "ready": false, "reasons": ["Git cannot be reached"], "at": 0, "sites": [], "deployments": []}));
    assert_snapshot!(status::show(&view, &look()), @"");
}

#[test]
fn a_site_is_shown_with_what_waits_there() {
    let view = read(json!({"name": "plant-b", "presence": "online", "ready": false,
        "reasons": ["the database is locked"], "version": "0.1.0", "incarnation": 1,
        "commit": commit("3f2a1c9"), "urls": ["https://plant-b:7444"], "ca": "sha256:ab",
        "labels": {"country": "de"}, "nodes": {"total": 2, "online": 2, "cordoned": 0},
        "deployments": {"INSTALLED": 2, "PENDING": 1}, "commandsOpen": 1,
        "holds": [{"what": "removal", "by": "colony", "since": ago(600), "commit": commit("9c01de4")}],
        "findings": [{"file": "deployments/plant-b/hello.yaml", "line": 3, "column": 5,
            "path": "spec", "severity": "error", "problem": "is missing", "expected": "a mapping"}]}));
    assert_snapshot!(sites::show(&view, &look()), @"");
}

#[test]
fn nodes_are_listed_with_how_long_they_are_away() {
    let node = |name: &str, fields: Value| {
        with(json!({"site": "home", "name": name, "since": ago(60)}), fields)
    };
    let views: Vec<_> = [
        node("laptop", json!({"presence": "online", "engine": "podman 4.3.1", "placements": [
            {"deployment": "hello", "state": "INSTALLED", "version": "1.1", "since": ago(60)}]})),
        node("shed", json!({"presence": "offline", "lastHeard": ago(10_800), "cordoned": true})),
        node("attic", json!({"presence": "online", "ready": false,
            "reasons": ["no container engine"], "labels": {"line": "3"}})),
        node("cellar", json!({"presence": "joined"})),
    ]
    .map(read)
    .into();
    assert_snapshot!(node::list(&views, &look()), @"");
    assert_snapshot!(node::list(&views, &sample::wide()), @"");
    assert_snapshot!(node::show(&views[0], &look()), @"");
}

#[test]
fn a_plan_is_counted_and_shown() {
    let plan = read(json!({
        "hash": "sha256:0123", "name": "hello", "application": "hello", "version": "1.1",
        "profile": "compose",
        "targets": [
            {"site": "home", "node": "laptop", "action": "update", "fromVersion": "1.0", "toVersion": "1.1"},
            {"site": "plant-b", "node": "b1", "action": "create", "toVersion": "1.1"},
            {"site": "plant-b", "node": "b2", "action": "deferred", "toVersion": "1.1", "reason": "offline 3 h"},
            {"site": "plant-c", "action": "refused", "reason": "no node has a container engine"},
        ],
        "parameters": [{"name": "greeting", "from": "Hello", "to": "Hi"}],
        "files": [{"path": "deployments/home/hello.yaml", "diff": "-  version: 1.0\n+  version: 1.1\n"}],
    }));
    assert_eq!(plan::summary(&plan), "create 1, update 1, deferred 1, refused 1");
    assert_snapshot!(plan::remarks(&plan), @"");
    assert_snapshot!(plan::show(&plan, &look()), @"");
}

#[test]
fn an_invitation_is_one_command() {
    let view = |seconds| {
        read(json!({"kind": "node", "site": "home", "token": "col1_x", "expires": 0,
            "command": "colony node --join col1_x", "lifetimeSeconds": seconds}))
    };
    let expected = "run there: colony node --join col1_x          (1 h, once)";
    assert_eq!(talk::invite(&view(3600), &look()), expected);
    let expected = "run there: colony node --join col1_x          (7 d, once)";
    assert_eq!(talk::invite(&view(604_800), &look()), expected);
}

#[test]
fn why_is_a_sentence_and_then_who_acts() {
    let view = read(json!({
        "subject": "hello@plant-b",
        "summary": "INSTALLED 1.1; node b2 deferred: offline 3 h; catches up on return",
        "reasons": [{"site": "plant-b", "nodes": ["b2"], "sentence": "b2 is offline",
            "owner": "device owner", "act": "switch it on", "since": ago(10_800),
            "next": "it is updated to 1.1 when it returns"}],
    }));
    assert_snapshot!(talk::why(&view, &look()), @"");
}

#[test]
fn events_and_logs_are_lines() {
    let view = read(json!({"id": "e-7", "position": 7, "at": ago(0), "kind": "state_transition",
        "site": "home", "node": "laptop", "deployment": "hello", "actor": "node:laptop",
        "sentence": "INSTALLING → INSTALLED", "body": {}}));
    assert_snapshot!(event::line(&view, &look()), @"");
    assert_snapshot!(event::line(&view, &sample::wide()), @"");
    let lines = |services: [&str; 2]| {
        let lines: Vec<_> = services.map(|it| read(json!({"service": it, "text": "up"}))).into();
        event::log_lines(&lines)
    };
    assert_eq!(lines(["web", "web"]), "up\nup\n");
    assert_eq!(lines(["web", "db"]), "web | up\ndb | up\n");
}

#[test]
fn an_application_shows_what_can_be_set() {
    let view = read(json!({
        "id": "hello", "name": "Hello", "version": "1.1", "registry": "builtin", "path": "hello/1.1",
        "digest": "sha256:ab", "versions": ["1.1", "1.0"],
        "profiles": [{"id": "compose", "type": "compose", "components": ["web"]}],
        "parameters": [
            {"name": "greeting", "default": "Hello", "allowed": "string up to 80 characters"},
            {"name": "port", "default": 8080, "allowed": "integer 1 to 65535", "immutable": true},
        ],
    }));
    assert_snapshot!(application::show(&view, &look()), @"");
}

fn installed(version: &str) -> Value {
    site("home", "INSTALLED", json!([placement("laptop", "INSTALLED", version)]))
}

fn lines(view: &DeploymentView) -> String {
    deployment::lines(view, &look()).into_iter().map(|it| it.1 + "\n").collect()
}

fn told(view: &DeploymentView, goal: Goal) -> String {
    let end = end(view, goal, &look());
    end.says.into_iter().chain(end.hints).map(|it| it + "\n").collect()
}

#[track_caller]
fn check_end(view: &DeploymentView, goal: Goal, expected: &str) {
    let code = exit_code(view.outcome, goal);
    assert_eq!(format!("{code}: {}", end(view, goal, &look()).says.join("\n")), expected);
}
