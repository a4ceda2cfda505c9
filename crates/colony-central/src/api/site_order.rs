//! Orders about a site as a whole: hold and release.

use axum::extract::{Path, State};
use colony_api::request::{Hold, Release, ReleaseWhat};
use colony_api::view::Accepted;
use colony_core::event::HoldScope;
use colony_core::fleet::SiteView;
use colony_core::id::SiteName;
use colony_core::site::Action;

use super::meant::{Taken, give};
use super::order::is_held;
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::extract::{Sent, name};
use crate::fault::Fault;
use crate::view;

/// Stop new attempts at a site
#[utoipa::path(post, path = "/api/v1/sites/{site}/hold", tag = "sites",
    params(("site" = String, Path)), request_body = Hold,
    responses((status = 202, description = "Ordered", body = Accepted),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn hold(
    State(app): State<App>,
    operator: Operator,
    Path(site): Path<String>,
    Sent(request): Sent<Hold>,
) -> Result<Taken, Fault> {
    let site = known(&app, &operator, &site).await?;
    let action = Action::Hold { scope: HoldScope::Site, note: request.note };
    give(&app, &operator, None, vec![(site.clone(), action)], format!("site {site} is held")).await
}

/// Let a site go on
#[utoipa::path(post, path = "/api/v1/sites/{site}/release", tag = "sites",
    params(("site" = String, Path)), request_body = Release,
    responses((status = 202, description = "Ordered", body = Accepted),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn release(
    State(app): State<App>,
    operator: Operator,
    Path(site): Path<String>,
    Sent(request): Sent<Release>,
) -> Result<Taken, Fault> {
    let site = known(&app, &operator, &site).await?;
    let action = {
        let fleet = app.brain.read().await?;
        fleet.site(&site).and_then(|it| released(request.what, it))
    };
    let Some(action) = action else {
        return Err(Fault::refused(format!("nothing of that kind is held at site {site}")));
    };
    give(&app, &operator, None, vec![(site.clone(), action)], format!("site {site} goes on")).await
}

/// What lets go of that which is held, if something is.
fn released(what: ReleaseWhat, site: &SiteView) -> Option<Action> {
    let (scope, held) = (HoldScope::Site, &site.holds);
    match what {
        ReleaseWhat::Hold => is_held(site, &scope).then_some(Action::ReleaseHold { scope }),
        ReleaseWhat::Removal => held.removal.as_ref().map(|_| Action::ReleaseRemoval),
        ReleaseWhat::History => {
            let commit = held.history.as_ref().map(|it| it.commit.clone());
            commit.map(|commit| Action::AcceptHistory { commit })
        }
    }
}

async fn known(app: &App, operator: &Operator, site: &str) -> Result<SiteName, Fault> {
    let site: SiteName = name("site", site)?;
    operator.must_be_at(Role::Operator, &site)?;
    view::site_exists(app, &site).await?;
    Ok(site)
}
