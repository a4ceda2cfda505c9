//! How many events a second are stored, durably, in batches as sites send
//! them, against a file that takes the same bytes with one sync per batch.

#[expect(dead_code, reason = "the suite uses the rest")]
#[path = "../tests/store/database.rs"]
mod database;
#[path = "../tests/store/postgres.rs"]
mod postgres;
#[expect(dead_code, reason = "the suite uses the rest")]
#[path = "../tests/store/sample.rs"]
mod sample;

use std::fs::File;
use std::io::Write as _;
use std::time::Instant;

use colony_core::fleet::BATCH_LIMIT;
use colony_store::{NewEvent, Write};

use database::Engine;
use postgres::Server;

const BATCHES: u64 = 50;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let file = bare(&batches());
    let mut lines = vec![("baseline: a file, one sync per batch", file)];
    lines.push(("SQLite", rate(&Engine::sqlite()).await));
    lines.push(("Postgres", rate(&Engine::Postgres(Server::start(&[]))).await));
    let mut out = std::io::stdout();
    for (what, rate) in lines {
        let ratio = rate / file;
        writeln!(out, "{what:<38} {rate:>9.0} events/s  {ratio:.3} of the baseline")
            .expect("a line");
    }
}

fn batches() -> Vec<Vec<NewEvent>> {
    let size = BATCH_LIMIT as u64;
    let one = |(at, number): (u64, u64)| {
        let mut event = sample::event("home", Some(number));
        event.deployment = Some(format!("app-{}", at % 20));
        event.node = Some(format!("node-{}", at % 50));
        event.body["text"] = "x".repeat(300).into();
        event
    };
    let batch = |at: u64| (0..size).map(|it| one((it, at * size + it + 1))).collect();
    (0..BATCHES).map(batch).collect()
}

#[expect(clippy::disallowed_methods, reason = "it measures")]
async fn rate(engine: &Engine) -> f64 {
    let store = engine.database("rate").await.open().await;
    let batches = batches();
    let start = Instant::now();
    for events in batches {
        store.commit(Write { events, ..Write::default() }).await.expect("it is stored");
    }
    (BATCHES * BATCH_LIMIT as u64) as f64 / start.elapsed().as_secs_f64()
}

#[expect(clippy::disallowed_methods, reason = "it measures")]
fn bare(batches: &[Vec<NewEvent>]) -> f64 {
    let dir = tempfile::tempdir().expect("a folder");
    let mut file = File::create(dir.path().join("events")).expect("a file");
    let start = Instant::now();
    for events in batches {
        let bodies: Vec<String> = events.iter().map(|it| it.body.to_string()).collect();
        file.write_all(bodies.join("\n").as_bytes()).expect("it is written");
        file.sync_data().expect("it is on disk");
    }
    (BATCHES * BATCH_LIMIT as u64) as f64 / start.elapsed().as_secs_f64()
}
