//! A site's file.

use std::collections::BTreeMap;
use std::path::Path;

use colony_core::site::{Row, RowKey, Site, Timing};
use colony_core::time::Timestamp;
use colony_store::{Error, LocalStore, NodeIdentity};
use colony_testkit::{App, Plant};
use serde_json::json;

use crate::database::Database;
use crate::sample;

#[tokio::test]
async fn a_site_comes_back_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("local.db");
    let plant = sample::plant();
    let store = open(&path).await;
    store.commit(rows(&plant), &plant.events).await.expect("it is stored");
    store.close().await;
    assert!(store.ping().await.is_err(), "a closed store answers nothing");

    let store = open(&path).await;

    store.ping().await.expect("it answers");
    let site = Site::restore(store.rows().await.expect("rows"), Timing::default());
    let site = site.expect("the rows make a site");
    assert_eq!(texts(&site), texts(&plant.site));
    assert_eq!(store.events_from(0, 1, 9_999).await.expect("events"), plant.events);
}

#[tokio::test]
async fn a_row_that_is_gone_is_deleted_with_what_happened() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(&folder.path().join("local.db")).await;
    let mut plant = Plant::new();
    plant.join("a");
    plant.deploy(&App::new("hello", "1.0.0"));
    plant.converge();
    store.commit(rows(&plant), &plant.events).await.expect("it is stored");
    let (before, sent) = (rows(&plant), plant.events.len());
    plant.undeploy("hello");
    plant.converge();
    let mut changed: BTreeMap<RowKey, Option<Row>> =
        before.into_iter().map(|(key, _)| (key, None)).collect();
    changed.extend(rows(&plant));

    store.commit(changed.into_iter().collect(), &plant.events[sent..]).await.expect("stored");

    let site = Site::restore(store.rows().await.expect("rows"), Timing::default());
    assert_eq!(texts(&site.expect("a site")), texts(&plant.site));
    let last = store.events_last(3).await.expect("events");
    assert_eq!(last, plant.events[plant.events.len() - 3..]);
}

#[tokio::test]
async fn a_refused_step_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(&folder.path().join("local.db")).await;
    let plant = sample::plant();
    store.commit(vec![], &plant.events[..3]).await.expect("it is stored");

    let twice = store.commit(rows(&plant), &plant.events[2..]).await;

    assert!(matches!(twice, Err(Error::EventStored)), "{twice:?}");
    assert_eq!(store.rows().await.expect("rows").len(), 0);
    assert_eq!(store.events_last(99).await.expect("events"), plant.events[..3]);
}

#[tokio::test]
async fn old_events_are_forgotten_but_no_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(&folder.path().join("local.db")).await;
    let events = &sample::plant().events;
    let mut before = events[..2].to_vec();
    let mut own = events.clone();
    own.iter_mut().for_each(|it| it.incarnation = 1);
    before[1].at = Timestamp(u64::MAX);
    store.commit(vec![], &before).await.expect("it is stored");
    store.commit(vec![], &own).await.expect("it is stored");

    let early = store.events_prune(1, 5, own[0].at).await.expect("an answer");
    let late = store.events_prune(1, 5, Timestamp(own[3].at.0 + 1)).await.expect("an answer");

    assert_eq!((early, late), (0, 1 + 4));
    let left = store.events_from(1, 0, 9_999).await.expect("events");
    assert_eq!(left, own[4..]);
    assert_eq!(store.events_from(0, 0, 9_999).await.expect("events").len(), 1);
    assert_eq!(store.events_from(1, 7, 2).await.expect("events"), own[6..8]);
}

#[tokio::test]
async fn nodes_notes_and_single_use_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("local.db");
    let store = open(&path).await;
    let mut a = node("a");
    store.node_put(&node("b")).await.expect("it is stored");
    store.node_put(&a).await.expect("it is stored");
    a.retired = true;
    store.node_put(&a).await.expect("it is stored");
    store.note_put("sent", &json!(17)).await.expect("it is stored");
    assert!(store.once(("join", "t"), Timestamp(1), note("first")).await.expect("an answer"));
    store.close().await;

    let store = open(&path).await;

    assert!(!store.once(("join", "t"), Timestamp(2), note("second")).await.expect("an answer"));
    assert_eq!(store.node_get("a").await.expect("an answer"), Some(a.clone()));
    assert_eq!(store.node_get("c").await.expect("an answer"), None);
    assert_eq!(store.node_list().await.expect("a list"), [a, node("b")]);
    assert_eq!(store.note_get("join:t").await.expect("an answer"), Some(json!("first")));
    assert_eq!(store.note_get("sent").await.expect("an answer"), Some(json!(17)));
    assert_eq!(store.notes("s").await.expect("notes"), [("sent".to_owned(), json!(17))]);
}

fn note(text: &str) -> (String, serde_json::Value) {
    ("join:t".to_owned(), json!(text))
}

#[tokio::test]
async fn what_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("local.db");
    let plant = sample::plant();
    let store = open(&path).await;
    store.commit(rows(&plant), &plant.events).await.expect("it is stored");
    store.node_put(&node("a")).await.expect("it is stored");
    let file = Database { url: format!("sqlite:{}", path.display()) };

    file.sql("UPDATE site_row SET body = '{' WHERE name = 'meta'").await;
    check(store.rows().await, "row `meta` of the site");
    file.sql("UPDATE event SET body = 'x' WHERE seq = 2").await;
    check(store.events_from(0, 1, 9).await, "event 2 of incarnation 0");
    file.sql("UPDATE node SET body = '[]'").await;
    check(store.node_list().await, "node `a`");
}

#[track_caller]
fn check<T: std::fmt::Debug>(answer: Result<T, Error>, expected: &str) {
    match answer {
        Err(Error::Corrupt { what, .. }) => assert_eq!(what, expected),
        other => panic!("{expected}: {other:?}"),
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("local.db");
    std::fs::write(&path, "not a database ".repeat(100)).expect("it is written");

    let opened = LocalStore::open(&path).await;

    assert!(matches!(opened, Err(Error::Database { .. })), "{opened:?}");
}

async fn open(path: &Path) -> LocalStore {
    LocalStore::open(path).await.expect("the file opens")
}

fn rows(plant: &Plant) -> Vec<(RowKey, Option<Row>)> {
    keys(&plant.site).into_iter().map(|it| (it.clone(), plant.site.row(&it))).collect()
}

fn keys(site: &Site) -> Vec<RowKey> {
    let deployments = site.deployments().map(|it| RowKey::Deployment(it.id.clone()));
    let placements = site.placements().map(|it| RowKey::Placement(it.id.clone()));
    let site_nodes = site.site_nodes().map(|it| RowKey::SiteNode(it.name.clone()));
    [RowKey::Meta].into_iter().chain(deployments).chain(placements).chain(site_nodes).collect()
}

fn texts(site: &Site) -> Vec<String> {
    let rows = keys(site).into_iter().map(|it| site.row(&it));
    rows.map(|it| serde_json::to_string(&it).expect("rows are JSON")).collect()
}

fn node(name: &str) -> NodeIdentity {
    NodeIdentity {
        name: name.to_owned(),
        fingerprint: "sha256:ab".to_owned(),
        issued: Timestamp(1),
        expires: Timestamp(2),
        retired: false,
        key: Some("sha256:1".to_owned()),
        before: None,
        former: vec!["sha256:0".to_owned()],
    }
}
