//! Orders about a site as a whole: hold and release.

use axum::extract::{Path, State};
use colony_api::request::{Hold, Release, ReleaseWhat};
use colony_api::view::Accepted;
use colony_core::event::HoldScope;
use colony_core::fleet::{ReportedSite, SiteView};
use colony_core::id::SiteName;
use colony_core::order_rules;
use colony_core::site::Action;

use super::order_targets::{OrderAnswer, Orders, issue};
use crate::api::extract::{JsonBody, parse_name};
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::fault::Fault;
use crate::view;

/// Stop new attempts at a site
#[utoipa::path(post, path = "/api/v1/sites/{site}/hold", tag = "sites",
    params(("site" = String, Path)), request_body = Hold,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub(crate) async fn hold(
    State(app): State<App>,
    operator: Operator,
    Path(site): Path<String>,
    JsonBody(request): JsonBody<Hold>,
) -> Result<OrderAnswer, Fault> {
    let site = known(&app, &operator, &site).await?;
    let action = Action::Hold { scope: HoldScope::Site, note: request.note };
    check(&app, &site, &action).await?;
    issue(&app, &operator, None, Orders::one(&site, action), format!("site {site} is on hold"))
        .await
}

/// Let a site go on
#[utoipa::path(post, path = "/api/v1/sites/{site}/release", tag = "sites",
    params(("site" = String, Path)), request_body = Release,
    responses((status = 202, description = "Ordered", body = Accepted)))]
pub(crate) async fn release(
    State(app): State<App>,
    operator: Operator,
    Path(site): Path<String>,
    JsonBody(request): JsonBody<Release>,
) -> Result<OrderAnswer, Fault> {
    let site = known(&app, &operator, &site).await?;
    let action = {
        let fleet = app.brain.read().await?;
        release_of(request.what, fleet.site(&site).ok_or_else(|| unknown(&site))?, &site)?
    };
    check(&app, &site, &action).await?;
    issue(&app, &operator, None, Orders::one(&site, action), format!("site {site} goes on")).await
}

async fn check(app: &App, site: &SiteName, action: &Action) -> Result<(), Fault> {
    let fleet = app.brain.read().await?;
    let view = fleet.site(site).ok_or_else(|| unknown(site))?;
    let checked = order_rules::check(action, &ReportedSite { name: site, view });
    checked.map_err(|it| Fault::refused(it.to_string()))
}

fn unknown(site: &SiteName) -> Fault {
    Fault::not_found(format!("no site `{site}`"))
}

fn release_of(what: ReleaseWhat, view: &SiteView, site: &SiteName) -> Result<Action, Fault> {
    Ok(match what {
        ReleaseWhat::Hold => Action::ReleaseHold { scope: HoldScope::Site },
        ReleaseWhat::Removal => Action::ReleaseRemoval,
        ReleaseWhat::History => {
            let held = view.holds.history.as_ref().map(|it| it.commit.clone());
            let none = || format!("nothing to accept: no rewritten history is held at {site}");
            Action::AcceptHistory { commit: held.ok_or_else(|| Fault::refused(none()))? }
        }
    })
}

async fn known(app: &App, operator: &Operator, site: &str) -> Result<SiteName, Fault> {
    let site: SiteName = parse_name("site", site)?;
    operator.require_role(Role::Operator, &site)?;
    view::site_exists(app, operator, &site).await?;
    Ok(site)
}
