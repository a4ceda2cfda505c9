//! A Postgres server that stops answering in the middle of a write.

use std::path::PathBuf;
use std::time::Duration;

use colony_store::{CentralStore, Error, Write};

use crate::database::{Database, Engine};
use crate::proxy::Proxy;
use crate::sample;

/// The clock stands still from the moment of silence on and jumps to the next
/// timer, so no test waits for the limit.
#[tokio::test]
async fn a_server_that_falls_silent_fails_the_write_and_not_the_next() {
    let engine = Engine::postgres();
    for (number, word) in ["BEGIN", "UPDATE event_head", "COMMIT"].into_iter().enumerate() {
        check(&engine.database(&format!("silence_{number}")).await, word).await;
    }
}

async fn check(database: &Database, word: &'static str) {
    let folder = database.url.split(['@', '/']).nth(3).expect("a host").replace("%2F", "/");
    let proxy = Proxy::start(PathBuf::from(folder).join(".s.PGSQL.5432")).await;
    let url = format!("postgres://colony@127.0.0.1:{}/{}", proxy.port, database.name());
    let store = CentralStore::open(&url).await.expect("it opens");
    proxy.silence_after(word);

    let stop_clock = async {
        proxy.silent().await;
        tokio::time::pause();
    };
    let (late, ()) = tokio::join!(store.commit(event(1)), stop_clock);
    tokio::time::resume();

    let Err(Error::Database { source: sqlx::Error::Io(error), .. }) = &late else {
        panic!("{word}: {late:?}")
    };
    assert_eq!(error.to_string(), "the server did not answer within 15 s", "{word}");
    // Every connection of the pool is usable: none waits for the silent one.
    let others = (0..16).map(|_| tokio::time::timeout(Duration::from_secs(10), store.ping()));
    for ping in futures_util::future::join_all(others).await {
        ping.expect("it does not wait").expect("it answers");
    }
    store.settle().await.expect("nothing is left of the write");
    assert_eq!(store.event_head().await.expect("a head"), 0, "{word}");
    assert_eq!(store.commit(event(1)).await.expect("it is stored"), 1, "{word}");
}

fn event(seq: u64) -> Write {
    Write { events: vec![sample::event("home", Some(seq))], ..Write::default() }
}
