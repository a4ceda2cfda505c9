//! Sites.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use colony_api::request::SiteAdd;
use colony_api::view::{InviteView, SiteView, WhyView};
use colony_core::id::SiteName;
use colony_core::site::SiteSettings;
use colony_core::time::Wall;
use colony_store::{Change, ChangeEdit, Write};
use serde_json::json;

use super::invite;
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::brain::own_event;
use crate::clock;
use crate::extract::{Sent, name};
use crate::fault::Fault;
use crate::view;

/// List sites
#[utoipa::path(get, path = "/api/v1/sites", tag = "sites",
    responses((status = 200, description = "All sites", body = Vec<SiteView>),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn list(
    State(app): State<App>,
    operator: Operator,
) -> Result<Json<Vec<SiteView>>, Fault> {
    Ok(Json(view::sites(&app, &operator).await?))
}

/// Show a site
#[utoipa::path(get, path = "/api/v1/sites/{site}", tag = "sites", params(("site" = String, Path)),
    responses((status = 200, description = "The site", body = SiteView),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn show(
    State(app): State<App>,
    operator: Operator,
    Path(site): Path<String>,
) -> Result<Json<SiteView>, Fault> {
    let site: SiteName = name("site", &site)?;
    operator.must_be_at(Role::Viewer, &site)?;
    Ok(Json(view::site(&app, &site).await?))
}

/// Ask why a site is not as it should be
#[utoipa::path(get, path = "/api/v1/sites/{site}/why", tag = "sites",
    params(("site" = String, Path)),
    responses((status = 200, description = "What is in the way", body = WhyView),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn why(
    State(app): State<App>,
    operator: Operator,
    Path(site): Path<String>,
) -> Result<Json<WhyView>, Fault> {
    let site: SiteName = name("site", &site)?;
    operator.must_be_at(Role::Viewer, &site)?;
    Ok(Json(view::why_site(&app, &site).await?))
}

/// Add a site and invite its orchestrator
#[utoipa::path(post, path = "/api/v1/sites", tag = "sites", request_body = SiteAdd,
    responses((status = 201, description = "Added", body = InviteView),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn add(
    State(app): State<App>,
    operator: Operator,
    Sent(request): Sent<SiteAdd>,
) -> Result<(StatusCode, Json<InviteView>), Fault> {
    let site: SiteName = name("name", &request.name)?;
    operator.must_be_at(Role::Admin, &site)?;
    check(&request.labels)?;
    let now = clock::wall();
    let invite = invite::site_invite(&app, &site, request.lifetime_seconds, false, now)?;
    app.brain
        .write(|fleet| {
            if !fleet.site_add(&site) {
                let said = format!(
                    "site `{site}` exists; invite its orchestrator with `colony site invite {site}`"
                );
                return Err(Fault::refused(said));
            }
            let body = json!({"labels": request.labels});
            let event = own_event("site_added", &operator.name, now, (Some(&site), None), body);
            let changes_put = labels(&site, &request.labels, &operator, now).into_iter().collect();
            Ok(((), Write { events: vec![event], changes_put, ..Write::default() }))
        })
        .await?;
    app.writer.wake();
    Ok((StatusCode::CREATED, Json(invite)))
}

/// What the site's own file could not hold is refused before it is queued.
fn check(labels: &BTreeMap<String, String>) -> Result<(), Fault> {
    let text = colony_margo::yaml::emit(&json!({"labels": labels}));
    let read = SiteSettings::parse(text.as_bytes()).map(drop);
    read.map_err(|it| {
        let problem = it.first().map(|it| it.subject_and_problem()).unwrap_or_default();
        Fault::field("labels", format!("these labels cannot be kept: {problem}"))
    })
}

/// Labels stand in Git, in the site's own file.
fn labels(
    site: &SiteName,
    labels: &BTreeMap<String, String>,
    operator: &Operator,
    now: Wall,
) -> Option<Change> {
    if labels.is_empty() {
        return None;
    }
    let text = colony_margo::yaml::emit(&json!({"labels": labels}));
    let edit = ChangeEdit { path: format!("sites/{site}.yaml"), expected: None, text: Some(text) };
    Some(Change {
        id: uuid::Uuid::now_v7().to_string(),
        at: now,
        actor: operator.name.clone(),
        message: format!("Add site {site}"),
        trailers: vec![("Colony-Actor".to_owned(), operator.name.clone())],
        edits: vec![edit],
    })
}
