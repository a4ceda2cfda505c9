//! Deployments: deploy, show, roll back, delete.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use colony_api::request::{DeleteQuery, DeployRequest, Rollback};
use colony_api::view::{DeployAnswer, HistoryView};
use colony_core::id::DeploymentName;

use crate::api::extract::{JsonBody, QueryParameters, parse_name};
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::fault::Fault;
use crate::plan::{self, DeleteOptions};
use crate::view;

type Answer = (StatusCode, Json<DeployAnswer>);

/// Deploy an application, or change a deployment
#[utoipa::path(post, path = "/api/v1/deployments", tag = "deployments", request_body = DeployRequest,
    responses((status = 202, description = "Recorded, and committed next", body = DeployAnswer),
        (status = 200, description = "A dry run, or nothing to change", body = DeployAnswer)))]
pub(crate) async fn deploy(
    State(app): State<App>,
    operator: Operator,
    JsonBody(request): JsonBody<DeployRequest>,
) -> Result<Answer, Fault> {
    operator.must_be(if request.dry_run { Role::Viewer } else { Role::Operator })?;
    let handle = request.name.as_ref().unwrap_or(&request.application);
    let _turn = plan::turn(&app, handle).await?;
    let plan = plan::deploy(&app, &operator, &request).await?;
    let hash = request.plan_hash.as_deref();
    answer(plan::apply(&app, &operator, plan, request.dry_run, hash).await?)
}

/// Show the commits of a deployment
#[utoipa::path(get, path = "/api/v1/deployments/{name}/history", tag = "deployments",
    params(("name" = String, Path)),
    responses((status = 200, description = "Its commits", body = HistoryView)))]
pub(crate) async fn history(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
) -> Result<Json<HistoryView>, Fault> {
    let handle: DeploymentName = parse_name("name", &handle)?;
    Ok(Json(view::history(&app, &operator, &handle).await?))
}

/// Go back to an earlier version, or to the last good one
#[utoipa::path(post, path = "/api/v1/deployments/{name}/rollback", tag = "deployments",
    params(("name" = String, Path)), request_body = Rollback,
    responses((status = 202, description = "Recorded", body = DeployAnswer),
        (status = 200, description = "A dry run, or nothing to change", body = DeployAnswer)))]
pub(crate) async fn rollback(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    JsonBody(request): JsonBody<Rollback>,
) -> Result<Answer, Fault> {
    let handle: DeploymentName = parse_name("name", &handle)?;
    let _turn = plan::turn(&app, handle.as_str()).await?;
    let plan = plan::rollback(&app, &operator, &handle, &request).await?;
    let hash = request.plan_hash.as_deref();
    answer(plan::apply(&app, &operator, plan, request.dry_run, hash).await?)
}

/// Delete a deployment
#[utoipa::path(delete, path = "/api/v1/deployments/{name}", tag = "deployments",
    params(("name" = String, Path), ("sites" = Option<String>, Query),
        ("force" = Option<bool>, Query), ("purge" = Option<bool>, Query), ("dryRun" = Option<bool>, Query),
        ("planHash" = Option<String>, Query)),
    responses((status = 202, description = "Recorded", body = DeployAnswer),
        (status = 200, description = "A dry run, or nothing to delete", body = DeployAnswer)))]
pub(crate) async fn delete(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    QueryParameters(query): QueryParameters<DeleteQuery>,
) -> Result<Answer, Fault> {
    let handle: DeploymentName = parse_name("name", &handle)?;
    let sites = query.sites.as_deref().unwrap_or_default();
    let sites: Vec<String> =
        sites.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect();
    let _turn = plan::turn(&app, handle.as_str()).await?;
    let how = DeleteOptions { force: query.force, purge: query.purge };
    let plan = plan::delete(&app, &operator, &handle, &sites, how).await?;
    let hash = query.plan_hash.as_deref();
    answer(plan::apply(&app, &operator, plan, query.dry_run, hash).await?)
}

fn answer(answer: DeployAnswer) -> Result<Answer, Fault> {
    let status = if answer.accepted { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok((status, Json(answer)))
}
