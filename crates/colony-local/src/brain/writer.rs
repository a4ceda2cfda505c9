//! The only writer of the site: persists each step, then answers the caller and
//! wakes the tasks that depend on the change.
//!
//! Inputs that arrive while a transaction is written share the next one. If the
//! database cannot commit, no caller gets a success and the site is
//! restored from the stored state. The writer also runs the site's timers.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::error;

use colony_core::event::Event;
use colony_core::site::{Changed, Input, Site};
use colony_core::time::Monotonic;
use colony_store::LocalStore;

use crate::brain::{Brain, Denied, QueuedInput, SiteConfig, load};

/// The most inputs of one transaction.
const BATCH_LIMIT: usize = 64;
/// How long to wait before the disk is tried again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The task that applies inputs to the site and commits them to the database.
#[derive(Debug)]
pub(crate) struct Writer {
    brain: Brain,
    store: LocalStore,
    config: SiteConfig,
    inbox: mpsc::Receiver<QueuedInput>,
    wake: Option<Monotonic>,
}

type Answer = Result<(), Denied>;

/// The combined outcome of a group of steps.
#[derive(Default)]
struct CommitGroup {
    changed: Changed,
    events: Vec<Event>,
    answers: Vec<(oneshot::Sender<Answer>, Answer)>,
}

impl Writer {
    pub(super) fn new(
        brain: Brain,
        store: LocalStore,
        config: SiteConfig,
        inbox: mpsc::Receiver<QueuedInput>,
    ) -> Writer {
        let wake = Some(brain.now().mono);
        Writer { brain, store, config, inbox, wake }
    }

    /// Processes inputs and timers until `stop`; inputs that are queued by then
    /// are still processed.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> anyhow::Result<()> {
        loop {
            let wake = tokio::time::sleep(self.until_wake());
            let first = tokio::select! {
                () = stop.cancelled() => break,
                queued = self.inbox.recv() => queued,
                () = wake => Some(tick()),
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

    fn until_wake(&self) -> Duration {
        let day = Duration::from_secs(86_400);
        self.wake.map_or(day, |it| it.since(self.brain.now().mono))
    }

    async fn process_batch(&mut self, first: QueuedInput) {
        let brain = self.brain.clone();
        let mut guard = brain.0.site.lock().await;
        let mut site = match guard.take() {
            Some(site) => site,
            None => match self.recover().await {
                Some(site) => site,
                None => return self.answer_all_unavailable(first),
            },
        };
        let group = self.steps(&mut site, first);
        match self.persist(&site, &group).await {
            Ok(()) => {
                brain.wakes().after(&site, &group.changed, brain.now());
                *guard = Some(site);
                drop(guard);
                group.answer();
            }
            Err(error) => {
                error!(
                    "could not commit to the database; every caller of this batch gets \
                     an error and may retry: {error:#}"
                );
                *guard = self.recover().await;
                drop(guard);
                group.answer_unavailable();
            }
        }
    }

    fn steps(&mut self, site: &mut Site, first: QueuedInput) -> CommitGroup {
        let mut group = CommitGroup::default();
        let mut next = Some(first);
        while let Some(QueuedInput { input, answer }) = next {
            let step = site.step(input, self.brain.now());
            group.changed.add(&step.changed);
            group.events.extend(step.events);
            group
                .answers
                .push((answer, step.refused.map_or(Ok(()), |it| Err(Denied::Refused(it)))));
            self.wake = step.wake;
            let room = group.answers.len() < BATCH_LIMIT;
            next = room.then(|| self.inbox.try_recv().ok()).flatten();
        }
        group
    }

    /// A heartbeat that changes nothing costs no write.
    async fn persist(&self, site: &Site, group: &CommitGroup) -> Result<(), colony_store::Error> {
        if group.changed.is_empty() && group.events.is_empty() {
            return Ok(());
        }
        let rows = group.changed.keys().map(|key| {
            let row = site.row(&key);
            (key, row)
        });
        self.store.commit(rows.collect(), &group.events).await
    }

    /// Restores the site from disk; `None` while it cannot be read.
    async fn recover(&mut self) -> Option<Site> {
        self.wake = Some(self.brain.now().mono.after(RETRY_DELAY));
        match load::site(&self.store, &self.config).await {
            Ok(site) => {
                self.brain.wakes().reset(&site, self.brain.now());
                Some(site)
            }
            Err(error) => {
                error!("could not reload the site from the database: {error:#}");
                None
            }
        }
    }

    fn answer_all_unavailable(&mut self, first: QueuedInput) {
        let mut next = Some(first);
        while let Some(queued) = next {
            // The caller may have stopped waiting.
            let _ = queued.answer.send(Err(Denied::Unavailable));
            next = self.inbox.try_recv().ok();
        }
    }
}

impl CommitGroup {
    fn answer(self) {
        for (sender, answer) in self.answers {
            // The caller may have stopped waiting; what was stored stays.
            let _ = sender.send(answer);
        }
    }

    fn answer_unavailable(self) {
        for (sender, _) in self.answers {
            let _ = sender.send(Err(Denied::Unavailable));
        }
    }
}

/// A tick of the clock; its answer is not read.
fn tick() -> QueuedInput {
    QueuedInput { input: Input::Tick, answer: oneshot::channel().0 }
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
        assert_eq!(writer.until_wake(), Duration::ZERO, "it looks around once it runs");

        writer.wake = Some(brain.now().mono.after(Duration::from_secs(3_600)));
        let (half, hour) = (Duration::from_secs(1_800), Duration::from_secs(3_600));
        assert!((half..=hour).contains(&writer.until_wake()), "{:?}", writer.until_wake());
        writer.wake = None;
        assert_eq!(writer.until_wake(), Duration::from_secs(86_400));
    }
}
