//! Positions become visible in order, however long commits take.

use std::collections::BTreeSet;
use std::time::Duration;

use colony_core::time::Timestamp;
use colony_store::{CentralStore, Error, EventFilter, StoredEvent, Write};

use crate::database::Database;
use crate::sample;

const WRITERS: usize = 8;
const COMMITS: u64 = 20;

/// Each writer has a store of its own, as several processes would. Every fifth
/// write is refused after it took its positions.
pub(crate) async fn a_tail_misses_nothing(it: &Database) {
    let reader = it.open().await;
    it.slow_commits().await;
    reader.once("writer", "used", Timestamp(0)).await.expect("an answer");
    let mut stores = Vec::new();
    for _ in 0..WRITERS {
        stores.push(it.open().await);
    }
    let writers = stores.into_iter().zip(0..).map(|(store, at)| tokio::spawn(write(store, at)));
    let writers: Vec<_> = writers.collect();
    let tail = tokio::spawn(async move { tail(&reader, total()).await });
    for writer in writers {
        writer.await.expect("the writer ends well");
    }

    let seen = tokio::time::timeout(Duration::from_secs(60), tail).await;

    let seen = seen.expect("the reader sees the last event").expect("no panic");
    let positions: Vec<i64> = seen.iter().map(|it| it.position).collect();
    assert_eq!(positions, (1..=total() as i64).collect::<Vec<_>>(), "in order, without a gap");
    let texts: BTreeSet<String> = seen.iter().map(|it| it.body.to_string()).collect();
    assert_eq!(texts.len(), total(), "each once");
}

fn total() -> usize {
    WRITERS * (0..COMMITS).map(events_of).sum::<usize>()
}

fn events_of(commit: u64) -> usize {
    if commit % 5 == 4 { 0 } else { 1 + commit as usize % 3 }
}

async fn write(store: CentralStore, writer: usize) {
    let mut seq = 0;
    for commit in 0..COMMITS {
        let refused = events_of(commit) == 0;
        let mut events = Vec::new();
        for _ in 0..events_of(commit).max(2 * usize::from(refused)) {
            events.push(sample::event(&format!("w{writer}"), Some(seq + events.len() as u64 + 1)));
        }
        seq += events_of(commit) as u64;
        let once = refused.then(|| ("writer".to_owned(), "used".to_owned(), Timestamp(1)));
        let written = store.commit(Write { events, once, ..Write::default() }).await;
        match written {
            Ok(_) => assert!(!refused),
            Err(Error::Used { .. }) => assert!(refused),
            Err(other) => panic!("writer {writer}: {other:?}"),
        }
    }
}

/// Reads on from the last position it saw, in small pages, as SSE does.
async fn tail(store: &CentralStore, until: usize) -> Vec<StoredEvent> {
    let mut seen: Vec<StoredEvent> = Vec::new();
    while seen.len() < until {
        let after = seen.last().map_or(0, |it| it.position);
        let page = store.events(&EventFilter::default(), after, 7).await.expect("events");
        let head = store.event_head().await.expect("a head");
        assert!(page.last().is_none_or(|it| it.position <= head));
        seen.extend(page);
    }
    seen
}
