//! The projection in memory and on disk: one writer, snapshots for readers.
//!
//! `write` is the only way to change anything. Its closure runs on the staged
//! fleet, one closure at a time; the resulting write waits for the writer
//! (`writer.rs`), which commits all waiting writes in one transaction,
//! publishes the staged fleet, wakes waiting tasks, and only then replies.
//! Readers take the published snapshot: they never wait for a commit, and never
//! see uncommitted changes. If the future of a `write` is dropped, its change is
//! either not staged at all, or staged and committed with the others.
//!
//! If a commit fails, everything staged after it is refused and the staged fleet
//! is reset to the published one. A commit that returned an error may still have
//! reached the disk, so its sites are marked and read again before the next
//! closure runs.

mod last_contact;
mod record;
mod site_notifier;
mod stage;
#[cfg(test)]
mod tests;
mod writer;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use colony_core::fleet::{Fleet, RECENT_LIMIT, Row, RowKey};
use colony_core::id::SiteName;
use colony_core::margo::Digest;
use colony_store::{CentralStore, Error, Write};
use parking_lot::{Mutex, MutexGuard, RwLock};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) use record::{BatchNames, batch_events, own_event};
pub(crate) use site_notifier::SiteNotifier;

use last_contact::LastHeard;
use stage::Stage;

/// The committed fleet at one moment; it never changes.
pub(crate) type Snapshot = Arc<Fleet>;

/// Everything central knows, in memory and on disk.
#[derive(Debug)]
pub(crate) struct Brain {
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// The state that callers and the writer share.
#[derive(Debug)]
struct Shared {
    /// The permit to stage a change; readers never take it.
    entry: Arc<Semaphore>,
    stage: Mutex<Stage>,
    /// Wakes the writer.
    staged: Notify,
    published: RwLock<Snapshot>,
    store: CentralStore,
    /// How many transactions were committed.
    commits: AtomicU64,
    head: watch::Sender<i64>,
    /// Cancelled when the writer ends, however it does.
    ended: CancellationToken,
    notifier: SiteNotifier,
    heard: LastHeard,
}

impl Brain {
    /// Reads the projection from its database and starts the writer.
    pub(crate) async fn open(store: CentralStore) -> Result<Brain, Error> {
        let mut fleet = Fleet::restore(store.fleet_rows().await?);
        let sites: Vec<SiteName> = fleet.sites().map(|it| it.0.clone()).collect();
        for site in sites {
            let hashes = hashes(&store, &fleet, &site).await?;
            fleet.recall(&site, hashes);
        }
        let head = watch::Sender::new(store.event_head().await?);
        let shared = Arc::new(Shared {
            entry: Arc::new(Semaphore::new(1)),
            published: RwLock::new(Arc::new(fleet.clone())),
            stage: Mutex::new(Stage::new(fleet)),
            staged: Notify::new(),
            store,
            commits: AtomicU64::new(0),
            head,
            ended: CancellationToken::new(),
            notifier: SiteNotifier::default(),
            heard: LastHeard::default(),
        });
        let writer = tokio::spawn(writer::run(shared.clone()));
        Ok(Brain { shared, writer: Mutex::new(Some(writer)) })
    }

    pub(crate) fn store(&self) -> &CentralStore {
        &self.shared.store
    }

    pub(crate) fn notifier(&self) -> &SiteNotifier {
        &self.shared.notifier
    }

    /// Follows the position of the newest event.
    pub(crate) fn head(&self) -> watch::Receiver<i64> {
        self.shared.head.subscribe()
    }

    /// The committed fleet; costs one reference count.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.shared.snapshot()
    }

    /// Like `snapshot`, with the same error type as `write`.
    pub(crate) async fn read(&self) -> Result<Snapshot, Error> {
        Ok(self.snapshot())
    }

