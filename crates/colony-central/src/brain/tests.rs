//! What is left of a write that nobody waits for any more.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use colony_core::time::Wall;

use super::*;

#[tokio::test]
async fn a_write_that_is_given_up_leaves_the_fleet_as_it_is_stored() {
    let dir = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", dir.path().join("central.db").display());
    let store = CentralStore::open(&url).await.expect("a database");
    let brain = Brain::open(store).await.expect("a brain");

    given_up(&brain, "home");

    let stored = Fleet::restore(brain.store().fleet_rows().await.expect("rows"));
    let fleet = brain.read().await.expect("the fleet");
    assert_eq!(named(&fleet), named(&stored));
    drop(fleet);
    add(&brain, "home").await.expect("it is stored");
    assert_eq!(named(&brain.read().await.expect("the fleet")), "home");
    let again = Brain::open(brain.store().clone()).await.expect("a brain");
    assert_eq!(named(&again.read().await.expect("the fleet")), "home", "it was stored");
}

/// Begins to write and goes away while the transaction is open.
fn given_up(brain: &Brain, site: &str) {
    let mut write = pin!(add(brain, site));
    let polled = write.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Pending), "it waits for the disk: {polled:?}");
}

async fn add(brain: &Brain, site: &str) -> anyhow::Result<()> {
    let site: SiteName = site.parse().expect("a name");
    let at = (Some(&site), None);
    let event = own_event("site_added", "ana", Wall(1), at, serde_json::json!({}));
    brain
        .write(|fleet| {
            anyhow::ensure!(fleet.site_add(&site), "it is there");
            Ok(((), Write { events: vec![event], ..Write::default() }))
        })
        .await
}

fn named(fleet: &Fleet) -> String {
    fleet.sites().map(|it| it.0.as_str()).collect::<Vec<_>>().join(" ")
}
