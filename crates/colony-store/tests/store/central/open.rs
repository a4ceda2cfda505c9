//! Opening, reopening, and what cannot be opened.

use std::error::Error as _;

use colony_core::fleet::Fleet;
use colony_store::{CentralStore, Error, Write};
use serde_json::json;

use crate::database::{Database, Engine};
use crate::sample;

pub(crate) async fn a_database_keeps_its_name(it: &Database) {
    let first = it.open().await.epoch().to_owned();
    let again = it.open().await.epoch().to_owned();

    assert_eq!(first, again);
    assert!(first.len() == 8 && first.bytes().all(|it| it.is_ascii_hexdigit()), "{first}");
}

pub(crate) async fn what_was_stored_is_there_after_reopening(it: &Database) {
    let store = it.open().await;
    let (fleet, writes) = sample::fleet(&sample::plant());
    for write in writes {
        store.commit(write).await.expect("it is stored");
    }
    let changes_put = vec![sample::change("1")];
    let notes = vec![("site/home".to_owned(), json!({ "ready": true }))];
    store.commit(Write { changes_put, notes, ..Write::default() }).await.expect("it is stored");
    let head = store.event_head().await.expect("a head");
    store.close().await;
    assert!(store.ping().await.is_err(), "a closed store answers nothing");

    let store = it.open().await;

    store.ping().await.expect("it answers");
    assert_eq!(Fleet::restore(store.fleet_rows().await.expect("rows")), fleet);
    assert_eq!(store.event_head().await.expect("a head"), head);
    let all = store.events(&Default::default(), 0, 10_000).await.expect("events");
    assert_eq!(all.len() as i64, head);
    assert_eq!(store.changes_open().await.expect("changes"), [sample::change("1")]);
    let note = store.note_get("site/home").await.expect("an answer");
    assert_eq!(note, Some(json!({ "ready": true })));
}

pub(crate) async fn tables_of_a_later_version_are_left_alone(it: &Database) {
    it.open().await.close().await;
    it.sql(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         SELECT 99, 'later', success, checksum, 0 FROM _sqlx_migrations WHERE version = 1",
    )
    .await;

    let opened = CentralStore::open(&it.url).await;

    assert!(matches!(opened, Err(Error::Migration(_))), "{opened:?}");
}

pub(crate) async fn a_server_that_is_gone_is_told_at_once(engine: &mut Engine) {
    let database = engine.database("gone").await;
    let store = database.open().await;
    let Engine::Postgres(server) = engine else { panic!("SQLite has no server") };
    server.stop();

    let ping = store.ping().await.expect_err("no server answers");
    let opened = CentralStore::open(&database.url).await.expect_err("no server answers");

    assert_eq!(ping.to_string(), "could not reach the database");
    assert!(!ping.source().expect("a reason").to_string().contains("pool timed out"), "{ping:?}");
    assert_eq!(opened.to_string(), "could not connect to Postgres");
}

#[tokio::test]
async fn an_address_is_sqlite_or_postgres() {
    for url in ["", "hello", "mysql://root@localhost/x", "sqlite:", "sqlite::memory:"] {
        let opened = CentralStore::open(url).await;
        assert!(matches!(opened, Err(Error::Address)), "{url}: {opened:?}");
    }
    let opened = CentralStore::open("sqlite:/no/such/folder/x.db").await;
    assert!(matches!(opened, Err(Error::File(_))), "{opened:?}");
}

#[tokio::test]
async fn the_file_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a %41?b.db");
    let store = CentralStore::open(&format!("sqlite:{}", path.display())).await.expect("it opens");
    store.note_put("a", &json!(1)).await.expect("it is stored");

    for entry in std::fs::read_dir(folder.path()).expect("a folder") {
        let entry = entry.expect("an entry");
        assert!(entry.file_name().to_string_lossy().starts_with("a %41?b.db"), "{entry:?}");
        let mode = entry.metadata().expect("metadata").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{entry:?}");
    }
}
