//! Work that is woken more often than it should be done.

use std::time::Duration;

use tokio::time::Instant;

use crate::Reconcile;

/// Does its work at most once in a time, however often it is woken. Only what
/// succeeded counts: what fails waits longer from try to try, as ever.
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

    /// How long it is too early for the next run.
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
