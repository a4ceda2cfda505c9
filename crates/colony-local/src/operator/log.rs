//! The end of a workload's log, from its node.

use colony_api::request::LogsQuery;
use colony_api::server::LogTarget;
use colony_api::site::LogAnswer;
use colony_api::view::LogLine;
use colony_core::time::Timestamp;
use colony_wfm::{LogRequest, Refusal};

use super::ApiState;
use crate::brain::BrainError;
use crate::problem;

/// Asks the node, and waits for its lines.
pub(super) async fn read(
    desk: &ApiState,
    target: LogTarget,
    query: LogsQuery,
) -> Result<LogAnswer, Refusal> {
    let request = LogRequest {
        id: uuid::Uuid::now_v7().to_string(),
        deployment: target.deployment,
        previous: query.previous,
        lines: query.lines.unwrap_or_default(),
        since_seconds: query.since_seconds,
        service: query.service,
        after: query.after,
    };
    let asked = desk.logs.ask(&desk.brain, target.node, request);
    let answer = desk.stop.run_until_cancelled(asked).await;
    let answer = answer.ok_or_else(|| problem::of_brain(BrainError::Stopping))?;
    let line = |colony_wfm::LogLine { service, time, text }| {
        let time = time.map(Timestamp);
        LogLine { service, time, text }
    };
    Ok(LogAnswer {
        lines: answer.lines.into_iter().map(line).collect(),
        truncated: answer.truncated,
        position: answer.position,
        problem: answer.problem,
    })
}
