//! Work that is woken more often than it should be done.

use std::time::Duration;

use tokio::time::Instant;

use crate::Reconcile;

/// Runs its work at most once per interval, however often it is woken. Only
/// successful runs count: failures are retried with growing delays.
#[derive(Debug)]
pub struct Paced<W> {
    work: W,
    pace: Duration,
    last: Option<Instant>,
}

impl<W> Paced<W> {
    pub fn new(work: W, pace: Duration) -> Paced<W> {
        Paced { work, pace, last: None }
    }

    /// The time until the next run is allowed.
    fn early(&self) -> Duration {
        let next = self.last.map(|it| it + self.pace);
        next.map_or(Duration::ZERO, |it| it.saturating_duration_since(Instant::now()))
    }
}

impl<W: Reconcile> Reconcile for Paced<W> {
    const NAME: &'static str = W::NAME;

    async fn reconcile(&mut self) -> anyhow::Result<Duration> {
        let early = self.early();
        if !early.is_zero() {
            return Ok(early);
        }
        let delay = self.work.reconcile().await?;
        self.last = Some(Instant::now());
        Ok(delay)
    }
}
