//! Tests of what callers and readers can rely on: one writer, snapshots.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use colony_core::event::CentralEvent;
use colony_core::site::Action;
use colony_core::time::Timestamp;
use futures_util::future::join_all;

use super::*;

#[tokio::test]
async fn a_write_that_is_given_up_is_committed_once_it_is_staged() {
    let world = World::open().await;
    let brain = &world.brain;
    let mut head = brain.head();

    given_up(pin!(add(brain, "home")));

    head.changed().await.expect("it was committed");
    assert_eq!(named(&brain.snapshot()), "home");
    assert_eq!(world.stored().await, "home");
    add(brain, "home").await.expect_err("it is there");
    add(brain, "away").await.expect("it is stored");
    assert_eq!(world.stored().await, "away home");
}

#[tokio::test]
async fn a_snapshot_neither_waits_for_a_commit_nor_shows_what_is_not_committed() {
    let world = World::open().await;
    let brain = &world.brain;
    add(brain, "home").await.expect("it is stored");
    let before = brain.snapshot();

    let mut staged = pin!(add(brain, "away"));
    poll_once(staged.as_mut());

    assert_eq!(named(&brain.snapshot()), "home", "the writer has not run yet");
    staged.await.expect("it is stored");
    assert_eq!(named(&brain.snapshot()), "away home");
    assert_eq!(named(&before), "home", "a snapshot stays as it was");
}

#[tokio::test]
async fn writes_that_wait_share_a_transaction_and_all_are_answered() {
    let world = World::open().await;
    let brain = &world.brain;
    let names: Vec<String> = (0..100).map(|it| format!("s{it}")).collect();

    let mut first = pin!(add(brain, "first"));
    poll_once(first.as_mut());
    let answers = join_all(names.iter().map(|it| add(brain, it))).await;

    first.await.expect("it is stored");
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(brain.snapshot().sites().count(), 101);
    assert_eq!(*brain.head().borrow(), 101, "each has its event");
    let commits = brain.shared.commits.load(Ordering::Relaxed);
    assert!(commits <= 3, "{commits} transactions for 101 writes");
}

#[tokio::test]
async fn a_closure_that_refuses_changes_nothing() {
    let world = World::open().await;
    let brain = &world.brain;
    add(brain, "home").await.expect("it is stored");
    let before = brain.snapshot();

    let refused = brain
        .write(|fleet| {
            fleet.site_add(&site("away"));
            fleet.change_planned(&site("home"), &"hello".parse()?, Timestamp(2))?;
            fleet.command(&site("home"), Action::ReleaseRemoval, "ana", Timestamp(9))?;
            Err::<((), Write), _>(anyhow::anyhow!("no"))
        })
        .await;

    assert_eq!(refused.expect_err("it refuses").to_string(), "no");
    assert_eq!(*brain.snapshot(), *before);
    add(brain, "other").await.expect("it is stored");
    assert_eq!(named(&brain.snapshot()), "home other");
    assert_eq!(brain.snapshot().deployment_names().count(), 0);
    assert_eq!(world.stored().await, "home other");
}

#[tokio::test]
async fn a_failed_commit_leaves_the_stored_state_and_refuses_what_is_staged_on_it() {
    let world = World::open().await;
    let brain = &world.brain;
    add(brain, "home").await.expect("it is stored");
    let before = brain.snapshot();
    brain.store().close().await;

    let mut first = pin!(add(brain, "first"));
    poll_once(first.as_mut());
    let mut second = pin!(add(brain, "second"));
    poll_once(second.as_mut());
    let mut apart = pin!(spend(brain, "token", "apart"));
    poll_once(apart.as_mut());

    let cause = first.await.expect_err("the database is closed");
    let expected = format!("commit failed; reverted to the last stored state: {cause:#}");
    for error in [second.await, apart.await].map(|it| it.expect_err("the database is closed")) {
        assert_eq!(error.to_string(), expected, "every change gets the whole cause");
    }
    assert_eq!(*brain.snapshot(), *before);
    let again = world.reopen().await;
    assert_eq!(named(&again.snapshot()), "home");
}

#[tokio::test]
async fn a_write_that_the_database_refuses_fails_alone() {
    let world = World::open().await;
    let brain = &world.brain;
    spend(brain, "token", "one").await.expect("it is the first use");

    let mut before = pin!(add(brain, "before"));
    poll_once(before.as_mut());
    let mut again = pin!(spend(brain, "token", "two"));
    poll_once(again.as_mut());
    let mut after = pin!(add(brain, "after"));
    poll_once(after.as_mut());

    before.await.expect("it is stored");
    again.await.expect_err("the token was used");
    after.await.expect("it is stored");
    assert_eq!(named(&brain.snapshot()), "after before one");
    assert_eq!(world.stored().await, "after before one");
}

