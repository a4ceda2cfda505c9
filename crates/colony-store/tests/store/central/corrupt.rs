//! Corrupt rows are named, and nothing is guessed.

use colony_store::{Error, Write};

use crate::database::Database;
use crate::sample;

pub(crate) async fn what_cannot_be_read_is_named(it: &Database) {
    let store = it.open().await;
    let (_, writes) = sample::fleet(&sample::plant());
    for write in writes {
        store.commit(write).await.expect("it is stored");
    }
    let changes_put = vec![sample::change("7")];
    store.commit(Write { changes_put, ..Write::default() }).await.expect("it is stored");
    store.note_put("n", &1.into()).await.expect("it is stored");
    store.package_put(&sample::package("hello", "1.0")).await.expect("it is stored");

    it.sql("UPDATE fleet_row SET body = '{\"site\":\"home\"' WHERE name = 'node/a'").await;
    check(store.fleet_rows().await, "row `node/a` of site `home`");
    check(store.fleet_rows_of(&sample::home()).await, "row `node/a` of site `home`");
    it.sql("UPDATE event SET body = 'x' WHERE position = 2").await;
    check(store.events(&Default::default(), 0, 10).await, "event 2");
    it.sql("UPDATE event SET hash = 'md5:1' WHERE position = 3").await;
    check(store.event_hash(&sample::home(), 0, 3).await, "event 3");
    it.sql("UPDATE event SET site = 'A B' WHERE position = 4").await;
    check(store.events(&Default::default(), 3, 10).await, "event 4");
    it.sql("UPDATE git_change SET body = '{}'").await;
    check(store.changes_open().await, "change `7`");
    it.sql("UPDATE note SET body = ''").await;
    check(store.note_get("n").await, "note `n`");
    it.sql("UPDATE package SET body = '[]', digest = 'x'").await;
    check(store.package("hello", "1.0").await, "package `hello` 1.0");
    check(store.package_list().await, "package `hello` 1.0");
    it.sql("DELETE FROM event_head").await;
    check(store.commit(Write::default()).await, "the table `event_head`");
}

#[track_caller]
fn check<T: std::fmt::Debug>(answer: Result<T, Error>, expected: &str) {
    match answer {
        Err(Error::Corrupt { what, .. }) => assert_eq!(what, expected),
        other => panic!("{expected}: {other:?}"),
    }
}
