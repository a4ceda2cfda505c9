//! Orders of operators: about a rollout (`steer`), about a site (`site_order`),
//! and here about a deployment: hold, release, retry, release from quarantine.

pub(super) mod order_targets;
pub(super) mod site_order;
pub(super) mod steer;

use axum::extract::{Path, State};
use colony_api::request::{Hold, QuarantineRelease, Release, Retry};
use colony_api::view::Accepted;
use colony_core::event::HoldScope;
use colony_core::id::{DeploymentId, NodeName};
use colony_core::site::Action;

use crate::api::extract::{JsonBody, parse_name};
use crate::api::order::order_targets::{OrderAnswer, OrderTargets, issue};
use crate::app::App;
use crate::auth::Operator;
use crate::fault::Fault;

/// Stop new attempts of a deployment
#[utoipa::path(post, path = "/api/v1/deployments/{name}/hold", tag = "deployments",
    params(("name" = String, Path)), request_body = Hold,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub(crate) async fn hold(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    JsonBody(request): JsonBody<Hold>,
) -> Result<OrderAnswer, Fault> {
    let note = request.note;
    let targets =
        OrderTargets { app: &app, operator: &operator, handle: &handle, sites: &request.sites };
    let (handle, orders) =
        targets.orders(|it| Action::Hold { scope: scope(&it.id), note: note.clone() }).await?;
    let sentence = format!("{handle} is on hold");
    issue(&app, &operator, Some(&handle), orders, sentence).await
}

/// Let a deployment go on
#[utoipa::path(post, path = "/api/v1/deployments/{name}/release", tag = "deployments",
    params(("name" = String, Path)), request_body = Release,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub(crate) async fn release(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    JsonBody(request): JsonBody<Release>,
) -> Result<OrderAnswer, Fault> {
    let targets =
        OrderTargets { app: &app, operator: &operator, handle: &handle, sites: &request.sites };
    let (handle, orders) =
        targets.orders(|it| Action::ReleaseHold { scope: scope(&it.id) }).await?;
    let sentence = format!("{handle} goes on");
    issue(&app, &operator, Some(&handle), orders, sentence).await
}

/// Try what failed again, at once
#[utoipa::path(post, path = "/api/v1/deployments/{name}/retry", tag = "deployments",
    params(("name" = String, Path)), request_body = Retry,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub(crate) async fn retry(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    JsonBody(request): JsonBody<Retry>,
) -> Result<OrderAnswer, Fault> {
    let mut sites = request.sites.clone();
    let node = match request.node.as_deref().map(|it| it.split_once('/')) {
        None => None,
        Some(None) => return Err(Fault::field("node", "a node is named as `<site>/<node>`")),
        Some(Some((site, node))) => {
            sites = vec![site.to_owned()];
            Some(parse_name::<NodeName>("node", node)?)
        }
    };
    let targets = OrderTargets { app: &app, operator: &operator, handle: &handle, sites: &sites };
    let (handle, orders) = targets
        .orders(|it| Action::Retry { deployment: it.id.clone(), node: node.clone() })
        .await?;
    let sentence = format!("{handle} is tried again where it failed");
    issue(&app, &operator, Some(&handle), orders, sentence).await
}

/// Let a quarantined revision try again
#[utoipa::path(post, path = "/api/v1/deployments/{name}/quarantine/release", tag = "deployments",
    params(("name" = String, Path)), request_body = QuarantineRelease,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub(crate) async fn quarantine_release(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    JsonBody(request): JsonBody<QuarantineRelease>,
) -> Result<OrderAnswer, Fault> {
    let targets =
        OrderTargets { app: &app, operator: &operator, handle: &handle, sites: &request.sites };
    let (handle, orders) =
        targets.orders(|it| Action::ReleaseQuarantine { deployment: it.id.clone() }).await?;
    let sentence = format!("the quarantined versions of {handle} may be tried again");
    issue(&app, &operator, Some(&handle), orders, sentence).await
}

fn scope(id: &DeploymentId) -> HoldScope {
    HoldScope::Deployment(id.clone())
}
