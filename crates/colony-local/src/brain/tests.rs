//! An answered input survives a restart; one that was not stored has no effect.

use tempfile::TempDir;

use colony_core::site::{Input, Site};

use super::*;
use crate::kit::{fill, open, open_as};

#[tokio::test]
async fn a_restart_gives_the_same_site() {
    let dir = TempDir::new().expect("a directory");
    let (brain, writer) = open(&dir).await;
    fill(&brain).await;
    let before = records(&brain).await;
    writer.stop().await;

    let (brain, writer) = open(&dir).await;

    assert_eq!(records(&brain).await, before);
    assert!(brain.read(|site, _| site.is_ready()).await.expect("a site"));
    writer.stop().await;
}

#[tokio::test]
async fn the_next_incarnation_begins_empty_and_keeps_the_log() {
    let dir = TempDir::new().expect("a directory");
    let (brain, writer) = open(&dir).await;
    fill(&brain).await;
    let store = writer.store.clone();
    writer.stop().await;

    let (brain, writer) = open_as(&dir, 1).await;

    let empty = |site: &Site, _| site.site_nodes().count() == 0 && site.log().next == 1;
    assert!(brain.read(empty).await.expect("a site"));
    assert!(!brain.notifiers().is_seeded());
    assert!(!store.events_from(0, 1, 10).await.expect("events").is_empty());
    writer.stop().await;
}

#[tokio::test]
async fn clock_of_the_site_goes_on() {
    let dir = TempDir::new().expect("a directory");
    let (brain, writer) = open(&dir).await;
    let seen = brain.read(|_, now| now).await.expect("a site");
    let next = brain.now();
    assert!(next.mono >= seen.mono && next.wall >= seen.wall, "{next:?} after {seen:?}");
    writer.stop().await;
}

#[tokio::test]
async fn a_heartbeat_that_moves_nothing_writes_nothing() {
    let dir = TempDir::new().expect("a directory");
    let (brain, writer) = open(&dir).await;
    fill(&brain).await;
    let before = writer.store.events_last(1).await.expect("events");

    let node = "a".parse().expect("a name");
    brain.step(Input::Heard { node, have: None }).await.expect("it is heard");

    assert_eq!(writer.store.events_last(1).await.expect("events"), before);
    writer.stop().await;
}

#[tokio::test]
async fn what_the_disk_refuses_never_happened() {
    let dir = TempDir::new().expect("a directory");
    let (brain, writer) = open(&dir).await;
    fill(&brain).await;
    let before = records(&brain).await;
    writer.store.close().await;

    let joined = brain.step(Input::Joined("b".parse().expect("a name"))).await;

    assert_eq!(joined, Err(BrainError::Unavailable));
    let read = brain.read(|site, _| site.site_nodes().count()).await;
    assert_eq!(read, Err(BrainError::Unavailable), "no caller sees what is not stored");
    let again = brain.step(Input::Joined("b".parse().expect("a name"))).await;
    assert_eq!(again, Err(BrainError::Unavailable), "requests meanwhile are refused");
    writer.stop().await;
    let (brain, writer) = open(&dir).await;
    assert_eq!(records(&brain).await, before);
    writer.stop().await;
}

#[tokio::test]
async fn site_goes_on_from_the_disk_after_a_failed_commit() {
    let dir = TempDir::new().expect("a directory");
    let (brain, writer) = open(&dir).await;
    fill(&brain).await;
    let before = records(&brain).await;
    let mut event = writer.store.events_last(1).await.expect("events").remove(0);
    event.seq += 1;
    writer.store.commit(Vec::new(), &[event]).await.expect("the number of the next event is taken");

    let joined = brain.step(Input::Joined("b".parse().expect("a name"))).await;

    assert_eq!(joined, Err(BrainError::Unavailable));
    assert_eq!(records(&brain).await, before);
    writer.stop().await;
}

#[tokio::test]
async fn replaced_orchestrator_stays_fenced_after_a_restart() {
    let dir = TempDir::new().expect("a directory");
    let (brain, writer) = open(&dir).await;
    fill(&brain).await;
    // A row changes without an event.
    brain.step(Input::Fenced { by: 1 }).await.expect("it is taken");
    writer.stop().await;

    let (brain, writer) = open(&dir).await;

    assert_eq!(brain.read(|site, _| site.fenced_by()).await, Ok(Some(1)));
    writer.stop().await;
}

#[tokio::test]
async fn inputs_that_wait_share_a_transaction_and_all_are_answered() {
    let dir = TempDir::new().expect("a directory");
    let (brain, writer) = open(&dir).await;
    brain.step(Input::Seed(Box::default())).await.expect("it is seeded");
    let join = |number: u32| {
        let (brain, node) = (brain.clone(), format!("n{number}").parse().expect("a name"));
        async move { brain.step(Input::Joined(node)).await }
    };

    let answers = futures_util::future::join_all((0..200).map(join)).await;

    assert!(answers.iter().all(Result::is_ok));
    let (site_nodes, next) =
        brain.read(|site, _| (site.site_nodes().count(), site.log().next)).await.expect("a site");
    assert_eq!((site_nodes, next), (200, 201));
    assert_eq!(writer.store.events_from(0, 1, 500).await.expect("events").len(), 200);
    writer.stop().await;
}

/// Every record of the site except its clock, which advances.
async fn records(brain: &Brain) -> Vec<String> {
    let all = |site: &Site, _| -> Vec<String> {
        let rows = load::keys(site).filter_map(|key| site.row(&key));
        let text = |row| {
            let mut value = serde_json::to_value(row).expect("JSON");
            value.as_object_mut().map(|it| it.remove("clock"));
            value.to_string()
        };
        rows.map(text).collect()
    };
    brain.read(all).await.expect("a site")
}