    /// Changes the fleet and stores the change, in one transaction with other
    /// waiting changes; `act` may refuse, and then nothing has changed.
    pub(crate) async fn write<T, E: From<Error>>(
        &self,
        act: impl FnOnce(&mut Fleet) -> Result<(T, Write), E>,
    ) -> Result<T, E> {
        let shared = &self.shared;
        let permit = shared.entry.clone().acquire_owned().await.map_err(|_| stopping())?;
        let (answer, receiver) = {
            // There is no await after the stage is taken: a caller that is
            // dropped has staged all of its change or nothing.
            let mut stage = shared.stage_after_reload().await?;
            stage.fleet.change_begin();
            match act(&mut stage.fleet) {
                Ok((answer, write)) => (answer, stage.push(write, permit)),
                Err(refusal) => {
                    stage.fleet.change_undo();
                    return Err(refusal);
                }
            }
        };
        shared.staged.notify_one();
        receiver.await.unwrap_or_else(|_| Err(stopping()))?;
        Ok(answer)
    }

    /// Fails if the writer ends before `stop`: nothing could be stored from
    /// then on.
    pub(crate) async fn writer_watch(&self, stop: CancellationToken) -> anyhow::Result<()> {
        tokio::select! {
            () = stop.cancelled() => Ok(()),
            () = self.shared.ended.cancelled() => anyhow::bail!("the database writer has ended"),
        }
    }

    /// Commits the staged changes, refuses all later ones and ends the writer.
    pub(crate) async fn close(&self) {
        if let Err(error) = self.heard_flush().await {
            tracing::warn!("could not store the last contact of the sites: {error}");
        }
        self.shared.close();
        let writer = self.writer.lock().take();
        if let Some(writer) = writer
            && let Err(error) = writer.await
        {
            tracing::error!("the database writer ended badly: {error}");
        }
        self.store().close().await;
    }
}

impl Drop for Brain {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Shared {
    fn snapshot(&self) -> Snapshot {
        self.published.read().clone()
    }

    fn publish(&self, fleet: Fleet) {
        let fleet = Arc::new(fleet);
        let before = {
            let mut published = self.published.write();
            std::mem::replace(&mut *published, fleet)
        };
        // Dropped outside the lock: it may be the last reference to a large
        // fleet.
        drop(before);
    }

    fn close(&self) {
        self.entry.close();
        self.stage.lock().closed = true;
        self.staged.notify_one();
    }

    /// The stage, after all sites whose last commit failed were read again.
    /// Only the holder of the permit calls it, and after a failure nothing is
    /// staged.
    async fn stage_after_reload(&self) -> Result<MutexGuard<'_, Stage>, Error> {
        loop {
            let site = {
                let stage = self.stage.lock();
                let Some(site) = stage.doubtful.first().cloned() else { return Ok(stage) };
                site
            };
            // A commit whose caller gave up may still be on its way to the
            // disk.
            self.store.settle().await?;
            let rows = self.store.fleet_rows_of(&site).await?;
            let hashes = hashes(&self.store, &Fleet::restore(rows.clone()), &site).await?;
            let position = self.store.event_head().await?;
            let fleet = {
                let mut stage = self.stage.lock();
                stage.fleet.reload(&site, rows);
                stage.fleet.recall(&site, hashes);
                stage.doubtful.remove(&site);
                stage.fleet.clone()
            };
            self.publish(fleet);
            self.advance(position);
            self.notifier.ring_one(&site);
        }
    }

    /// Publishes that the log has grown up to this position.
    fn advance(&self, position: i64) {
        self.head.send_if_modified(|head| {
            let newer = *head < position;
            *head = position.max(*head);
            newer
        });
    }
}

fn stopping() -> Error {
    Error::Uncommitted { problem: "the orchestrator is stopping".to_owned() }
}

/// The rows to store for these keys.
pub(crate) fn rows_of<'a>(
    fleet: &Fleet,
    keys: impl Iterator<Item = &'a RowKey>,
) -> Vec<(RowKey, Option<Row>)> {
    keys.map(|it| (it.clone(), fleet.row(it))).collect()
}

/// The hashes of the newest events of a site's log, oldest first.
async fn hashes(
    store: &CentralStore,
    fleet: &Fleet,
    site: &SiteName,
) -> Result<Vec<Digest>, Error> {
    let incarnation = fleet.site(site).and_then(|it| it.incarnation());
    let Some(incarnation) = incarnation else { return Ok(Vec::new()) };
    store.event_hashes(site, incarnation, RECENT_LIMIT).await
}
