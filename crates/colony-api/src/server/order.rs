//! Orders: parse, choose the sites from one snapshot, issue, answer.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use colony_core::event::HoldScope;
use colony_core::fleet::Fleet;
use colony_core::id::{DeploymentId, DeploymentName, NodeName, SiteName};
use colony_core::site::Action;

use super::names::{NodeTarget, name, viewed};
use super::order_targets::{OrderTargets, Orders, site_release as release_action};
use super::{OrderApi, sees};
use crate::request::{Hold, QuarantineRelease, Release, Retry, Steer};
use crate::view::Accepted;

type Answer<Q> = Result<(StatusCode, Json<Accepted>), <Q as super::ReadApi>::Error>;

/// Stop new attempts at a site
#[utoipa::path(post, path = "/api/v1/sites/{site}/hold", tag = "sites", operation_id = "hold",
    params(("site" = String, Path)), request_body = Hold,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub async fn site_hold<Q: OrderApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path(site): Path<String>,
    request: Request,
) -> Answer<Q> {
    let hold: Hold = app.json(request).await?;
    let site = ordered(&app, &caller, &site)?;
    let fleet = app.fleet().await?;
    let action = Action::Hold { scope: HoldScope::Site, note: hold.note };
    let orders = Orders::of_site(&fleet, &sees(&app, &caller), &site, |_| Ok(action))?;
    issue(&app, &caller, orders).await
}

/// Let a site go on
#[utoipa::path(post, path = "/api/v1/sites/{site}/release", tag = "sites",
    operation_id = "release",
    params(("site" = String, Path)), request_body = Release,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub async fn site_release<Q: OrderApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path(site): Path<String>,
    request: Request,
) -> Answer<Q> {
    let Release { what, .. } = app.json(request).await?;
    let site = ordered(&app, &caller, &site)?;
    let fleet = app.fleet().await?;
    let orders = Orders::of_site(&fleet, &sees(&app, &caller), &site, |view| {
        release_action(what, &site, view)
    })?;
    issue(&app, &caller, orders).await
}

/// Give a node nothing new
#[utoipa::path(post, path = "/api/v1/nodes/{site}/{node}/cordon", tag = "nodes",
    operation_id = "cordon",
    params(("site" = String, Path), ("node" = String, Path)),
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub async fn node_cordon<Q: OrderApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path(path): Path<(String, String)>,
) -> Answer<Q> {
    order_node(&app, &caller, &path, |node| Action::Cordon { node }).await
}

/// Let a node take deployments again
#[utoipa::path(post, path = "/api/v1/nodes/{site}/{node}/uncordon", tag = "nodes",
    operation_id = "uncordon",
    params(("site" = String, Path), ("node" = String, Path)),
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub async fn node_uncordon<Q: OrderApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path(path): Path<(String, String)>,
) -> Answer<Q> {
    order_node(&app, &caller, &path, |node| Action::Uncordon { node }).await
}

/// Give a node up for good
#[utoipa::path(post, path = "/api/v1/nodes/{site}/{node}/retire", tag = "nodes",
    operation_id = "retire",
    params(("site" = String, Path), ("node" = String, Path)),
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub async fn node_retire<Q: OrderApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path(path): Path<(String, String)>,
) -> Answer<Q> {
    order_node(&app, &caller, &path, |node| Action::Retire { node }).await
}

/// Stop new attempts of a deployment
#[utoipa::path(post, path = "/api/v1/deployments/{name}/hold", tag = "deployments",
    operation_id = "hold",
    params(("name" = String, Path)), request_body = Hold,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub async fn deployment_hold<Q: OrderApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path(handle): Path<String>,
    request: Request,
) -> Answer<Q> {
    let Hold { note, sites } = app.json(request).await?;
    let action = |it: &DeploymentId| Action::Hold { scope: scope(it), note: note.clone() };
    order_deployment(&app, &caller, Selection::new(&handle, &sites), action).await
}

/// Let a deployment go on
#[utoipa::path(post, path = "/api/v1/deployments/{name}/release", tag = "deployments",
    operation_id = "release",
    params(("name" = String, Path)), request_body = Release,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub async fn deployment_release<Q: OrderApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path(handle): Path<String>,
    request: Request,
) -> Answer<Q> {
    let Release { sites, .. } = app.json(request).await?;
    let action = |it: &DeploymentId| Action::ReleaseHold { scope: scope(it) };
    order_deployment(&app, &caller, Selection::new(&handle, &sites), action).await
}

/// Try what failed again, at once
#[utoipa::path(post, path = "/api/v1/deployments/{name}/retry", tag = "deployments",
    operation_id = "retry",
    params(("name" = String, Path)), request_body = Retry,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub async fn deployment_retry<Q: OrderApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path(handle): Path<String>,
    request: Request,
) -> Answer<Q> {
    let Retry { sites, node } = app.json(request).await?;
    let target = node.as_deref().map(NodeTarget::parse).transpose()?;
    let node = target.as_ref().map(|it| it.node.clone());
    let selection = Selection { node: target.as_ref(), ..Selection::new(&handle, &sites) };
    let action = |it: &DeploymentId| Action::Retry { deployment: it.clone(), node: node.clone() };
    order_deployment(&app, &caller, selection, action).await
}

