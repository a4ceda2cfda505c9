//! The site in memory and on disk, as the other tasks see it.
//!
//! `Brain` decides nothing: all decisions are made by the core
//! (`colony_core::site`), which it holds, feeds with inputs and persists.
//!
//! Inputs go to one writer (`writer.rs`), which applies them to the core,
//! persists rows and events in one transaction and only then replies and wakes. A reader
//! never sees state that is not persisted, because the writer holds the lock
//! until then. If a caller stops waiting, its input is still executed.

mod load;
mod notifiers;
#[cfg(test)]
mod tests;
mod writer;

use std::sync::Arc;

use tokio::sync::{Mutex, mpsc, oneshot};

use colony_core::event::Incarnation;
use colony_core::id::SiteName;
use colony_core::site::{Input, Refused, Site, Timing};
use colony_core::time::Now;
use colony_store::LocalStore;

use crate::clock::Clock;
pub(crate) use notifiers::Notifiers;
pub(crate) use writer::Writer;

/// Capacity of the input queue; further senders wait.
const QUEUE: usize = 256;

/// The identity of the site and its timing settings. The incarnation numbers the
/// orchestrators that have joined for this site, one after the other.
#[derive(Debug, Clone)]
pub(crate) struct SiteConfig {
    pub site: SiteName,
    pub incarnation: Incarnation,
    pub timing: Timing,
}

/// A handle on the site; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Brain(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// `None` while the state in memory may not match the disk: the next batch
    /// of the writer reloads it.
    site: Mutex<Option<Site>>,
    inbox: mpsc::Sender<QueuedInput>,
    clock: Clock,
    notifiers: Notifiers,
}

/// An input and the channel for its result.
#[derive(Debug)]
struct QueuedInput {
    input: Input,
    reply: oneshot::Sender<Result<(), BrainError>>,
}

/// Why the brain did not do what was asked of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BrainError {
    #[error("{0}")]
    Refused(Refused),
    #[error("the site's database does not answer")]
    Unavailable,
    #[error("the orchestrator is stopping")]
    Stopping,
}

impl Brain {
    /// Restores the site from disk; the caller has to run the writer.
    pub(crate) async fn open(
        store: LocalStore,
        config: SiteConfig,
    ) -> anyhow::Result<(Brain, Writer)> {
        let site = load::site(&store, &config).await?;
        let clock = Clock::starting_at(site.clock());
        let (inbox, receiver) = mpsc::channel(QUEUE);
        let wakes = Notifiers::new(&site, clock.now());
        let shared = Shared { site: Mutex::new(Some(site)), inbox, clock, notifiers: wakes };
        let brain = Brain(Arc::new(shared));
        let writer = Writer::new(brain.clone(), store, config, receiver);
        Ok((brain, writer))
    }

    /// Applies one input and returns when its effects are on disk.
    pub(crate) async fn step(&self, input: Input) -> Result<(), BrainError> {
        let (reply, receiver) = oneshot::channel();
        let queued = QueuedInput { input, reply };
        self.0.inbox.send(queued).await.map_err(|_| BrainError::Stopping)?;
        receiver.await.unwrap_or(Err(BrainError::Stopping))
    }

    /// Reads the site as it is on disk.
    pub(crate) async fn read<T>(
        &self,
        read: impl FnOnce(&Site, Now) -> T,
    ) -> Result<T, BrainError> {
        let site = self.0.site.lock().await;
        let site = site.as_ref().ok_or(BrainError::Unavailable)?;
        Ok(read(site, self.0.clock.now()))
    }

    pub(crate) fn notifiers(&self) -> &Notifiers {
        &self.0.notifiers
    }

    pub(crate) fn now(&self) -> Now {
        self.0.clock.now()
    }
}
