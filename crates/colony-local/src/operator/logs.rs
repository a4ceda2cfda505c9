//! The end of a workload's log, from its node.

use axum::Json;
use axum::extract::{Path, State};

use colony_api::problem::Kind;
use colony_api::request::LogsQuery;
use colony_api::view::{LogLine, LogsView};
use colony_core::id::NodeName;
use colony_core::margo::{DeploymentId, Problem};
use colony_core::site::Site;
use colony_core::time::Timestamp;
use colony_wfm::server::QueryParameters;
use colony_wfm::{LogRequest, Refusal};

use super::ApiState;
use crate::brain::BrainError;
use crate::problem;

const LINES: u32 = 200;

pub(super) async fn deployment_logs(
    State(desk): State<ApiState>,
    Path(name): Path<String>,
    QueryParameters(query): QueryParameters<LogsQuery>,
) -> Result<Json<LogsView>, Refusal> {
    query.site.as_deref().map_or(Ok(()), |it| desk.own(it))?;
    let deployment = desk.deployment_id(&name).await?;
    let node = match &query.node {
        Some(node) => desk.node_named(node)?,
        None => desk.only_node(&name, &deployment).await?,
    };
    let wish = LogRequest {
        id: uuid::Uuid::now_v7().to_string(),
        deployment,
        previous: query.previous,
        lines: query.lines.unwrap_or(LINES),
        since_seconds: query.since_seconds,
        service: query.service,
        after: query.after,
    };
    let asked = desk.logs.ask(&desk.brain, node.clone(), wish);
    let answer = desk.stop.run_until_cancelled(asked).await;
    let answer = answer.ok_or_else(|| problem::of_brain(BrainError::Stopping))?;
    let line = |colony_wfm::LogLine { service, time, text }| {
        let time = time.map(Timestamp);
        LogLine { service, time, text }
    };
    Ok(Json(LogsView {
        deployment: name,
        site: desk.site_node.site.to_string(),
        node: node.to_string(),
        previous: query.previous,
        lines: answer.lines.into_iter().map(line).collect(),
        truncated: answer.truncated,
        position: answer.position,
        problem: answer.problem,
    }))
}

impl ApiState {
    async fn only_node(&self, name: &str, id: &DeploymentId) -> Result<NodeName, Problem> {
        let placed = |site: &Site, _| -> Vec<NodeName> {
            let own = site.placements().filter(|it| it.id.deployment == *id);
            own.map(|it| it.id.node.clone()).collect()
        };
        let nodes = self.brain.read(placed).await.map_err(problem::of_brain)?;
        match nodes.as_slice() {
            [node] => Ok(node.clone()),
            [] => Err(Kind::Refused.problem(format!("`{name}` is on no node here"))),
            several => {
                let names: Vec<&str> = several.iter().map(NodeName::as_str).collect();
                let said = format!("`{name}` is on {}: say which with `--node`", names.join(", "));
                Err(Kind::Refused.problem(said))
            }
        }
    }
}
