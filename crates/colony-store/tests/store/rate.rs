//! How many events a second are stored, durably, in batches as sites send them.

use std::time::Instant;

use colony_core::fleet::BATCH_LIMIT;
use colony_store::Write;

use crate::database::Engine;
use crate::postgres::Server;
use crate::sample;

const BATCHES: u64 = 50;

#[tokio::test]
#[ignore = "a measurement; run with --run-ignored only --no-capture"]
async fn events_per_second() {
    println!("SQLite    {:>7.0} events/s", rate(&Engine::sqlite()).await);
    println!("Postgres  {:>7.0} events/s", rate(&Engine::Postgres(Server::start(&[]))).await);
}

#[expect(clippy::disallowed_methods, reason = "it measures")]
async fn rate(engine: &Engine) -> f64 {
    let store = engine.database("rate").await.open().await;
    let size = BATCH_LIMIT as u64;
    let batch = |at: u64| {
        let mut events: Vec<_> =
            (1..=size).map(|it| sample::event("home", Some(at * size + it))).collect();
        for (event, at) in events.iter_mut().zip(0..) {
            event.deployment = Some(format!("app-{}", at % 20));
            event.node = Some(format!("node-{}", at % 50));
            event.body["text"] = "x".repeat(300).into();
        }
        events
    };
    let batches: Vec<_> = (0..BATCHES).map(batch).collect();
    let start = Instant::now();
    for events in batches {
        store.commit(Write { events, ..Write::default() }).await.expect("it is stored");
    }
    (BATCHES * size) as f64 / start.elapsed().as_secs_f64()
}
