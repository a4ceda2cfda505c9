//! What one transaction promises, and the small things written in it.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use colony_core::time::Timestamp;
use colony_store::{CentralStore, Error, Write};
use serde_json::json;
use sqlx::{Connection, PgConnection, SqliteConnection};

use super::catalog;
use crate::database::Database;
use crate::sample;

/// One of everything.
fn full(once: &str, seq: u64) -> Write {
    let (_, mut writes) = sample::fleet(&sample::plant());
    Write {
        rows: std::mem::take(&mut writes[0].rows),
        events: vec![sample::event("home", Some(seq)), sample::event("home", Some(seq + 1))],
        changes_put: vec![sample::change("2")],
        changes_done: vec!["1".to_owned()],
        notes: vec![("a".to_owned(), json!(2))],
        tokens_add: vec![catalog::token("ben", "h2")],
        tokens_remove: vec!["ana".to_owned()],
        registries_add: vec![catalog::registry("extra")],
        registries_remove: vec!["main".to_owned()],
        once: Some(("join".to_owned(), once.to_owned(), Timestamp(1))),
    }
}

/// Each part of a full write alone, by its name.
fn parts(of: &Write) -> [(&'static str, Write); 10] {
    let (it, none) = (of.clone(), Write::default());
    [
        ("rows", Write { rows: it.rows, ..none.clone() }),
        ("events", Write { events: it.events, ..none.clone() }),
        ("changes_put", Write { changes_put: it.changes_put, ..none.clone() }),
        ("changes_done", Write { changes_done: it.changes_done, ..none.clone() }),
        ("notes", Write { notes: it.notes, ..none.clone() }),
        ("tokens_add", Write { tokens_add: it.tokens_add, ..none.clone() }),
        ("tokens_remove", Write { tokens_remove: it.tokens_remove, ..none.clone() }),
        ("registries_add", Write { registries_add: it.registries_add, ..none.clone() }),
        ("registries_remove", Write { registries_remove: it.registries_remove, ..none.clone() }),
        ("once", Write { once: it.once, ..none }),
    ]
}

#[test]
fn only_a_write_without_any_part_is_empty() {
    assert!(Write::default().is_empty());
    for (name, part) in parts(&full("a", 1)) {
        assert!(!part.is_empty(), "{name}");
    }
}

#[test]
fn what_the_database_may_refuse_is_known_before() {
    let all = parts(&full("a", 1));
    let refusable = all.iter().filter(|it| it.1.may_be_refused()).map(|it| it.0);
    let expected = ["tokens_add", "tokens_remove", "registries_add", "registries_remove", "once"];
    assert_eq!(refusable.collect::<Vec<_>>(), expected);
    assert!(!Write::default().may_be_refused());
}

#[test]
fn writes_are_appended_with_every_part() {
    let full = full("a", 1);
    let mut all = Write::default();
    parts(&full).into_iter().rev().for_each(|it| all.append(it.1));
    assert_eq!(format!("{all:?}"), format!("{full:?}"));
}

/// Everything there is, as one text.
async fn all(store: &CentralStore) -> String {
    let rows = store.fleet_rows().await.expect("rows");
    let events = store.events(&Default::default(), 0, 1_000).await.expect("events");
    let changes = store.changes_open().await.expect("changes");
    let head = store.event_head().await.expect("a head");
    let note = store.note_get("a").await.ok();
    let tokens = store.token_list().await.expect("tokens");
    let registries = store.registry_list().await.expect("registries");
    format!("{rows:?} {events:?} {changes:?} {head} {note:?} {tokens:?} {registries:?}")
}

async fn begun(it: &Database) -> CentralStore {
    let store = it.open().await;
    let first = Write {
        events: vec![sample::event("home", Some(1))],
        changes_put: vec![sample::change("1")],
        notes: vec![("a".to_owned(), json!(1))],
        tokens_add: vec![catalog::token("ana", "h1")],
        registries_add: vec![catalog::registry("main")],
        once: Some(("join".to_owned(), "used".to_owned(), Timestamp(1))),
        ..Write::default()
    };
    assert_eq!(store.commit(first).await.expect("it is stored"), 1);
    store
}

pub(crate) async fn a_refused_write_leaves_nothing(it: &Database) {
    let store = begun(it).await;
    let before = all(&store).await;

    let used = store.commit(full("used", 2)).await;
    let twice = store.commit(full("fresh", 1)).await;

    assert!(matches!(&used, Err(Error::Used { id, .. }) if id == "used"), "{used:?}");
    assert!(matches!(twice, Err(Error::EventStored)), "{twice:?}");
    assert_eq!(all(&store).await, before);
    assert_eq!(store.commit(full("fresh", 2)).await.expect("nothing was used up"), 3);
    assert_ne!(all(&store).await, before);
    assert_eq!(store.commit(Write::default()).await.expect("nothing to do"), 3);
}

pub(crate) async fn a_broken_part_leaves_nothing(it: &Database) {
    let store = begun(it).await;
    it.sql("ALTER TABLE note RENAME TO note_away").await;
    let before = all(&store).await;

    let broken = store.commit(full("fresh", 2)).await;

    let stored = matches!(&broken, Err(Error::Database { doing, .. }) if *doing == "store notes");
    assert!(stored, "{broken:?}");
    assert_eq!(all(&store).await, before);
    it.sql("ALTER TABLE note_away RENAME TO note").await;
    assert_eq!(store.commit(full("fresh", 2)).await.expect("it is whole again"), 3);
}

pub(crate) async fn something_is_used_once(it: &Database) {
    let store = it.open().await;
    let tries = (0..16).map(|_| {
        let store = store.clone();
        tokio::spawn(
            async move { store.once("join", "t1", Timestamp(5)).await.expect("an answer") },
        )
    });
    let mut first = 0;
    for it in tries.collect::<Vec<_>>() {
        first += usize::from(it.await.expect("no panic"));
    }

    assert_eq!(first, 1);
    assert!(!store.once("join", "t1", Timestamp(9)).await.expect("an answer"));
    assert!(store.once("join", "t2", Timestamp(9)).await.expect("an answer"));
    assert!(store.once("other", "t1", Timestamp(9)).await.expect("an answer"));
}

pub(crate) async fn changes_wait_in_order(it: &Database) {
    let store = it.open().await;
    for ids in [&["c", "a"][..], &["b"]] {
        let changes_put = ids.iter().map(|it| sample::change(it)).collect();
        store.commit(Write { changes_put, ..Write::default() }).await.expect("it is stored");
    }
    let mut again = sample::change("c");
    again.message = "again".to_owned();
    let changes_put = vec![again.clone(), sample::change("d"), sample::change("d")];
    let changes_done = vec!["a".to_owned(), "never".to_owned()];
    store.commit(Write { changes_put, changes_done, ..Write::default() }).await.expect("stored");

    let open = store.changes_open().await.expect("changes");

    assert_eq!(open, [again, sample::change("b"), sample::change("d")]);
}

pub(crate) async fn notes_are_found_by_prefix(it: &Database) {
    let store = it.open().await;
    for key in ["site/é2", "site/B", "site/a", "site", "sitex", "s%", "s\0"] {
        store.note_put(key, &json!({ "old": true })).await.expect("it is stored");
        store.note_put(key, &json!({ "key": key })).await.expect("it is stored");
    }
    let keys = |found: Vec<(String, serde_json::Value)>| {
        found.into_iter().map(|(key, _)| key).collect::<Vec<_>>().join(" ")
    };

    assert_eq!(keys(store.notes("site/").await.expect("notes")), "site/B site/a site/é2");
    assert_eq!(keys(store.notes("site/é").await.expect("notes")), "site/é2");
    assert_eq!(keys(store.notes("s%").await.expect("notes")), "s%");
    assert_eq!(store.notes("").await.expect("notes").len(), 7);
    let nul = store.note_get("s\0").await.expect("an answer");
    assert_eq!(nul, Some(json!({ "key": "s\0" })));
    assert_eq!(store.note_get("never").await.expect("an answer"), None);
}

pub(crate) async fn readers_do_not_wait_for_a_writer(it: &Database) {
    let store = begun(it).await;
    let (lock, free) = ("UPDATE event_head SET position = position", "ROLLBACK");
    if it.is_sqlite() {
        let mut other = SqliteConnection::connect(&it.url).await.expect("it opens");
        sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.expect("a transaction");
        sqlx::raw_sql(lock).execute(&mut other).await.expect("it writes");
        reads(&store).await;
        sqlx::raw_sql(free).execute(&mut other).await.expect("it gives up");
    } else {
        let mut other = PgConnection::connect(&it.url).await.expect("it connects");
        sqlx::raw_sql("BEGIN").execute(&mut other).await.expect("a transaction");
        sqlx::raw_sql(lock).execute(&mut other).await.expect("it writes");
        reads(&store).await;
        sqlx::raw_sql(free).execute(&mut other).await.expect("it gives up");
    }
    assert_eq!(store.commit(full("fresh", 2)).await.expect("its turn has come"), 3);
}

async fn reads(store: &CentralStore) {
    let read = tokio::time::timeout(Duration::from_secs(5), all(store)).await;
    read.expect("no writer blocks readers");
}

/// Reads behind `settle` see what stays.
pub(crate) async fn a_write_that_was_given_up_has_ended_after_settling(it: &Database) {
    let store = it.open().await;
    it.slow_commits().await;
    for polls in 1..=16 {
        let seq = u64::try_from(store.event_head().await.expect("a head")).expect("a number") + 1;
        let events = vec![sample::event("home", Some(seq))];
        give_up(store.commit(Write { events, ..Write::default() }), polls).await;

        store.settle().await.expect("it settles");
        let head = store.event_head().await.expect("a head");

        let end = store.commit(Write::default()).await.expect("nothing to do");
        assert_eq!(end, head, "given up after {polls} polls");
    }
}

/// Drops the work when it waits for the `polls`th time.
async fn give_up(work: impl Future, polls: usize) {
    let (mut work, mut polled) = (pin!(work), 0);
    poll_fn(|context| {
        polled += 1;
        match work.as_mut().poll(context) {
            Poll::Pending if polled < polls => Poll::Pending,
            Poll::Ready(_) | Poll::Pending => Poll::Ready(()),
        }
    })
    .await;
}
