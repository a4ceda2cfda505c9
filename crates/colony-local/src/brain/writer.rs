//! The one that steps the site: persist first, then answer and wake.
//!
//! Inputs that arrive while a transaction is written share the next one. If
//! the disk refuses, nobody is told that anything happened and the site is put
//! together again from what is stored. It also keeps the site's timers.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::error;

use colony_core::event::Event;
use colony_core::site::{Changed, Input, Site};
use colony_core::time::Mono;
use colony_store::LocalStore;

use crate::brain::{Asked, Brain, Denied, Origin, load};

/// The most inputs of one transaction.
const TOGETHER: usize = 64;
/// How long to wait before the disk is asked again.
const AGAIN: Duration = Duration::from_secs(1);

/// Runs for as long as the role does.
#[derive(Debug)]
pub(crate) struct Writer {
    brain: Brain,
    store: LocalStore,
    origin: Origin,
    inbox: mpsc::Receiver<Asked>,
    wake: Option<Mono>,
}

type Answer = Result<(), Denied>;

/// What a group of steps came to.
#[derive(Default)]
struct Turn {
    changed: Changed,
    events: Vec<Event>,
    answers: Vec<(oneshot::Sender<Answer>, Answer)>,
}

impl Writer {
    pub(super) fn new(
        brain: Brain,
        store: LocalStore,
        origin: Origin,
        inbox: mpsc::Receiver<Asked>,
    ) -> Writer {
        let wake = Some(brain.now().mono);
        Writer { brain, store, origin, inbox, wake }
    }

    /// Takes inputs and keeps time until `stop`; what waits then is still done.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> anyhow::Result<()> {
        loop {
            let wake = tokio::time::sleep(self.until_wake());
            let first = tokio::select! {
                () = stop.cancelled() => break,
                asked = self.inbox.recv() => asked,
                () = wake => Some(tick()),
            };
            let Some(first) = first else { return Ok(()) };
            self.turn(first).await;
        }
        self.inbox.close();
        while let Some(asked) = self.inbox.recv().await {
            self.turn(asked).await;
        }
        Ok(())
    }

    fn until_wake(&self) -> Duration {
        let day = Duration::from_secs(86_400);
        self.wake.map_or(day, |it| it.since(self.brain.now().mono))
    }

    async fn turn(&mut self, first: Asked) {
        let brain = self.brain.clone();
        let mut held = brain.0.site.lock().await;
        let mut site = match held.take() {
            Some(site) => site,
            None => match self.recover().await {
                Some(site) => site,
                None => return self.give_up(first),
            },
        };
        let turn = self.steps(&mut site, first);
        match self.persist(&site, &turn).await {
            Ok(()) => {
                brain.wakes().after(&site, &turn.changed, brain.now());
                *held = Some(site);
                drop(held);
                turn.answer();
            }
            Err(error) => {
                error!("could not store what happened, nothing of it counts: {error:#}");
                *held = self.recover().await;
                drop(held);
                turn.deny();
            }
        }
    }

    fn steps(&mut self, site: &mut Site, first: Asked) -> Turn {
        let mut turn = Turn::default();
        let mut next = Some(first);
        while let Some(Asked { input, answer }) = next {
            let step = site.step(input, self.brain.now());
            turn.changed.add(&step.changed);
            turn.events.extend(step.events);
            turn.answers.push((answer, step.refused.map_or(Ok(()), |it| Err(Denied::Refused(it)))));
            self.wake = step.wake;
            let room = turn.answers.len() < TOGETHER;
            next = room.then(|| self.inbox.try_recv().ok()).flatten();
        }
        turn
    }

    /// A heartbeat that moved nothing costs no write.
    async fn persist(&self, site: &Site, turn: &Turn) -> Result<(), colony_store::Error> {
        if turn.changed.is_empty() && turn.events.is_empty() {
            return Ok(());
        }
        let rows = turn.changed.keys().map(|key| {
            let row = site.row(&key);
            (key, row)
        });
        self.store.commit(rows.collect(), &turn.events).await
    }

    /// What is on disk is what counts; `None` while it cannot be read.
    async fn recover(&mut self) -> Option<Site> {
        self.wake = Some(self.brain.now().mono.after(AGAIN));
        match load::site(&self.store, &self.origin).await {
            Ok(site) => {
                self.brain.wakes().reset(&site, self.brain.now());
                Some(site)
            }
            Err(error) => {
                error!("{error:#}");
                None
            }
        }
    }

    fn give_up(&mut self, first: Asked) {
        let mut next = Some(first);
        while let Some(asked) = next {
            // Whoever asked may have left.
            let _ = asked.answer.send(Err(Denied::Unavailable));
            next = self.inbox.try_recv().ok();
        }
    }
}

impl Turn {
    fn answer(self) {
        for (sender, answer) in self.answers {
            // Whoever asked may have left; what was stored stays.
            let _ = sender.send(answer);
        }
    }

    fn deny(self) {
        for (sender, _) in self.answers {
            let _ = sender.send(Err(Denied::Unavailable));
        }
    }
}

/// Time has passed; nobody waits for the answer.
fn tick() -> Asked {
    Asked { input: Input::Tick, answer: oneshot::channel().0 }
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
        let origin = Origin { site, incarnation: 0, timing: Timing::default() };
        let (brain, mut writer) = Brain::open(store, origin).await.expect("a site");
        assert_eq!(writer.until_wake(), Duration::ZERO, "it looks around once it runs");

        writer.wake = Some(brain.now().mono.after(Duration::from_secs(3_600)));
        let (half, hour) = (Duration::from_secs(1_800), Duration::from_secs(3_600));
        assert!((half..=hour).contains(&writer.until_wake()), "{:?}", writer.until_wake());
        writer.wake = None;
        assert_eq!(writer.until_wake(), Duration::from_secs(86_400));
    }
}
