//! Logs of a workload, requested with the next hints for its site.

use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use colony_api::render::listed;
use colony_api::request::LogsQuery;
use colony_api::site::SiteLogRequest;
use colony_api::view::LogsView;
use colony_core::id::{DeploymentId, DeploymentName, NodeName, SiteName};
use colony_core::time::{HumanDuration, Timestamp};

use crate::api::extract::{QueryParameters, parse_name};
use crate::app::App;
use crate::auth::Operator;
use crate::fault::Fault;
use crate::{clock, view};

const PATIENCE: Duration = Duration::from_secs(20);
const LINES: u32 = 200;
const MOST: u32 = 5_000;

/// Read what a workload printed
#[utoipa::path(get, path = "/api/v1/deployments/{name}/logs", tag = "deployments",
    params(("name" = String, Path), ("site" = Option<String>, Query), ("node" = Option<String>, Query),
        ("previous" = Option<bool>, Query), ("lines" = Option<u32>, Query),
        ("sinceSeconds" = Option<u64>, Query), ("service" = Option<String>, Query),
        ("after" = Option<String>, Query)),
    responses((status = 200, description = "The last lines, or those after a position", body = LogsView)))]
pub(crate) async fn logs(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    QueryParameters(query): QueryParameters<LogsQuery>,
) -> Result<Json<LogsView>, Fault> {
    let handle: DeploymentName = parse_name("name", &handle)?;
    view::deployment(&app, &operator, &handle).await?;
    let place = place(&app, &operator, &handle, &query).await?;
    let id = uuid::Uuid::now_v7().to_string();
    let lines = query.lines.unwrap_or(LINES).clamp(1, MOST);
    let request = SiteLogRequest {
        id: id.clone(),
        node: place.node.clone(),
        deployment: place.deployment.to_string(),
        previous: query.previous,
        lines,
        since_seconds: query.since_seconds,
        service: query.service.clone(),
        after: query.after.clone(),
    };
    if let Some(since) = silent_since(&app, &place.site).await? {
        let (site, lasting) = (&place.site, HumanDuration(clock::wall().since(since)));
        return Err(Fault::later(format!("site {site} has been offline for {lasting}"), 10));
    }
    let asked = app.relay.ask(&place.site, id, request);
    let mut asked = asked.ok_or_else(|| Fault::later("too many ask for logs", 5))?;
    app.brain.notifier().ring_one(&place.site);
    let answer = tokio::time::timeout(PATIENCE, asked.answer());
    let answer = app.stop.run_until_cancelled(answer).await;
    let answer = answer.ok_or_else(|| Fault::later("the orchestrator is stopping", 2))?;
    let answer = answer.ok().flatten();
    let Some(answer) = answer else {
        let (site, node) = (&place.site, &place.node);
        return Err(Fault::later(format!("{site}/{node} did not send its logs in time"), 10));
    };
    Ok(Json(LogsView {
        deployment: handle.to_string(),
        site: place.site.to_string(),
        node: place.node.to_string(),
        previous: query.previous,
        lines: answer.lines,
        truncated: answer.truncated,
        position: answer.position,
        problem: answer.problem,
    }))
}

async fn silent_since(app: &App, site: &SiteName) -> Result<Option<Timestamp>, Fault> {
    let fleet = app.brain.read().await?;
    Ok(fleet.site(site).and_then(|it| it.silent_since(clock::wall())))
}

struct LogSource {
    site: SiteName,
    node: NodeName,
    deployment: DeploymentId,
}

/// The one placement that the query selects.
async fn place(
    app: &App,
    operator: &Operator,
    handle: &DeploymentName,
    query: &LogsQuery,
) -> Result<LogSource, Fault> {
    let (site, node) = wanted(query)?;
    let fleet = app.brain.read().await?;
    let mut places = Vec::new();
    for (at, view) in fleet.sites_of(handle).filter(|it| operator.sees(it.0)) {
        for deployment in view.deployments_named(handle) {
            let all = view.placements_of(&deployment.id).map(|it| &it.id);
            let mine = all.filter(|it| node.as_ref().is_none_or(|node| *node == it.node));
            let mine = mine.filter(|_| site.as_ref().is_none_or(|site| site == at));
            places.extend(mine.map(|it| LogSource {
                site: at.clone(),
                node: it.node.clone(),
                deployment: it.deployment.clone(),
            }));
        }
    }
    let names = listed(places.iter().map(|it| format!("{}/{}", it.site, it.node)), "");
    match places.pop() {
        None => {
            let asked = query.node.as_deref().or(query.site.as_deref()).unwrap_or("any node");
            Err(Fault::not_found(format!("{handle} is not placed on {asked}")))
        }
        Some(one) if places.is_empty() => Ok(one),
        Some(_) => {
            let said =
                format!("{handle} is on several nodes: say which with `--node`; there is {names}");
            Err(Fault::field("node", said))
        }
    }
}

/// Site and node of the query: `--node home/laptop`, or both separately.
fn wanted(query: &LogsQuery) -> Result<(Option<SiteName>, Option<NodeName>), Fault> {
    let (mut site, mut node) = (query.site.as_deref(), query.node.as_deref());
    if let Some((at, it)) = node.and_then(|it| it.split_once('/')) {
        (site, node) = (Some(at), Some(it));
    }
    let site = site.map(|it| parse_name("site", it)).transpose()?;
    Ok((site, node.map(|it| parse_name("node", it)).transpose()?))
}
