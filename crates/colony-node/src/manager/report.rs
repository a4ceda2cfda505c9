//! Sends reports until the manager has accepted them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use colony_core::margo::DeploymentStatus;
use colony_core::node::Input;
use colony_process::Reconcile;
use colony_wfm::ClientError;

use crate::brain::{Brain, NotStored};
use crate::manager::Manager;

/// No report is pending, so nothing has to be done without a wake-up.
const IDLE: Duration = Duration::from_secs(3_600);
/// When to send a report again whose acceptance could not be stored.
const NOT_STORED: Duration = Duration::from_secs(10);

pub(crate) async fn run(
    brain: Arc<Brain>,
    manager: Arc<Manager>,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let wake = brain.reports.clone();
    colony_process::run(Report { brain, manager }, wake, stop).await;
    Ok(())
}

struct Report {
    brain: Arc<Brain>,
    manager: Arc<Manager>,
}

impl Reconcile for Report {
    const NAME: &'static str = "report";

    async fn reconcile(&mut self) -> anyhow::Result<Duration> {
        for status in self.brain.reports() {
            match self.send(&status).await {
                // The brain logs it, at a limited rate.
                Err(error) if error.is::<NotStored>() => return Ok(NOT_STORED),
                sent => sent?,
            }
        }
        Ok(IDLE)
    }
}

impl Report {
    async fn send(&self, status: &DeploymentStatus) -> anyhow::Result<()> {
        match self.manager.client().status(status).await {
            Ok(()) => debug!(deployment = status.deployment_id, "the manager took a report"),
            // Sending it again would not help.
            Err(error) if is_final(&error) => {
                warn!(deployment = status.deployment_id, "the manager refuses a report: {error}");
            }
            Err(error) => {
                self.manager.try_next_address();
                return Err(error).context("could not report to the manager");
            }
        }
        colony_process::fail::hit(colony_process::fail::Point::NodeReportSent);
        let report = status.colony.as_ref().and_then(|it| it.report);
        if let (Some(report), Ok(deployment)) = (report, status.deployment_id.parse()) {
            self.brain.step(Input::Acked { deployment, report })?;
            colony_process::fail::hit(colony_process::fail::Point::NodeReportNoted);
        }
        Ok(())
    }
}

fn is_final(error: &ClientError) -> bool {
    let ClientError::Problem { problem, .. } = error else { return false };
    matches!(problem.status, 400 | 404 | 422)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::Identity;
    use crate::kit::sample;
    use crate::kit::stand_in::StandIn;

    #[tokio::test]
    async fn a_report_is_owed_until_the_manager_has_taken_or_refused_it() {
        check(200, true, false).await;
        for refused in [400, 404, 422] {
            check(refused, true, false).await;
        }
        for passing in [403, 409, 429, 500, 503] {
            check(passing, false, true).await;
        }
    }

    #[tokio::test]
    async fn it_waits_for_reports_until_it_is_stopped() {
        let dir = tempfile::tempdir().expect("a directory");
        let (identity, manager) = sample::joined();
        let brain = Brain::open(&sample::config(dir.path()), &identity).expect("it opens");
        let stop = CancellationToken::new();
        let mut waiting = std::pin::pin!(run(Arc::new(brain), manager, stop.clone()));
        assert!(waiting.as_mut().now_or_never().is_none());
        stop.cancel();
        waiting.await.expect("it ends");
    }

    async fn check(status: u16, said: bool, failed: bool) {
        let site = StandIn::start(Vec::leak(vec![status])).await;
        let dir = tempfile::tempdir().expect("a directory");
        let urls = vec![site.url.clone(), "https://127.0.0.1:1".to_owned()];
        let identity = Identity { urls, ..sample::identity(&site.authority) };
        let brain =
            Arc::new(Brain::open(&sample::config(dir.path()), &identity).expect("it opens"));
        let manager = Arc::new(Manager::new(&identity).expect("a way to the manager"));
        brain.step(sample::manifest(1)).expect("it is stored");
        let mut report = Report { brain: brain.clone(), manager: manager.clone() };

        let sent = report.reconcile().await;

        assert_eq!(sent.is_err(), failed, "{status}: {sent:?}");
        assert_eq!(brain.reports().is_empty(), said, "{status}");
        let path = format!("/api/v1/deployments/{}/status", sample::DEPLOYMENT);
        assert_eq!(site.seen(), [path], "{status}");
        let first = manager.link().base_url() == site.url;
        assert_eq!(first, !failed, "{status}: another address is tried next");
    }
}