#[tokio::test]
async fn sites_are_heard_without_the_writer_and_stored_together() {
    let world = World::open().await;
    let brain = &world.brain;
    join_all(["a", "b", "c"].map(|it| add(brain, it))).await;
    let commits = brain.shared.commits.load(Ordering::Relaxed);

    for name in ["a", "b", "c"] {
        brain.record_contact(&site(name), Some(Timestamp(5)), Timestamp(7));
    }
    assert_eq!(last_heard(&brain.snapshot()), [None, None, None]);
    brain.heard_flush().await.expect("it is stored");
    brain.heard_flush().await.expect("there is nothing to store");

    assert_eq!(brain.shared.commits.load(Ordering::Relaxed), commits + 1);
    assert_eq!(last_heard(&brain.snapshot()), [Some(Timestamp(7)); 3]);
    assert_eq!(last_heard(&world.reopen().await.snapshot()), [Some(Timestamp(7)); 3]);
}

#[tokio::test]
async fn only_commands_and_another_orchestrator_ring_the_bell_of_a_site() {
    let world = World::open().await;
    let brain = &world.brain;
    add(brain, "home").await.expect("it is stored");
    let mut bell = brain.notifier().listen(&site("home"));

    brain.record_contact(&site("home"), None, Timestamp(7));
    brain.heard_flush().await.expect("it is stored");
    plan(brain, "home").await.expect("it is stored");
    assert!(!bell.has_changed().expect("the bell is there"));

    order(brain, "home").await.expect("it is stored");
    assert!(bell.has_changed().expect("the bell is there"));
    bell.mark_unchanged();
    spend_at(brain, "home").await.expect("it is stored");
    assert!(bell.has_changed().expect("the bell is there"));
}

#[tokio::test]
async fn what_is_staged_is_committed_before_the_brain_closes() {
    let world = World::open().await;
    let mut write = pin!(add(&world.brain, "home"));
    poll_once(write.as_mut());

    world.brain.close().await;

    write.await.expect("it is stored");
    add(&world.brain, "late").await.expect_err("the brain is closed");
    assert_eq!(named(&world.reopen().await.snapshot()), "home");
}

struct World {
    brain: Brain,
    url: String,
    _dir: tempfile::TempDir,
}

impl World {
    async fn open() -> World {
        let dir = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", dir.path().join("central.db").display());
        let store = CentralStore::open(&url).await.expect("a database");
        World { brain: Brain::open(store).await.expect("a brain"), url, _dir: dir }
    }

    async fn reopen(&self) -> Brain {
        let store = CentralStore::open(&self.url).await.expect("a database");
        Brain::open(store).await.expect("a brain")
    }

    /// The sites on disk.
    async fn stored(&self) -> String {
        named(&Fleet::restore(self.brain.store().fleet_rows().await.expect("rows")))
    }
}

/// Begins to write and drops the future before the commit.
fn given_up<T: std::fmt::Debug>(write: Pin<&mut impl Future<Output = T>>) {
    poll_once(write);
}

/// Polls until the future waits for the writer, which runs when the test waits.
fn poll_once<T: std::fmt::Debug>(future: Pin<&mut impl Future<Output = T>>) {
    let polled = future.poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Pending), "it waits for the writer: {polled:?}");
}

async fn add(brain: &Brain, name: &str) -> anyhow::Result<()> {
    let site = site(name);
    brain
        .write(|fleet| {
            anyhow::ensure!(fleet.site_add(&site), "it is there");
            Ok(((), Write { events: vec![added(&site)], ..Write::default() }))
        })
        .await
}

/// Adds a site with a token that can be used once.
async fn spend(brain: &Brain, token: &str, name: &str) -> anyhow::Result<()> {
    let once = Some(("join".to_owned(), token.to_owned(), Timestamp(1)));
    brain
        .write(|fleet| {
            fleet.site_add(&site(name));
            Ok(((), Write { once, ..Write::default() }))
        })
        .await
}

async fn spend_at(brain: &Brain, name: &str) -> anyhow::Result<()> {
    let joined = |fleet: &mut Fleet| fleet.join(&site(name), Timestamp(8), true).map(drop);
    brain.write(|fleet| Ok((joined(fleet)?, Write::default()))).await
}

async fn plan(brain: &Brain, name: &str) -> anyhow::Result<()> {
    let hello = "hello".parse()?;
    let planned = |fleet: &mut Fleet| fleet.change_planned(&site(name), &hello, Timestamp(2));
    brain.write(|fleet| Ok((planned(fleet)?, Write::default()))).await
}

async fn order(brain: &Brain, name: &str) -> anyhow::Result<()> {
    let given = |fleet: &mut Fleet| {
        fleet.command(&site(name), Action::ReleaseRemoval, "ana", Timestamp(9)).map(drop)
    };
    brain.write(|fleet| Ok((given(fleet)?, Write::default()))).await
}

fn added(site: &SiteName) -> colony_store::NewEvent {
    let event = CentralEvent::SiteAdded { labels: Default::default() };
    own_event(&event, "ana", Timestamp(1), (Some(site), None))
}

fn last_heard(fleet: &Fleet) -> Vec<Option<Timestamp>> {
    fleet.sites().map(|it| it.1.head.last_heard).collect()
}

fn site(name: &str) -> SiteName {
    name.parse().expect("a name")
}

fn named(fleet: &Fleet) -> String {
    fleet.sites().map(|it| it.0.as_str()).collect::<Vec<_>>().join(" ")
}
