//! Orders about a deployment: hold, release, retry, let out of quarantine.

use axum::extract::{Path, State};
use colony_api::request::{Hold, QuarantineRelease, Release, Retry};
use colony_api::view::Accepted;
use colony_core::event::HoldScope;
use colony_core::fleet::SiteView;
use colony_core::id::{DeploymentId, NodeName};
use colony_core::site::Action;
use colony_core::state::State as Placed;

use super::meant::{Meant, Taken, give, when_done};
use crate::app::App;
use crate::auth::Operator;
use crate::extract::{Sent, name};
use crate::fault::Fault;

/// Stop new attempts of a deployment
#[utoipa::path(post, path = "/api/v1/deployments/{name}/hold", tag = "deployments",
    params(("name" = String, Path)), request_body = Hold,
    responses((status = 202, description = "Ordered", body = Accepted),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn hold(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    Sent(request): Sent<Hold>,
) -> Result<Taken, Fault> {
    let note = request.note;
    let meant = Meant { app: &app, operator: &operator, handle: &handle, sites: &request.sites };
    let (handle, orders) =
        meant.orders(|_, it| Ok(Action::Hold { scope: scope(&it.id), note: note.clone() })).await?;
    let said = format!("{handle} is held");
    give(&app, &operator, Some(&handle), orders, said).await
}

/// Let a deployment go on
#[utoipa::path(post, path = "/api/v1/deployments/{name}/release", tag = "deployments",
    params(("name" = String, Path)), request_body = Release,
    responses((status = 202, description = "Ordered", body = Accepted),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn release(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    Sent(request): Sent<Release>,
) -> Result<Taken, Fault> {
    let meant = Meant { app: &app, operator: &operator, handle: &handle, sites: &request.sites };
    let (handle, orders) = meant
        .orders(|view, it| {
            let scope = scope(&it.id);
            is_held(view, &scope)
                .then_some(Action::ReleaseHold { scope })
                .ok_or("it is not on hold")
        })
        .await?;
    let said = format!("{handle} goes on");
    give(&app, &operator, Some(&handle), orders, said).await
}

/// Try what failed again, at once
#[utoipa::path(post, path = "/api/v1/deployments/{name}/retry", tag = "deployments",
    params(("name" = String, Path)), request_body = Retry,
    responses((status = 202, description = "Ordered", body = Accepted),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn retry(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    Sent(request): Sent<Retry>,
) -> Result<Taken, Fault> {
    let mut sites = request.sites.clone();
    let node = match request.node.as_deref().map(|it| it.split_once('/')) {
        None => None,
        Some(None) => return Err(Fault::field("node", "a node is named as `<site>/<node>`")),
        Some(Some((site, node))) => {
            sites = vec![site.to_owned()];
            Some(name::<NodeName>("node", node)?)
        }
    };
    let meant = Meant { app: &app, operator: &operator, handle: &handle, sites: &sites };
    let (handle, orders) = meant
        .orders(|view, it| {
            let failed = view.placements_of(&it.id).any(|it| {
                matches!(it.state, Placed::Failed(_))
                    && node.as_ref().is_none_or(|n| *n == it.id.node)
            });
            let again = || Action::Retry { deployment: it.id.clone(), node: node.clone() };
            failed.then(again).ok_or("nothing of it has failed")
        })
        .await?;
    let said = format!("what failed of {handle} is tried again");
    give(&app, &operator, Some(&handle), orders, said).await
}

/// Let a quarantined revision try again
#[utoipa::path(post, path = "/api/v1/deployments/{name}/quarantine/release", tag = "deployments",
    params(("name" = String, Path)), request_body = QuarantineRelease,
    responses((status = 202, description = "Ordered", body = Accepted),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn quarantine_release(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    Sent(request): Sent<QuarantineRelease>,
) -> Result<Taken, Fault> {
    let meant = Meant { app: &app, operator: &operator, handle: &handle, sites: &request.sites };
    let (handle, orders) = meant
        .orders(|_, it| {
            let condemned =
                !it.quarantine.is_empty() || !it.rejected.is_empty() || it.stopped.is_some();
            let release = || Action::ReleaseQuarantine { deployment: it.id.clone() };
            condemned.then(release).ok_or("nothing of it is quarantined")
        })
        .await?;
    let said = format!("what was quarantined of {handle} may be tried again");
    give(&app, &operator, Some(&handle), orders, said).await
}

/// Also what is ordered already counts.
pub(super) fn is_held(site: &SiteView, scope: &HoldScope) -> bool {
    let ordered = when_done(site, |order| holds(order, scope));
    ordered.unwrap_or_else(|| site.holds.holds.contains_key(scope))
}

fn holds(action: &Action, about: &HoldScope) -> Option<bool> {
    if let Action::Hold { scope, .. } = action {
        return (scope == about).then_some(true);
    }
    let Action::ReleaseHold { scope } = action else { return None };
    (scope == about).then_some(false)
}

fn scope(id: &DeploymentId) -> HoldScope {
    HoldScope::Deployment(id.clone())
}
