//! Tells the manager what happened, until it has taken it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use colony_core::node::Input;
use colony_margo::DeploymentStatus;
use colony_task::Reconcile;
use colony_wfm::ClientError;

use crate::brain::Brain;
use crate::manager::Manager;

/// Nothing is owed, so nothing has to be done without a wake-up.
const IDLE: Duration = Duration::from_secs(3_600);

pub(crate) async fn run(
    brain: Arc<Brain>,
    manager: Arc<Manager>,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let wake = brain.reports.clone();
    colony_task::run(Report { brain, manager }, wake, stop).await;
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
            self.send(&status).await?;
        }
        Ok(IDLE)
    }
}

impl Report {
    async fn send(&self, status: &DeploymentStatus) -> anyhow::Result<()> {
        match self.manager.client().status(status).await {
            Ok(()) => debug!(deployment = status.deployment_id, "the manager took a report"),
            // Saying it again would not make it better.
            Err(error) if is_final(&error) => {
                warn!(deployment = status.deployment_id, "the manager refuses a report: {error}");
            }
            Err(error) => {
                self.manager.rotate();
                return Err(error).context("could not report to the manager");
            }
        }
        colony_fail::hit(colony_fail::Point::NodeReportSent);
        let report = status.colony.as_ref().and_then(|it| it.report);
        if let (Some(report), Ok(deployment)) = (report, status.deployment_id.parse()) {
            self.brain.step(Input::Acked { deployment, report })?;
            colony_fail::hit(colony_fail::Point::NodeReportNoted);
        }
        Ok(())
    }
}

fn is_final(error: &ClientError) -> bool {
    let ClientError::Problem { problem, .. } = error else { return false };
    matches!(problem.status, 400 | 404 | 422)
}