/// Let a quarantined revision try again
#[utoipa::path(post, path = "/api/v1/deployments/{name}/quarantine/release", tag = "deployments",
    operation_id = "quarantine_release",
    params(("name" = String, Path)), request_body = QuarantineRelease,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub async fn quarantine_release<Q: OrderApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path(handle): Path<String>,
    request: Request,
) -> Answer<Q> {
    let QuarantineRelease { sites } = app.json(request).await?;
    let action = |it: &DeploymentId| Action::ReleaseQuarantine { deployment: it.clone() };
    order_deployment(&app, &caller, Selection::new(&handle, &sites), action).await
}

/// Open the next step of a rollout
#[utoipa::path(post, path = "/api/v1/deployments/{name}/promote", tag = "deployments",
    operation_id = "promote",
    params(("name" = String, Path)), request_body = Steer,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub async fn deployment_promote<Q: OrderApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path(handle): Path<String>,
    request: Request,
) -> Answer<Q> {
    let Steer { sites, .. } = app.json(request).await?;
    let action = |it: &DeploymentId| Action::Promote { deployment: it.clone() };
    order_deployment(&app, &caller, Selection::new(&handle, &sites), action).await
}

/// Start nothing more of a rollout
#[utoipa::path(post, path = "/api/v1/deployments/{name}/pause", tag = "deployments",
    operation_id = "pause",
    params(("name" = String, Path)), request_body = Steer,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub async fn deployment_pause<Q: OrderApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path(handle): Path<String>,
    request: Request,
) -> Answer<Q> {
    let Steer { sites, note } = app.json(request).await?;
    let action = |it: &DeploymentId| Action::Pause { deployment: it.clone(), note: note.clone() };
    order_deployment(&app, &caller, Selection::new(&handle, &sites), action).await
}

/// Let a paused rollout go on
#[utoipa::path(post, path = "/api/v1/deployments/{name}/resume", tag = "deployments",
    operation_id = "resume",
    params(("name" = String, Path)), request_body = Steer,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub async fn deployment_resume<Q: OrderApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path(handle): Path<String>,
    request: Request,
) -> Answer<Q> {
    let Steer { sites, .. } = app.json(request).await?;
    let action = |it: &DeploymentId| Action::Resume { deployment: it.clone() };
    order_deployment(&app, &caller, Selection::new(&handle, &sites), action).await
}

/// End a rollout: all nodes roll back to the previous revision
#[utoipa::path(post, path = "/api/v1/deployments/{name}/abort", tag = "deployments",
    operation_id = "abort",
    params(("name" = String, Path)), request_body = Steer,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub async fn deployment_abort<Q: OrderApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path(handle): Path<String>,
    request: Request,
) -> Answer<Q> {
    let Steer { sites, note } = app.json(request).await?;
    let action = |it: &DeploymentId| Action::Abort { deployment: it.clone(), note: note.clone() };
    order_deployment(&app, &caller, Selection::new(&handle, &sites), action).await
}

/// What an order about a deployment names, as it was sent.
struct Selection<'a> {
    handle: &'a str,
    sites: &'a [String],
    node: Option<&'a NodeTarget>,
}

impl<'a> Selection<'a> {
    fn new(handle: &'a str, sites: &'a [String]) -> Selection<'a> {
        Selection { handle, sites, node: None }
    }
}

async fn order_deployment<Q: OrderApi>(
    app: &Q,
    caller: &Q::Caller,
    selection: Selection<'_>,
    action: impl Fn(&DeploymentId) -> Action + Send,
) -> Answer<Q> {
    let handle: DeploymentName = name("name", selection.handle)?;
    let named = selection.sites.iter().map(|it| viewed(app, caller, "sites", it));
    let named = named.collect::<Result<Vec<SiteName>, Q::Error>>()?;
    let fleet: Arc<Fleet> = app.fleet().await?;
    let orders = {
        let sees = sees(app, caller);
        let mut targets = OrderTargets { fleet: &fleet, sees: &sees, name: &handle, named };
        if let Some(node) = selection.node {
            node.site.iter().try_for_each(|it| app.may_view(caller, it))?;
            targets.at_node(node)?;
        }
        targets.check()?;
        for (site, _) in targets.sites() {
            app.may_order(caller, site)?;
        }
        targets.orders(action)?
    };
    issue(app, caller, orders).await
}

async fn order_node<Q: OrderApi>(
    app: &Q,
    caller: &Q::Caller,
    (site, node): &(String, String),
    action: impl FnOnce(NodeName) -> Action + Send,
) -> Answer<Q> {
    let site = ordered(app, caller, site)?;
    let node: NodeName = name("node", node)?;
    let fleet = app.fleet().await?;
    let action = action(node.clone());
    let orders = Orders::of_node(&fleet, &sees(app, caller), (&site, &node), action)?;
    issue(app, caller, orders).await
}

async fn issue<Q: OrderApi>(app: &Q, caller: &Q::Caller, orders: Orders) -> Answer<Q> {
    let issued = app.issue(caller, &orders).await?;
    Ok((StatusCode::ACCEPTED, Json(orders.answer(issued))))
}

/// A site that the caller may give orders to.
fn ordered<Q: OrderApi>(app: &Q, caller: &Q::Caller, site: &str) -> Result<SiteName, Q::Error> {
    let site: SiteName = name("site", site)?;
    app.may_order(caller, &site)?;
    Ok(site)
}

fn scope(id: &DeploymentId) -> HoldScope {
    HoldScope::Deployment(id.clone())
}
