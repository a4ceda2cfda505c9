//! What the processes of all roles share.
//!
//! The reconcile driver `run` calls its work at the start, on a wake-up, after
//! the delay that the work returned, and with growing delays after an error;
//! never twice at once. A stop takes effect between two runs. `Tasks` holds
//! every started task, so that none is left behind: the first task that ends
//! stops all others. `RoleFolder` is the folder of a role, for one process at a
//! time. `file` replaces files as a whole, and `fail` names the points where a
//! test can kill the process.

mod backoff;
pub mod fail;
pub mod file;
mod folder;
mod lock;
mod paced;
mod signal;
mod tasks;

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info_span, warn};

pub use backoff::Backoff;
pub use folder::{Access, RoleFolder};
pub use lock::{LockError, LockFile};
pub use paced::Paced;
pub use signal::Signal;
pub use tasks::Tasks;

/// Work that brings something to its desired state.
pub trait Reconcile: Send {
    /// Names the work in logs.
    const NAME: &'static str;

    /// Receives no information about what changed: a wake-up, a retry and a
    /// restart take the same path. Returns how long no run is needed without a
    /// wake-up.
    fn reconcile(&mut self) -> impl Future<Output = anyhow::Result<Duration>> + Send;
}

/// Drives `work` until `stop`.
pub async fn run<W: Reconcile>(mut work: W, wake: Signal, stop: CancellationToken) {
    let mut backoff = Backoff::default();
    loop {
        let span = info_span!("reconcile", work = W::NAME);
        let delay = match work.reconcile().instrument(span).await {
            Ok(delay) => {
                backoff.reset();
                delay
            }
            Err(error) => {
                let delay = backoff.next_delay();
                warn!(work = W::NAME, retry_s = delay.as_secs_f32(), "{error:#}");
                delay
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = wake.woken() => {}
            () = tokio::time::sleep(delay) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    struct Count {
        runs: Arc<AtomicU32>,
        fails: bool,
    }

    impl Reconcile for Count {
        const NAME: &'static str = "count";

        async fn reconcile(&mut self) -> anyhow::Result<Duration> {
            self.runs.fetch_add(1, Ordering::SeqCst);
            if self.fails {
                anyhow::bail!("on purpose");
            }
            Ok(Duration::from_secs(60))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn work_runs_at_once_then_after_its_delay_and_on_every_wake_up() {
        check(false, 0, Duration::from_secs(59), 1).await;
        check(false, 0, Duration::from_secs(61), 2).await;
        check(false, 1, Duration::from_secs(1), 2).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_retried_with_growing_delays() {
        check(true, 0, Duration::from_millis(700), 2).await;
        check(true, 0, Duration::from_secs(600), 26).await;
    }

    #[tokio::test(start_paused = true)]
    async fn paced_work_runs_once_in_its_time_however_often_it_is_woken() {
        let paced = |it| Paced::new(it, Duration::from_secs(1));
        drive(paced, false, 100, Duration::ZERO, 1).await;
        drive(paced, false, 100, Duration::from_secs(2), 2).await;
    }

    #[tokio::test(start_paused = true)]
    async fn paced_work_that_fails_is_retried_with_growing_delays() {
        let paced = |it| Paced::new(it, Duration::from_secs(1));
        drive(paced, true, 0, Duration::from_secs(600), 26).await;
    }

    async fn check(fails: bool, wakes: u32, time: Duration, expected: u32) {
        drive(|it| it, fails, wakes, time, expected).await;
    }

    async fn drive<W: Reconcile + 'static>(
        make: impl Fn(Count) -> W,
        fails: bool,
        wakes: u32,
        time: Duration,
        expected: u32,
    ) {
        let runs = Arc::new(AtomicU32::new(0));
        let (wake, stop) = (Signal::default(), CancellationToken::new());
        let work = make(Count { runs: runs.clone(), fails });
        let task = tokio::spawn(run(work, wake.clone(), stop.clone()));
        tokio::time::sleep(Duration::from_millis(1)).await;
        for _ in 0..wakes {
            wake.wake();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(time).await;
        stop.cancel();
        task.await.expect("the driver ends");
        assert_eq!(runs.load(Ordering::SeqCst), expected);
    }
}
