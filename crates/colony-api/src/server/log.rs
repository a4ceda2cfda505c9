//! Logs of a workload: which placement a request means, and its answer.

use axum::Json;
use axum::extract::{Path, Query, State};
use colony_core::fleet::Fleet;
use colony_core::id::{DeploymentId, DeploymentName, NodeName, SiteName};
use colony_core::margo::Problem;

use super::names::{NodeTarget, name};
use super::question::{QueryResult, parameters};
use super::{ReadApi, sees};
use crate::problem::Kind;
use crate::render::{listed, unknown_deployment};
use crate::request::LogsQuery;
use crate::site::LogAnswer;
use crate::view::LogsView;

const LINES: u32 = 200;
const MOST_LINES: u32 = 5_000;

/// The placement whose log is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogTarget {
    pub site: SiteName,
    pub node: NodeName,
    pub deployment: DeploymentId,
}

/// Read what a workload printed
#[utoipa::path(get, path = "/api/v1/deployments/{name}/logs", tag = "deployments",
    operation_id = "logs",
    params(("name" = String, Path), ("site" = Option<String>, Query), ("node" = Option<String>, Query),
        ("previous" = Option<bool>, Query), ("lines" = Option<u32>, Query),
        ("sinceSeconds" = Option<u64>, Query), ("service" = Option<String>, Query),
        ("after" = Option<String>, Query)),
    responses((status = 200, description = "The last lines, or those after a position", body = LogsView)))]
pub async fn deployment_logs<Q: ReadApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path(handle): Path<String>,
    query: QueryResult<LogsQuery>,
) -> Result<Json<LogsView>, Q::Error> {
    let handle: DeploymentName = name("name", &handle)?;
    let Query(mut query) = Query(parameters(query)?);
    query.lines = Some(query.lines.unwrap_or(LINES).clamp(1, MOST_LINES));
    let fleet = app.fleet().await?;
    let target = log_target(&fleet, &sees(&app, &caller), &handle, &query)?;
    let (site, node, previous) = (target.site.to_string(), target.node.to_string(), query.previous);
    let answer = app.log(target, query).await?;
    let LogAnswer { lines, truncated, position, problem } = answer;
    let deployment = handle.to_string();
    Ok(Json(LogsView { deployment, site, node, previous, lines, truncated, position, problem }))
}

/// The one placement that a request selects, by `--node home/laptop` or by site
/// and node separately.
pub(super) fn log_target(
    fleet: &Fleet,
    sees: &dyn Fn(&SiteName) -> bool,
    name: &DeploymentName,
    query: &LogsQuery,
) -> Result<LogTarget, Problem> {
    let node = query.node.as_deref().map(NodeTarget::parse).transpose()?;
    let site = query.site.as_deref().map(|it| self::name("site", it)).transpose()?;
    let site = node.as_ref().and_then(|it| it.site.clone()).or(site);
    if !fleet.sites_of(name).any(|it| sees(it.0)) {
        return Err(unknown_deployment(fleet, sees, name));
    }
    let seen = fleet.sites_of(name).filter(|it| sees(it.0));
    let selected = seen.filter(|it| site.as_ref().is_none_or(|site| site == it.0));
    let mut targets = Vec::new();
    for (site, view) in selected {
        let placements = view.deployments_named(name).flat_map(|it| view.placements_of(&it.id));
        let all = placements.map(|it| &it.id);
        let own = all.filter(|it| node.as_ref().is_none_or(|node| node.node == it.node));
        targets.extend(own.map(|it| LogTarget {
            site: site.clone(),
            node: it.node.clone(),
            deployment: it.deployment.clone(),
        }));
    }
    let nodes = listed(targets.iter().map(|it| format!("{}/{}", it.site, it.node)), "");
    match targets.pop() {
        None => {
            let place = query.node.as_deref().or(query.site.as_deref()).unwrap_or("any node");
            Err(Kind::NotFound.problem(format!("{name} is not placed on {place}")))
        }
        Some(only) if targets.is_empty() => Ok(only),
        Some(_) => {
            let said =
                format!("{name} is on several nodes: say which with `--node`; there is {nodes}");
            Err(Problem::field("node", said))
        }
    }
}
