//! Snapshots of the output; the README's example is the minimum.

use insta::assert_snapshot;
use serde_json::{Value, json};

use colony_api::view::DeploymentView;

use super::sample::{self, ago, commit, hello, installed, look, placement, read, site, with};
use crate::output::view::{
    application, deployment, event, node, plan, site as sites, status, talk,
};

#[test]
fn a_placement_is_a_line() {
    let view = hello("installed", "1.0", json!([installed("1.0")]));
    assert_snapshot!(lines(&view), @"hello  home/laptop  INSTALLED 1.0  commit 3f2a1c9");
}

#[test]
fn a_line_says_what_a_placement_waits_for() {
    let pulling =
        with(placement("laptop", "INSTALLING", "1.1"), json!({"progress": "pulling 34 of 120 MB"}));
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
        json!({"why": [{"site": "plant-b", "cause": "not-fetched", "owner": "colony",
            "sentence": "the site has not applied the commit yet"}], "silentSince": ago(300)}),
    );
    let home = site("home", "FAILED(install)", json!([pulling, failing, stale]));
    let view = hello("in-progress", "1.1", json!([home, waiting]));
    assert_snapshot!(lines(&view), @r"
    hello  home/laptop  INSTALLING 1.1  commit 3f2a1c9  pulling 34 of 120 MB
    hello  home/shed  FAILED(install) 1.1  commit 3f2a1c9  unhealthy (GET / 500, 3×), try 1 of 3, again in 20 s
    hello  home/attic  INSTALLED 1.0  commit 3f2a1c9  stale: last contact 3 h ago
    hello  plant-b  PENDING 1.1  commit 3f2a1c9  no contact with the site for 5 min  the site has not applied the commit yet
    ");
}

