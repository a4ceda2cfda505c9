//! Who may write, and what is left to the one before.

use std::fmt::Debug;
use std::time::Duration;

use colony_core::time::Timestamp;
use colony_store::{CentralStore, Error, Write};
use futures_util::FutureExt;
use serde_json::json;

use crate::database::Database;
use crate::sample;

/// How long a session may take to end at the server.
const ENDING: Duration = Duration::from_secs(20);
/// Longer than it takes to find a database claimed.
const WAITING: Duration = Duration::from_millis(500);

pub(crate) async fn one_process_at_a_time_writes(it: &Database) {
    let (first, claim) = claimed(it, Duration::ZERO).await.expect("it is free");
    first.commit(event(1)).await.expect("it is stored");

    let refused = claimed(it, Duration::ZERO).await.expect_err("it is claimed");
    let Error::Claimed { by } = &refused else { panic!("{refused:?}") };
    let own = std::process::id().to_string();
    assert!(by.ends_with(&format!("process {own}")) || by.contains(&format!("pid {own}")), "{by}");
    let patient = tokio::time::timeout(WAITING, claimed(it, ENDING)).await;
    assert!(patient.is_err(), "it waits for the process before: {patient:?}");
    first.commit(event(2)).await.expect("it still is the one that writes");
    assert!(first.fenced().now_or_never().is_none(), "no other process has claimed it");

    drop(claim);
    let (second, _claim) = claimed(it, ENDING).await.expect("it is free again");
    second.commit(event(3)).await.expect("it is stored");
    let package = sample::package("hello", "1.0");
    fenced(first.commit(event(4)).await);
    fenced(first.settle().await);
    fenced(first.note_put("a", &json!(1)).await);
    fenced(first.once("join", "t", Timestamp(1)).await);
    fenced(first.package_put(&package).await);
    fenced(first.package_remove(&package.registry, "hello", "1.0").await);
    fenced(first.clone().epoch_renew().await);
    first.fenced().await;
    assert_eq!(second.event_head().await.expect("a head"), 3);
    second.commit(event(4)).await.expect("it is stored");
}

pub(crate) async fn a_copy_is_made_without_a_claim(it: &Database) {
    let missing = CentralStore::open_as_is(&it.url).await;
    assert!(missing.is_err(), "there is nothing to copy: {missing:?}");
    let (store, _claim) = claimed(it, Duration::ZERO).await.expect("it is free");
    store.commit(event(1)).await.expect("it is stored");

    let copied = CentralStore::open_as_is(&it.url).await.expect("it opens");

    assert_eq!(copied.event_head().await.expect("a head"), 1);
    assert_eq!(copied.epoch(), store.epoch());
    fenced(copied.commit(event(2)).await);
    store.commit(event(2)).await.expect("it goes on");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("copy.db");
    let made = copied.copy_to(&path).await.expect("it is copied, or left to Postgres");
    assert_eq!((made, path.exists()), (it.is_sqlite(), it.is_sqlite()));
    if made {
        let copy = CentralStore::open(&format!("sqlite:{}", path.display())).await;
        assert_eq!(copy.expect("it opens").event_head().await.expect("a head"), 2);
    }
}

#[track_caller]
fn fenced<T: Debug>(late: Result<T, Error>) {
    assert!(matches!(late, Err(Error::Fenced)), "{late:?}");
}

async fn claimed(
    it: &Database,
    patience: Duration,
) -> Result<(CentralStore, colony_store::Claim), Error> {
    CentralStore::open_claimed(&it.url, patience).await
}

fn event(seq: u64) -> Write {
    Write { events: vec![sample::event("home", Some(seq))], ..Write::default() }
}
