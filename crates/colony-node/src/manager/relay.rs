//! Reports the health of the node to the manager: its readiness on a change,
//! and the progress of image pulls once a second.
//!
//! Reports are not stored or repeated: a manager that has lost them requests
//! them, and one that does not support the call is not called for a while.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use colony_runtime::PullProgress;
use colony_wfm::{ClientError, NodeReport, PullView, Readiness};

use crate::health::vitals::Vitals;
use crate::manager::{Manager, NodeRefused};

/// How often the node checks its own health.
const LOOK: Duration = Duration::from_secs(5);
/// The shortest time between two reports, and how long a pull may take before
/// it is reported.
const PACE: Duration = Duration::from_secs(1);
/// How long a manager that does not support the call is not called.
const SILENCE: Duration = Duration::from_secs(600);

pub(crate) async fn run(
    vitals: Vitals,
    manager: Arc<Manager>,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let mut relay = Relay { vitals, manager, told: SentHealth::default() };
    loop {
        let pause = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            pause = relay.look() => pause?,
        };
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = relay.pause(pause) => {}
        }
    }
}

struct Relay {
    vitals: Vitals,
    manager: Arc<Manager>,
    told: SentHealth,
}

/// The last report, and when the next one may be sent.
#[derive(Debug, Default)]
struct SentHealth {
    last: Option<NodeReport>,
    next: Option<Instant>,
}

impl Relay {
    /// Sends a report if it is due. Returns how long to wait before the next
    /// look.
    async fn look(&mut self) -> Result<Duration, NodeRefused> {
        let left = self.told.left(Instant::now());
        if !left.is_zero() {
            return Ok(left);
        }
        let report = self.report().await;
        let pause = if report.progress.is_empty() { LOOK } else { PACE };
        if self.is_due(&report) {
            let sent = self.manager.client().health(&report).await;
            if self.vitals.engine.runtime().is_err() {
                self.manager.set_reachable(sent.is_ok());
                self.manager.record_result(sent.as_ref().err())?;
                sent.as_ref().is_err().then(|| self.manager.try_next_address());
            }
            self.told.note(sent, report, Instant::now());
        }
        Ok(pause)
    }

    /// A node without an engine does not poll, so its reports are also its sign
    /// of life.
    fn is_due(&self, report: &NodeReport) -> bool {
        self.told.last.as_ref() != Some(report) || self.vitals.engine.runtime().is_err()
    }

    async fn pause(&mut self, pause: Duration) {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = self.manager.health.woken() => self.told.last = None,
            // Most images arrive within a moment and need no report.
            () = self.pulling() => tokio::time::sleep(PACE).await,
        }
    }

    async fn pulling(&self) {
        match self.vitals.engine.runtime() {
            Ok(runtime) => runtime.pulling().await,
            Err(_) => std::future::pending().await,
        }
    }

    async fn report(&self) -> NodeReport {
        let Readiness { ready, reasons } = self.vitals.readiness().await;
        let progress = self.vitals.engine.runtime().map(|it| it.progress()).unwrap_or_default();
        let progress = progress.into_iter().map(pull).collect();
        NodeReport { ready, reasons, progress }.bounded()
    }
}

impl SentHealth {
    fn left(&self, now: Instant) -> Duration {
        self.next.map_or(Duration::ZERO, |it| it.saturating_duration_since(now))
    }

    fn note(&mut self, sent: Result<(), ClientError>, report: NodeReport, now: Instant) {
        let pause = match sent {
            Ok(()) => {
                self.last = Some(report);
                PACE
            }
            Err(error) if is_unknown(&error) => {
                debug!("the manager does not take the health of nodes: {error}");
                SILENCE
            }
            Err(error) => {
                // `poll` logs whether the manager is reachable.
                debug!("could not send the health of the node to the manager: {error}");
                LOOK
            }
        };
        self.next = Some(now + pause);
    }
}

fn pull(it: PullProgress) -> PullView {
    let PullProgress { deployment, done_bytes, total_bytes, .. } = it;
    PullView { deployment, done_bytes, total_bytes }
}

/// The manager does not support the call.
fn is_unknown(error: &ClientError) -> bool {
    matches!(error, ClientError::Problem { problem, .. } if matches!(problem.status, 404 | 405 | 501))
}

#[cfg(test)]
mod tests {
    use colony_core::margo::Problem;

    use super::*;

    #[test]
    fn the_answer_says_when_to_speak_again_and_whether_it_is_known() {
        check(None, 1, true);
        check(Some(404), 600, false);
        check(Some(405), 600, false);
        check(Some(503), 5, false);
        check(Some(403), 5, false);
    }

    #[track_caller]
    fn check(status: Option<u16>, seconds: u64, known: bool) {
        let (mut told, now) = (SentHealth::default(), Instant::now());
        assert_eq!(told.left(now), Duration::ZERO);
        let sent = status.map_or(Ok(()), |it| {
            let problem = Box::new(Problem::about_blank(it));
            Err(ClientError::Problem { problem, retry_after: None })
        });
        let report = NodeReport { ready: true, ..NodeReport::default() };
        told.note(sent, report.clone(), now);
        assert_eq!(told.left(now), Duration::from_secs(seconds), "{status:?}");
        assert_eq!(told.last, known.then_some(report), "{status:?}");
    }
}
