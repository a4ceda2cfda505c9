//! Who may write, and what is left to the one before.

use std::time::Duration;

use colony_core::time::Wall;
use colony_store::{CentralStore, Error, Write};
use serde_json::json;

use crate::database::Database;
use crate::sample;

/// How long a session may take to end at the server.
const ENDING: Duration = Duration::from_secs(20);

pub(crate) async fn one_process_at_a_time_writes(it: &Database) {
    let (first, claim) = claimed(it, Duration::ZERO).await.expect("it is free");
    first.commit(event(1)).await.expect("it is stored");

    let refused = claimed(it, Duration::ZERO).await.expect_err("it is claimed");
    let Error::Claimed { by } = &refused else { panic!("{refused:?}") };
    let own = std::process::id().to_string();
    assert!(by.ends_with(&format!("process {own}")) || by.contains(&format!("pid {own}")), "{by}");
    first.commit(event(2)).await.expect("it still is the one that writes");

    drop(claim);
    let (second, _claim) = claimed(it, ENDING).await.expect("it is free again");
    second.commit(event(3)).await.expect("it is stored");
    let late = first.commit(event(4)).await;
    assert!(matches!(late, Err(Error::Fenced)), "{late:?}");
    let late = first.note_put("a", &json!(1)).await;
    assert!(matches!(late, Err(Error::Fenced)), "{late:?}");
    let late = first.once("join", "t", Wall(1)).await;
    assert!(matches!(late, Err(Error::Fenced)), "{late:?}");
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
    let written = copied.commit(event(2)).await;
    assert!(matches!(written, Err(Error::Fenced)), "{written:?}");
    store.commit(event(2)).await.expect("it goes on");
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