#[test]
fn status_is_spelled_with_a_space() {
    let view = hello("rolled-back", "1.0", json!([site("home", "ROLLED_BACK", json!([]))]));
    assert_snapshot!(lines(&view), @"hello  home  ROLLED BACK 1.1  commit 3f2a1c9");
    assert_snapshot!(deployment::show(&view, &look()), @r"
    hello: hello 1.0, ROLLED BACK
    hello is rolled-back

    TARGET  STATE        VERSION  COMMIT   SINCE     SAYS
    home    ROLLED BACK  1.1      3f2a1c9  60 s ago  -
    ");
    assert_snapshot!(deployment::list(&[view], &look()), @r"
    NAME   VERSION  OUTCOME      NODES  SAYS
    hello  1.0      ROLLED BACK  -      hello is rolled-back
    ");
}

#[test]
fn a_deployment_is_shown_with_all_its_nodes() {
    assert_snapshot!(deployment::show(&sample::deferred(), &look()), @r"
    hello: hello 1.1, DEFERRED
    INSTALLED 3, deferred 1 (plant-b/b2 offline 3 h); catches up on return

    TARGET       STATE      VERSION  COMMIT   SINCE     SAYS
    home/laptop  INSTALLED  1.1      3f2a1c9  60 s ago  -
    home/shed    INSTALLED  1.1      3f2a1c9  60 s ago  -
    plant-b/b1   INSTALLED  1.1      3f2a1c9  60 s ago  -
    plant-b/b2   INSTALLED  1.0      3f2a1c9  60 s ago  deferred: offline 3 h; catches up on return
    ");
    assert_snapshot!(deployment::show(&sample::rolled_back(), &look()), @r"
    hello: hello 1.1, ROLLED BACK
    ROLLED BACK to 1.1: home/laptop unhealthy (GET / 500, 3×); 1.2-bad quarantined, revert commit 9c01de4

    TARGET       STATE      VERSION  COMMIT   SINCE     SAYS
    home/laptop  INSTALLED  1.1      3f2a1c9  60 s ago  -
    home: 1.2-bad quarantined 20 s ago: laptop unhealthy (GET / 500, 3×)
    ");
}

#[test]
fn deployments_are_listed() {
    let views = [sample::deferred(), sample::rolled_back()];
    assert_snapshot!(deployment::list(&views, &look()), @r"
    NAME   VERSION  OUTCOME      NODES  SAYS
    hello  1.1      DEFERRED     3/4    INSTALLED 3, deferred 1 (plant-b/b2 offline 3 h); catches up on return
    hello  1.1      ROLLED BACK  1/1    ROLLED BACK to 1.1: home/laptop unhealthy (GET / 500, 3×); 1.2-bad quarantined, revert commit 9c01de4
    ");
    assert_snapshot!(deployment::list(&views, &sample::wide()), @r"
    NAME   APPLICATION  VERSION  OUTCOME      NODES  SAYS
    hello  hello        1.1      DEFERRED     3/4    INSTALLED 3, deferred 1 (plant-b/b2 offline 3 h); catches up on return
    hello  hello        1.1      ROLLED BACK  1/1    ROLLED BACK to 1.1: home/laptop unhealthy (GET / 500, 3×); 1.2-bad quarantined, revert commit 9c01de4
    ");
    assert_snapshot!(deployment::quarantine(&views, &look()), @r"
    DEPLOYMENT  REFUSED BY  VERSION  SINCE     WHY
    hello       home        1.2-bad  20 s ago  laptop unhealthy (GET / 500, 3×)
    ");
}

#[test]
fn revision_that_a_single_node_refuses_is_listed_with_the_node() {
    let rejected = json!([{"version": "1.2-bad", "workload": "sha256:ab", "since": ago(20),
        "node": "shed", "reason": "shed exited (1)"}]);
    let home = with(site("home", "ROLLED_BACK", json!([])), json!({"rejected": rejected}));
    let views = [hello("rolled-back", "1.2-bad", json!([home]))];
    assert!(deployment::refuses(&views[0]) && !deployment::refuses(&sample::deferred()));
    assert_snapshot!(deployment::quarantine(&views, &look()), @r"
    DEPLOYMENT  REFUSED BY  VERSION  SINCE     WHY
    hello       home/shed   1.2-bad  20 s ago  shed exited (1)
    ");
}

#[test]
fn a_history_is_read_from_the_top() {
    let entry = |digits: &str, version: Value, subject: &str, changes: Value| {
        json!({"commit": commit(digits), "at": ago(90), "site": "home", "author": "ann",
               "subject": subject, "version": version, "changes": changes})
    };
    let mut entries = [
        entry("9c01de4", json!("1.1"), "Roll hello back to 1.1", json!(["version 1.2 → 1.1"])),
        entry("5d5cd02", Value::Null, "typo", json!([])),
        entry("3f2a1c9", Value::Null, "Delete hello", json!([])),
    ];
    entries[2]["removed"] = json!(true);
    let view = read(json!({"name": "hello", "entries": entries}));
    assert_snapshot!(deployment::history(&view, &look()), @r"
    WHEN                  COMMIT   SITE  VERSION     WHO  WHAT                    CHANGES
    2027-01-15 07:58:30Z  9c01de4  home  1.1         ann  Roll hello back to 1.1  version 1.2 → 1.1
    2027-01-15 07:58:30Z  5d5cd02  home  unreadable  ann  typo                    -
    2027-01-15 07:58:30Z  3f2a1c9  home  removed     ann  Delete hello            -
    ");
}

#[test]
fn the_fleet_is_seen_at_a_glance() {
    assert_snapshot!(status::show(&sample::status(), &look()), @r"
    central https://hub.local:7443 · ready · commit 3f2a1c9 · colony 0.1.0

    SITE     PRESENCE        NODES  DEPLOYMENTS       COMMIT   SAYS
    home     online          1/2    INSTALLED 2       3f2a1c9  -
    plant-b  offline 10 min  1/2    FAILED(update) 1  -        held by ann for 2 h: audit
    plant-c  not joined      -      -                 -        -

    DEPLOYMENT  VERSION  OUTCOME      NODES  SITES  SAYS
    hello       1.1      ROLLED BACK  3/4    2      1.2-bad was left at home

    NEEDS ATTENTION
    hello@home: 1.2-bad is quarantined
      colony quarantine release hello --site home
    ");
}

#[test]
fn a_wide_table_shows_more() {
    assert_snapshot!(status::show(&sample::status(), &sample::wide()), @r"
    central https://hub.local:7443 · ready · commit 3f2a1c9 · colony 0.1.0

    SITE     PRESENCE        HEARD       NODES  DEPLOYMENTS       COMMIT   SAYS                        COLONY  LABELS
    home     online          1 s ago     1/2    INSTALLED 2       3f2a1c9  -                           -       -
    plant-b  offline 10 min  10 min ago  1/2    FAILED(update) 1  -        held by ann for 2 h: audit  -       -
    plant-c  not joined      -           -      -                 -        -                           -       -

    DEPLOYMENT  APPLICATION  VERSION  OUTCOME      NODES  SITES  SAYS
    hello       hello        1.1      ROLLED BACK  3/4    2      1.2-bad was left at home

    NEEDS ATTENTION
    hello@home: 1.2-bad is quarantined
      colony quarantine release hello --site home
    ");
    assert_snapshot!(deployment::show(&sample::deferred(), &sample::wide()), @r"
    hello: hello 1.1, DEFERRED
    INSTALLED 3, deferred 1 (plant-b/b2 offline 3 h); catches up on return

    TARGET       STATE      VERSION  COMMIT   SINCE     SAYS                                         NODE     ATTEMPT  BEFORE
    home/laptop  INSTALLED  1.1      3f2a1c9  60 s ago  -                                            online   0        -
    home/shed    INSTALLED  1.1      3f2a1c9  60 s ago  -                                            online   0        -
    plant-b/b1   INSTALLED  1.1      3f2a1c9  60 s ago  -                                            online   0        -
    plant-b/b2   INSTALLED  1.0      3f2a1c9  60 s ago  deferred: offline 3 h; catches up on return  offline  0        -
    ");
}

#[test]
fn a_deferral_without_a_reason_needs_no_colon() {
    let away = with(placement("b2", "INSTALLED", "1.0"), json!({"deferred": {"reason": ""}}));
    let view = hello("deferred", "1.1", json!([site("plant-b", "INSTALLED", json!([away]))]));
    assert_snapshot!(lines(&view), @"hello  plant-b/b2  INSTALLED 1.0  commit 3f2a1c9  deferred; catches up on return");
}

#[test]
fn a_plan_names_an_application_of_the_same_name_once() {
    let plan = |application: &str| {
        let view =
            json!({"hash": "sha256:0", "name": "hello", "application": application, "targets": []});
        plan::show(&read(view), &look()).lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(plan("hello"), "hello: no node changes");
    assert_eq!(plan("camera"), "hello (camera): no node changes");
}

#[test]
fn an_empty_fleet_says_how_to_begin() {
    let view = read(json!({"role": "central", "version": "0.1.0", "url": "https://hub:7443",
        "ready": false, "reasons": ["Git cannot be reached"], "at": 0, "sites": [], "deployments": []}));
    assert_snapshot!(status::show(&view, &look()), @r"
    central https://hub:7443 · NOT READY: Git cannot be reached · colony 0.1.0

    no sites yet; add one: colony site add NAME

    nothing is deployed yet; try: colony deploy hello --watch
    ");
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
    assert_snapshot!(sites::show(&view, &look()), @r"
    plant-b: online
    orchestrator: 0.1.0
    incarnation: 1
    commit: 3f2a1c9
    nodes join at: https://plant-b:7444
    CA: sha256:ab
    deployments: INSTALLED 2, PENDING 1
    label: country=de
    not ready: the database is locked
    removals of commit 9c01de4 wait for a release for 10 min
    1 finding in its files
    1 order not acknowledged
    deployments/plant-b/hello.yaml:3:5: spec: is missing; expected a mapping
    ");
}

#[test]
fn nodes_are_listed_with_how_long_they_are_away() {
    let node = |name: &str, fields: Value| {
        with(json!({"site": "home", "name": name, "since": ago(60)}), fields)
    };
    let views: Vec<_> = [
        node(
            "laptop",
            json!({"presence": "online", "engine": "podman 4.3.1", "placements": [
            {"deployment": "hello", "state": "INSTALLED", "version": "1.1", "since": ago(60)}]}),
        ),
        node("shed", json!({"presence": "offline", "lastHeard": ago(10_800), "cordoned": true})),
        node(
            "attic",
            json!({"presence": "online", "ready": false,
            "reasons": ["no container engine"], "labels": {"line": "3"}}),
        ),
        node("cellar", json!({"presence": "joined"})),
    ]
    .map(read)
    .into();
    assert_snapshot!(node::list(&views, &look()), @r"
    NODE         PRESENCE         ENGINE        DEPLOYMENTS  SAYS
    home/laptop  online           podman 4.3.1  1            -
    home/shed    offline 3 h      -             0            cordoned
    home/attic   online           -             0            not ready: no container engine
    home/cellar  never connected  -             0            -
    ");
    assert_snapshot!(node::list(&views, &sample::wide()), @r"
    NODE         PRESENCE         ENGINE        DEPLOYMENTS  SAYS                            LABELS
    home/laptop  online           podman 4.3.1  1            -                               -
    home/shed    offline 3 h      -             0            cordoned                        -
    home/attic   online           -             0            not ready: no container engine  line=3
    home/cellar  never connected  -             0            -                               -
    ");
    assert_snapshot!(node::show(&views[0], &look()), @r"
    home/laptop: online
    engine: podman 4.3.1

    DEPLOYMENT  STATE      VERSION  SINCE
    hello       INSTALLED  1.1      60 s ago
    ");
}

#[test]
fn a_plan_is_counted_and_shown() {
    let plan = read(json!({
        "hash": "sha256:0123", "name": "hello", "application": "hello", "version": "1.1",
        "profile": "compose",
        "targets": [
            {"site": "home", "node": "laptop", "action": "update", "fromVersion": "1.0", "toVersion": "1.1"},
            {"site": "plant-b", "node": "b1", "action": "create", "toVersion": "1.1"},
            {"site": "plant-b", "node": "b2", "action": "deferred", "later": "update",
                "toVersion": "1.1", "reason": "offline 3 h"},
            {"site": "plant-b", "node": "b3", "action": "deferred", "later": "update",
                "toVersion": "1.1", "reason": "offline 3 h"},
            {"site": "plant-b", "node": "b4", "action": "remove", "fromVersion": "1.0"},
            {"site": "plant-c", "action": "refused", "reason": "no node has a container engine"},
        ],
        "parameters": [
            {"site": "home", "name": "greeting", "from": "Hello", "to": "Hi"},
            {"site": "plant-b", "name": "greeting", "from": "Hello", "to": "Hi"},
            {"site": "plant-b", "name": "port", "to": 80},
        ],
        "settings": [{"site": "plant-b", "name": "replicas", "from": 4, "to": 3}],
        "steps": [{"site": "home", "step": 1, "nodes": ["laptop"], "text": "all nodes"}],
        "pulls": [{"package": "oci://r.test/hello:1.1", "targets": ["home/laptop", "plant-b/b1"]}],
        "files": [{"path": "deployments/home/hello.yaml", "diff": "-  version: 1.0\n+  version: 1.1\n"}],
    }));
    assert_eq!(plan::summary(&plan), "create 1, update 1, remove 1, deferred 2, refused 1");
    assert_snapshot!(plan::remarks(&plan), @r"
    deferred update plant-b/b2, plant-b/b3: offline 3 h
    remove plant-b/b4
    refused plant-c: no node has a container engine
    ");
    assert_snapshot!(plan::show(&plan, &look()), @r#"
    hello 1.1, profile compose: create 1, update 1, remove 1, deferred 2, refused 1

    TARGET       ACTION           VERSION        WHY
    home/laptop  update           1.0 → 1.1      -
    plant-b/b1   create           1.1            -
    plant-b/b2   deferred update  1.1            offline 3 h
    plant-b/b3   deferred update  1.1            offline 3 h
    plant-b/b4   remove           1.0 → nothing  -
    plant-c      refused          -              no node has a container engine

    home step 1: laptop: all nodes

    parameter greeting at home, plant-b: "Hello" → "Hi"

    parameter port at plant-b: unset → 80

    setting replicas at plant-b: 4 → 3

    pull oci://r.test/hello:1.1 on home/laptop, plant-b/b1

    deployments/home/hello.yaml
    -  version: 1.0
    +  version: 1.1

    plan sha256:0123
    "#);
}

#[test]
fn an_invitation_is_one_command() {
    let view = |seconds| {
        read(json!({"kind": "node", "site": "home", "token": "col1_x", "expires": 0,
            "command": "colony node --join col1_x", "lifetimeSeconds": seconds}))
    };
    let expected =
        "run this on the other machine within 1 h (valid once):\ncolony node --join col1_x";
    assert_eq!(talk::invite(&view(3600), &look()), expected);
    let expected =
        "run this on the other machine within 7 d (valid once):\ncolony node --join col1_x";
    assert_eq!(talk::invite(&view(604_800), &look()), expected);
}

#[test]
fn why_is_a_sentence_and_then_who_acts() {
    let view = read(json!({
        "subject": "hello@plant-b",
        "summary": "INSTALLED 1.1; node b2 deferred: offline 3 h; catches up on return",
        "reasons": [{"site": "plant-b", "nodes": ["b2"], "sentence": "b2 is offline",
            "cause": "node-offline",
            "owner": "device owner", "act": "switch it on", "since": ago(10_800),
            "next": "it is updated to 1.1 when it returns"}],
    }));
    assert_snapshot!(talk::why(&view, &look()), @r"
    INSTALLED 1.1; node b2 deferred: offline 3 h; catches up on return

    plant-b/b2: b2 is offline
      who: device owner   cause: node-offline
      since: 3 h ago
      do: switch it on
      next: it is updated to 1.1 when it returns
    ");
}

#[test]
fn events_and_logs_are_lines() {
    let view = read(json!({"id": "e-7", "position": 7, "at": ago(0), "kind": "state_transition",
        "site": "home", "node": "laptop", "deployment": "hello", "actor": "node:laptop",
        "sentence": "INSTALLING → INSTALLED", "body": {}}));
    assert_snapshot!(event::line(&view, &look()), @"2027-01-15 08:00:00Z  home/laptop  hello  INSTALLING → INSTALLED");
    assert_snapshot!(event::line(&view, &sample::wide()), @"2027-01-15 08:00:00Z  home/laptop  hello  INSTALLING → INSTALLED  state_transition  node:laptop  e-7");
    let lines = |services: [&str; 2]| {
        let lines: Vec<_> = services.map(|it| read(json!({"service": it, "text": "up"}))).into();
        event::LogPrinter::new(false).lines(&lines)
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
    assert_snapshot!(application::show(&view, &look()), @r"
    hello 1.1: Hello
    versions: 1.1, 1.0
    from: hello/1.1 of registry builtin, sha256:ab
    profile: compose (compose): web

    PARAMETER  DEFAULT  ALLOWED                                   MEANS
    greeting   Hello    string up to 80 characters                -
    port       8080     integer 1 to 65535 (cannot change later)  -
    ");
}

fn lines(view: &DeploymentView) -> String {
    deployment::lines(view, &look()).into_iter().map(|it| it.1 + "\n").collect()
}
