//! Orders about a deployment: hold, release, retry, steer its rollout, let out
//! of quarantine.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use colony_api::request::{Hold, QuarantineRelease, Release, Retry, Steer, Steering};
use colony_api::view::Accepted;
use colony_core::event::HoldScope;
use colony_core::fleet::{DeploymentView, SiteView};
use colony_core::id::{DeploymentId, DeploymentName, NodeName, SiteName};
use colony_core::site::Action;
use colony_core::state::State as Placed;

use crate::app::App;
use crate::auth::{Operator, Role};
use crate::extract::{Sent, name};
use crate::fault::Fault;
use crate::{clock, command, plan, view};

/// The answer to an order.
pub(super) type Taken = (StatusCode, Json<Accepted>);

type Orders = Vec<(SiteName, Action)>;

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
    let orders = Meant { app: &app, operator: &operator, handle: &handle, sites: &request.sites };
    let (handle, orders) = orders
        .orders(|_, it| Some(Action::Hold { scope: scope(&it.id), note: note.clone() }))
        .await?;
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
            view.holds.holds.contains_key(&scope).then_some(Action::ReleaseHold { scope })
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
            failed.then(|| Action::Retry { deployment: it.id.clone(), node: node.clone() })
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
            condemned.then(|| Action::ReleaseQuarantine { deployment: it.id.clone() })
        })
        .await?;
    let said = format!("what was quarantined of {handle} may be tried again");
    give(&app, &operator, Some(&handle), orders, said).await
}

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
    let (handle, orders) = meant.orders(|_, it| steered(steering, it, &note)).await?;
    let said = format!("{handle} {}", steering.sentence());
    give(app, operator, Some(&handle), orders, said).await
}

/// The order for a site that is rolling something out.
fn steered(steering: Steering, it: &DeploymentView, note: &str) -> Option<Action> {
    let good = it.good.as_ref().map(|it| it.workload);
    let refused = it.quarantine.contains_key(&it.accepted.workload);
    let under_way = !it.withdrawn && !refused && good != Some(it.accepted.workload);
    let (deployment, note) = (it.id.clone(), note.to_owned());
    let paused = it.rollout.as_ref().is_some_and(|it| it.paused.is_some());
    match steering {
        Steering::Promote => under_way.then_some(Action::Promote { deployment }),
        Steering::Pause => under_way.then_some(Action::Pause { deployment, note }),
        Steering::Resume => paused.then_some(Action::Resume { deployment }),
        Steering::Abort => under_way.then_some(Action::Abort { deployment, note }),
    }
}

/// The sites an order about a deployment goes to.
struct Meant<'a> {
    app: &'a App,
    operator: &'a Operator,
    handle: &'a str,
    sites: &'a [String],
}

impl Meant<'_> {
    /// One order per site where `order` finds a reason for one.
    async fn orders(
        &self,
        order: impl Fn(&SiteView, &DeploymentView) -> Option<Action>,
    ) -> Result<(DeploymentName, Orders), Fault> {
        let handle: DeploymentName = name("name", self.handle)?;
        let named = plan::sites_of(self.app, self.operator, self.sites).await?;
        view::deployment(self.app, self.operator, &handle).await?;
        let fleet = self.app.brain.read().await?;
        let mut orders = Vec::new();
        for (site, view) in fleet.sites_of(&handle) {
            if !named.is_empty() && !named.contains(site) || !self.operator.sees(site) {
                continue;
            }
            self.operator.must_be_at(Role::Operator, site)?;
            let all = view.deployments_named(&handle).filter_map(|it| order(view, it));
            orders.extend(all.map(|it| (site.clone(), it)));
        }
        if orders.is_empty() {
            return Err(Fault::refused(format!(
                "there is nothing of that kind at any site of {handle}"
            )));
        }
        Ok((handle, orders))
    }
}

pub(super) async fn give(
    app: &App,
    operator: &Operator,
    handle: Option<&DeploymentName>,
    orders: Orders,
    said: String,
) -> Result<Taken, Fault> {
    let event = command::give(app, operator, &orders, handle).await?;
    taken(app, said, &orders, event).await
}

/// Says what happens, and where it cannot happen at once.
pub(super) async fn taken(
    app: &App,
    said: String,
    orders: &[(SiteName, Action)],
    event: String,
) -> Result<Taken, Fault> {
    let fleet = app.brain.read().await?;
    let now = clock::wall();
    let away: Vec<String> = orders
        .iter()
        .filter(|(site, _)| {
            let heard = fleet.site(site).and_then(|it| it.head.last_heard);
            heard.is_none_or(|it| now.since(it) >= colony_core::fleet::LO_SILENT)
        })
        .map(|it| it.0.to_string())
        .collect();
    let sentence = match away.is_empty() {
        true => said,
        false => format!(
            "{said}; site {} is not heard and is told when it returns, within a day",
            away.join(", ")
        ),
    };
    Ok((StatusCode::ACCEPTED, Json(Accepted { sentence, event: Some(event) })))
}

fn scope(id: &DeploymentId) -> HoldScope {
    HoldScope::Deployment(id.clone())
}
