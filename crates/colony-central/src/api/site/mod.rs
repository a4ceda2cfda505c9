//! Sites, the invitations to them, and the authorities they bring along.

pub(super) mod invite;
pub(super) mod trust;

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use colony_api::request::SiteAdd;
use colony_api::view::InviteView;
use colony_core::event::CentralEvent;
use colony_core::id::SiteName;
use colony_core::site::SiteSettings;
use colony_core::time::Timestamp;
use colony_store::{Change, ChangeEdit, Write};
use serde_json::json;

use crate::api::extract::{JsonBody, parse_name};
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::brain::own_event;
use crate::clock;
use crate::fault::Fault;

/// Add a site and invite its orchestrator
#[utoipa::path(post, path = "/api/v1/sites", tag = "sites", request_body = SiteAdd,
    responses((status = 201, description = "Added", body = InviteView)))]
pub(crate) async fn add(
    State(app): State<App>,
    operator: Operator,
    JsonBody(request): JsonBody<SiteAdd>,
) -> Result<(StatusCode, Json<InviteView>), Fault> {
    let site: SiteName = parse_name("name", &request.name)?;
    operator.require_role(Role::Admin, &site)?;
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
            let event = CentralEvent::SiteAdded { labels: request.labels.clone() };
            let event = own_event(&event, &operator.name, now, (Some(&site), None));
            let changes_put = labels(&site, &request.labels, &operator, now).into_iter().collect();
            Ok(((), Write { events: vec![event], changes_put, ..Write::default() }))
        })
        .await?;
    app.writer.wake();
    Ok((StatusCode::CREATED, Json(invite)))
}

/// Refuses labels that the site's own file cannot hold, before they are queued.
fn check(labels: &BTreeMap<String, String>) -> Result<(), Fault> {
    let text = colony_core::margo::yaml::emit(&json!({"labels": labels}));
    let read = SiteSettings::parse(text.as_bytes()).map(drop);
    read.map_err(|it| {
        let problem = it.first().map(|it| it.subject_and_problem()).unwrap_or_default();
        Fault::field("labels", format!("these labels cannot be kept: {problem}"))
    })
}

/// Labels are stored in Git, in the site's own file.
fn labels(
    site: &SiteName,
    labels: &BTreeMap<String, String>,
    operator: &Operator,
    now: Timestamp,
) -> Option<Change> {
    if labels.is_empty() {
        return None;
    }
    let text = colony_core::margo::yaml::emit(&json!({"labels": labels}));
    let edit = ChangeEdit {
        path: format!("sites/{site}.yaml"),
        expected: None,
        text: Some(text),
        only_with: None,
    };
    Some(Change {
        id: uuid::Uuid::now_v7().to_string(),
        at: now,
        actor: operator.name.clone(),
        message: format!("Add site {site}"),
        trailers: vec![("Colony-Actor".to_owned(), operator.name.clone())],
        edits: vec![edit],
    })
}
