//! The long poll of an LO: returns at once when there is something for it.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use colony_api::path::PREFER_HEADER;
use colony_api::site::{Hints, HintsQuery};
use colony_core::id::GitRevision;

use crate::app::App;
use crate::auth::Local;
use crate::extract::Asked;
use crate::fault::Fault;

/// The longest a request is held.
const LONGEST: Duration = Duration::from_secs(60);

/// Wait for something a site should know
#[utoipa::path(get, path = "/api/v1/sites/{site}/hints", tag = "site link",
    params(("site" = String, Path), ("head" = Option<String>, Query), ("command" = Option<u64>, Query),
        ("logs" = Option<String>, Query)),
    responses((status = 200, description = "Something differs", body = Hints),
        (status = 304, description = "Nothing differs"),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn hints(
    State(app): State<App>,
    local: Local,
    Asked(have): Asked<HintsQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let end = tokio::time::sleep(wait(&headers));
    tokio::pin!(end);
    // Listening begins before looking: what happens in between is not missed.
    let mut bell = app.brain.bells().listen(&local.site);
    let mut head = app.repo.head();
    loop {
        let moved = head.borrow_and_update().clone();
        bell.mark_unchanged();
        if let Some(hints) = look(&app, &local, &have, moved)? {
            return Ok(Json(hints).into_response());
        }
        tokio::select! {
            () = &mut end => return Ok(StatusCode::NOT_MODIFIED.into_response()),
            () = app.stop.cancelled() => return Ok(StatusCode::NOT_MODIFIED.into_response()),
            heard = bell.changed() => heard.map_err(anyhow::Error::from)?,
            moved = head.changed() => moved.map_err(anyhow::Error::from)?,
        }
    }
}

fn look(
    app: &App,
    local: &Local,
    have: &HintsQuery,
    head: Option<GitRevision>,
) -> Result<Option<Hints>, Fault> {
    let fleet = app.brain.snapshot();
    if let (Some(own), Some(view)) = (local.incarnation, fleet.site(&local.site))
        && let Some(current) = view.incarnation().filter(|it| own < *it)
    {
        return Err(Fault::fenced(current));
    }
    let open = fleet.commands_open(&local.site).into_iter();
    let commands: Vec<_> =
        open.filter(|it| it.number.is_none_or(|it| it > have.command)).cloned().collect();
    let logs = app.relay.open(&local.site, have.logs.as_deref());
    let moved = head.as_ref().map(GitRevision::as_str) != have.head.as_deref() && head.is_some();
    if !moved && commands.is_empty() && logs.is_empty() {
        return Ok(None);
    }
    Ok(Some(Hints { head, commands, logs }))
}

/// `Prefer: wait=30`; without it the answer comes at once.
fn wait(headers: &HeaderMap) -> Duration {
    let prefer = headers.get(PREFER_HEADER).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let wait = prefer.split(',').find_map(|it| it.trim().strip_prefix("wait="));
    let seconds = wait.and_then(|it| it.trim().parse().ok()).unwrap_or(0);
    Duration::from_secs(seconds).min(LONGEST)
}
