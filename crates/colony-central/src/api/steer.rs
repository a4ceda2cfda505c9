//! Orders about a rollout: promote, pause, resume, abort.

use axum::extract::{Path, State};
use colony_api::request::{Steer, Steering};
use colony_api::view::Accepted;
use colony_core::fleet::{DeploymentView, SiteView};
use colony_core::id::DeploymentId;
use colony_core::site::Action;

use super::meant::{Meant, Taken, give, when_done};
use crate::app::App;
use crate::auth::Operator;
use crate::extract::Sent;
use crate::fault::Fault;

/// Open the next step of a rollout
#[utoipa::path(post, path = "/api/v1/deployments/{name}/promote", tag = "deployments",
    params(("name" = String, Path)), request_body = Steer,
    responses((status = 202, description = "Ordered", body = Accepted),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn promote(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    Sent(request): Sent<Steer>,
) -> Result<Taken, Fault> {
    steer(&app, &operator, &handle, Steering::Promote, request).await
}

/// Start nothing more of a rollout
#[utoipa::path(post, path = "/api/v1/deployments/{name}/pause", tag = "deployments",
    params(("name" = String, Path)), request_body = Steer,
    responses((status = 202, description = "Ordered", body = Accepted),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn pause(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    Sent(request): Sent<Steer>,
) -> Result<Taken, Fault> {
    steer(&app, &operator, &handle, Steering::Pause, request).await
}

/// Let a paused rollout go on
#[utoipa::path(post, path = "/api/v1/deployments/{name}/resume", tag = "deployments",
    params(("name" = String, Path)), request_body = Steer,
    responses((status = 202, description = "Ordered", body = Accepted),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn resume(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    Sent(request): Sent<Steer>,
) -> Result<Taken, Fault> {
    steer(&app, &operator, &handle, Steering::Resume, request).await
}

/// End a rollout: everything goes back to the revision before
#[utoipa::path(post, path = "/api/v1/deployments/{name}/abort", tag = "deployments",
    params(("name" = String, Path)), request_body = Steer,
    responses((status = 202, description = "Ordered", body = Accepted),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn abort(
    State(app): State<App>,
    operator: Operator,
    Path(handle): Path<String>,
    Sent(request): Sent<Steer>,
) -> Result<Taken, Fault> {
    steer(&app, &operator, &handle, Steering::Abort, request).await
}

async fn steer(
    app: &App,
    operator: &Operator,
    handle: &str,
    steering: Steering,
    request: Steer,
) -> Result<Taken, Fault> {
    let note = request.note;
    let meant = Meant { app, operator, handle, sites: &request.sites };
    let (handle, orders) = meant.orders(|site, it| steered(steering, site, it, &note)).await?;
    let said = format!("{handle} {}", steering.sentence());
    give(app, operator, Some(&handle), orders, said).await
}

/// The order for a site, or why it would refuse it.
fn steered(
    steering: Steering,
    site: &SiteView,
    it: &DeploymentView,
    note: &str,
) -> Result<Action, &'static str> {
    let (deployment, note) = (it.id.clone(), note.to_owned());
    let paused = it.rollout.as_ref().is_some_and(|it| it.paused.is_some());
    let paused = when_done(site, |order| pauses(order, &it.id)).unwrap_or(paused);
    match steering {
        Steering::Resume if paused => Ok(Action::Resume { deployment }),
        Steering::Resume => Err("the rollout is not paused"),
        Steering::Promote if paused => Err("the rollout is paused: resume it first"),
        Steering::Promote => under_way(it).map(|()| Action::Promote { deployment }),
        Steering::Pause => under_way(it).map(|()| Action::Pause { deployment, note }),
        Steering::Abort => under_way(it).map(|()| Action::Abort { deployment, note }),
    }
}

fn pauses(action: &Action, id: &DeploymentId) -> Option<bool> {
    if let Action::Pause { deployment, .. } = action {
        return (deployment == id).then_some(true);
    }
    let (Action::Resume { deployment } | Action::Abort { deployment, .. }) = action else {
        return None;
    };
    (deployment == id).then_some(false)
}

fn under_way(it: &DeploymentView) -> Result<(), &'static str> {
    let good = it.good.as_ref().map(|it| it.workload);
    if it.withdrawn {
        return Err("it is being removed");
    }
    if it.quarantine.contains_key(&it.accepted.workload) {
        return Err("its revision is quarantined");
    }
    if good == Some(it.accepted.workload) { Err("no rollout is under way") } else { Ok(()) }
}
