//! Logs of a workload, requested with the next hints for its site.

use std::time::Duration;

use colony_api::request::LogsQuery;
use colony_api::server::LogTarget;
use colony_api::site::{LogAnswer, SiteLogRequest};
use colony_core::time::HumanDuration;

use crate::app::App;
use crate::clock;
use crate::fault::Fault;

const PATIENCE: Duration = Duration::from_secs(20);

/// Asks the site of the placement, and waits for the lines of its node.
pub(crate) async fn read(
    app: &App,
    target: LogTarget,
    query: LogsQuery,
) -> Result<LogAnswer, Fault> {
    let LogTarget { site, node, deployment } = target;
    let fleet = app.brain.read().await?;
    if let Some(since) = fleet.site(&site).and_then(|it| it.silent_since(clock::wall())) {
        let lasting = HumanDuration(clock::wall().since(since));
        return Err(Fault::later(format!("site {site} has been offline for {lasting}"), 10));
    }
    drop(fleet);
    let id = uuid::Uuid::now_v7().to_string();
    let request = SiteLogRequest {
        id: id.clone(),
        node: node.clone(),
        deployment: deployment.to_string(),
        previous: query.previous,
        lines: query.lines.unwrap_or_default(),
        since_seconds: query.since_seconds,
        service: query.service,
        after: query.after,
    };
    let asked = app.relay.ask(&site, id, request);
    let mut asked = asked.ok_or_else(|| Fault::later("too many ask for logs", 5))?;
    app.brain.notifier().ring_one(&site);
    let answer = tokio::time::timeout(PATIENCE, asked.answer());
    let answer = app.stop.run_until_cancelled(answer).await;
    let answer = answer.ok_or_else(|| Fault::later("the orchestrator is stopping", 2))?;
    let late = || Fault::later(format!("{site}/{node} did not send its logs in time"), 10);
    answer.ok().flatten().ok_or_else(late)
}
