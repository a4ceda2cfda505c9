//! What is left of a write that nobody waits for any more.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use colony_core::time::Wall;

use super::*;

/// Gives the write up at each of its steps: before its transaction, within it,
/// and while the commit is on its way to the disk.
#[tokio::test]
async fn a_write_that_is_given_up_leaves_the_fleet_as_it_is_stored() {
    for polls in 1..=16 {
        let dir = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", dir.path().join("central.db").display());
        let store = CentralStore::open(&url).await.expect("a database");
        let brain = Brain::open(store).await.expect("a brain");

        give_up(add(&brain, "home"), polls).await;

        let seen = named(&*brain.read().await.expect("the fleet"));
        // Behind whatever is still on its way.
        brain.store().commit(Write::default()).await.expect("nothing to do");
        assert_eq!(seen, stored(&brain).await, "given up after {polls} polls");
        let again = add(&brain, "home").await;
        assert_eq!(again.is_err(), seen == "home", "{again:?} after {polls} polls");
        assert_eq!(named(&*brain.read().await.expect("the fleet")), "home");
        assert_eq!(stored(&brain).await, "home");
    }
}

/// Drops the work when it waits for the `polls`th time.
async fn give_up(work: impl Future, polls: usize) {
    let (mut work, mut polled) = (pin!(work), 0);
    poll_fn(|context| {
        polled += 1;
        match work.as_mut().poll(context) {
            Poll::Pending if polled < polls => Poll::Pending,
            Poll::Ready(_) | Poll::Pending => Poll::Ready(()),
        }
    })
    .await;
}

/// The sites on disk.
async fn stored(brain: &Brain) -> String {
    named(&Fleet::restore(brain.store().fleet_rows().await.expect("rows")))
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
