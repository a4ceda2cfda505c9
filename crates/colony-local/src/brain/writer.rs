//! The only task that changes the site: applies each input to the core, persists
//! the result, then replies to the caller and wakes the tasks that depend on the
//! change. (The tasks that write to Git belong to the central orchestrator.)
//!
//! Inputs that arrive while a transaction is written form the next *batch*: one
//! call of `Site::step` each, one transaction for all. If the database cannot
//! commit, no caller gets a success and the site is reloaded from the stored
//! state. The writer also runs the site's timers.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::error;

use colony_core::event::Event;
use colony_core::site::{Changed, Input, Site};
use colony_core::time::Monotonic;
use colony_store::LocalStore;

use crate::brain::{Brain, BrainError, QueuedInput, SiteConfig, load};

/// The maximum number of inputs in one batch.
const BATCH_LIMIT: usize = 64;
/// How long to wait after a failed commit before a timer runs again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// How long the task sleeps if no timer is set.
const LONGEST_SLEEP: Duration = Duration::from_secs(86_400);

/// The task that applies inputs to the site and commits them to the database.
#[derive(Debug)]
pub(crate) struct Writer {
    brain: Brain,
    store: LocalStore,
    config: SiteConfig,
    inbox: mpsc::Receiver<QueuedInput>,
    /// When the next timer of the site is due.
    next_timer: Option<Monotonic>,
}

type Reply = Result<(), BrainError>;

/// The combined outcome of the inputs of one transaction.
#[derive(Default)]
struct Batch {
    changed: Changed,
    events: Vec<Event>,
    replies: Vec<(oneshot::Sender<Reply>, Reply)>,
}

impl Writer {
    pub(super) fn new(
        brain: Brain,
        store: LocalStore,
        config: SiteConfig,
        inbox: mpsc::Receiver<QueuedInput>,
    ) -> Writer {
        let next_timer = Some(brain.now().mono);
        Writer { brain, store, config, inbox, next_timer }
    }

    /// Processes inputs and timers until `stop`; inputs that are queued by then
    /// are still processed.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> anyhow::Result<()> {
        loop {
            let timer = tokio::time::sleep(self.until_next_timer());
            let first = tokio::select! {
                () = stop.cancelled() => break,
                queued = self.inbox.recv() => queued,
                () = timer => Some(tick()),
            };
            let Some(first) = first else { return Ok(()) };
            self.process_batch(first).await;
        }
        self.inbox.close();
        while let Some(queued) = self.inbox.recv().await {
            self.process_batch(queued).await;
        }
        Ok(())
    }

    fn until_next_timer(&self) -> Duration {
        self.next_timer.map_or(LONGEST_SLEEP, |it| it.since(self.brain.now().mono))
    }

    async fn process_batch(&mut self, first: QueuedInput) {
        let brain = self.brain.clone();
        let mut guard = brain.0.site.lock().await;
        // While the site is taken out, the lock holds `None`. It stays `None` if
        // a reload fails or this task ends; then the next batch reloads the site.
        let mut site = match guard.take() {
            Some(site) => site,
            None => match self.reload().await {
                Some(site) => site,
                None => return self.reject_queued(first),
            },
        };
        let batch = self.apply_inputs(&mut site, first);
        match self.persist(&site, &batch).await {
            Ok(()) => {
                brain.notifiers().notify_after(&site, &batch.changed, brain.now());
                *guard = Some(site);
                drop(guard);
                batch.reply();
            }
            Err(error) => {
                error!(
                    "could not commit to the database; every caller of this batch gets \
                     an error and may retry: {error:#}"
                );
                *guard = self.reload().await;
                drop(guard);
                batch.reply_unavailable();
            }
        }
    }

    /// Applies the queued inputs, up to the limit, without persisting them.
    fn apply_inputs(&mut self, site: &mut Site, first: QueuedInput) -> Batch {
        let mut batch = Batch::default();
        let mut next = Some(first);
        while let Some(QueuedInput { input, reply }) = next {
            let step = site.step(input, self.brain.now());
            batch.changed.add(&step.changed);
            batch.events.extend(step.events);
            batch
                .replies
                .push((reply, step.refused.map_or(Ok(()), |it| Err(BrainError::Refused(it)))));
            self.next_timer = step.wake;
            let room = batch.replies.len() < BATCH_LIMIT;
            next = room.then(|| self.inbox.try_recv().ok()).flatten();
        }
        batch
    }

    /// Stores the rows and events of a batch in one transaction. A heartbeat
    /// that changes nothing costs no write.
    async fn persist(&self, site: &Site, batch: &Batch) -> Result<(), colony_store::Error> {
        if batch.changed.is_empty() && batch.events.is_empty() {
            return Ok(());
        }
        let rows = batch.changed.keys().map(|key| {
            let row = site.row(&key);
            (key, row)
        });
        self.store.commit(rows.collect(), &batch.events).await
    }

    /// Reads the site from disk; `None` while it cannot be read.
    async fn reload(&mut self) -> Option<Site> {
        self.next_timer = Some(self.brain.now().mono.after(RETRY_DELAY));
        match load::site(&self.store, &self.config).await {
            Ok(site) => {
                self.brain.notifiers().reset(&site, self.brain.now());
                Some(site)
            }
            Err(error) => {
                error!("could not reload the site from the database: {error:#}");
                None
            }
        }
    }

    fn reject_queued(&mut self, first: QueuedInput) {
        let mut next = Some(first);
        while let Some(queued) = next {
            // The caller may have stopped waiting.
            let _ = queued.reply.send(Err(BrainError::Unavailable));
            next = self.inbox.try_recv().ok();
        }
    }
}

impl Batch {
    fn reply(self) {
        for (sender, reply) in self.replies {
            // The caller may have stopped waiting; what was stored stays.
            let _ = sender.send(reply);
        }
    }

    fn reply_unavailable(self) {
        for (sender, _) in self.replies {
            let _ = sender.send(Err(BrainError::Unavailable));
        }
    }
}

/// A tick of the clock; its reply is not read.
fn tick() -> QueuedInput {
    QueuedInput { input: Input::Tick, reply: oneshot::channel().0 }
}

#[cfg(test)]
mod tests {
    use colony_core::site::Timing;

    use super::*;

    #[tokio::test]
    async fn writer_sleeps_until_the_next_timer() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = LocalStore::open(&dir.path().join("local.db")).await.expect("a database");
        let site = "home".parse().expect("a name");
        let config = SiteConfig { site, incarnation: 0, timing: Timing::default() };
        let (brain, mut writer) = Brain::open(store, config).await.expect("a site");
        assert_eq!(writer.until_next_timer(), Duration::ZERO, "the first timer is due at once");

        writer.next_timer = Some(brain.now().mono.after(Duration::from_secs(3_600)));
        let (half, hour) = (Duration::from_secs(1_800), Duration::from_secs(3_600));
        assert!(
            (half..=hour).contains(&writer.until_next_timer()),
            "{:?}",
            writer.until_next_timer()
        );
        writer.next_timer = None;
        assert_eq!(writer.until_next_timer(), Duration::from_secs(86_400));
    }
}
