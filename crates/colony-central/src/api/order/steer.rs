//! Orders about a rollout: promote, pause, resume, abort.

use axum::extract::{Path, State};
use colony_api::request::{Steer, Steering};
use colony_api::view::Accepted;
use colony_core::fleet::DeploymentView;
use colony_core::site::Action;

use super::order_targets::{OrderAnswer, OrderTargets, issue};
use crate::api::extract::JsonBody;
use crate::app::App;
use crate::auth::Operator;
use crate::fault::Fault;

/// Open the next step of a rollout
#[utoipa::path(post, path = "/api/v1/deployments/{name}/promote", tag = "deployments",
    params(("name" = String, Path)), request_body = Steer,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub(crate) async fn promote(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    JsonBody(request): JsonBody<Steer>,
) -> Result<OrderAnswer, Fault> {
    steer(&app, &operator, &handle, Steering::Promote, request).await
}

/// Start nothing more of a rollout
#[utoipa::path(post, path = "/api/v1/deployments/{name}/pause", tag = "deployments",
    params(("name" = String, Path)), request_body = Steer,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub(crate) async fn pause(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    JsonBody(request): JsonBody<Steer>,
) -> Result<OrderAnswer, Fault> {
    steer(&app, &operator, &handle, Steering::Pause, request).await
}

/// Let a paused rollout go on
#[utoipa::path(post, path = "/api/v1/deployments/{name}/resume", tag = "deployments",
    params(("name" = String, Path)), request_body = Steer,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub(crate) async fn resume(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    JsonBody(request): JsonBody<Steer>,
) -> Result<OrderAnswer, Fault> {
    steer(&app, &operator, &handle, Steering::Resume, request).await
}

/// End a rollout: all nodes roll back to the previous revision
#[utoipa::path(post, path = "/api/v1/deployments/{name}/abort", tag = "deployments",
    params(("name" = String, Path)), request_body = Steer,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub(crate) async fn abort(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    JsonBody(request): JsonBody<Steer>,
) -> Result<OrderAnswer, Fault> {
    steer(&app, &operator, &handle, Steering::Abort, request).await
}

async fn steer(
    app: &App,
    operator: &Operator,
    handle: &str,
    steering: Steering,
    request: Steer,
) -> Result<OrderAnswer, Fault> {
    let targets = OrderTargets { app, operator, handle, sites: &request.sites };
    let (handle, orders) = targets.orders(|it| action(steering, it, &request.note)).await?;
    let sentence = format!("{handle} {}", steering.sentence());
    issue(app, operator, Some(&handle), orders, sentence).await
}

fn action(steering: Steering, it: &DeploymentView, note: &str) -> Action {
    let (deployment, note) = (it.id.clone(), note.to_owned());
    match steering {
        Steering::Promote => Action::Promote { deployment },
        Steering::Pause => Action::Pause { deployment, note },
        Steering::Resume => Action::Resume { deployment },
        Steering::Abort => Action::Abort { deployment, note },
    }
}
