//! The long poll of an LO: returns at once if there is something for its site.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use colony_api::path::{GIT_CURRENT, GIT_HEADER, PREFER_HEADER};
use colony_api::site::{Hints, HintsQuery};

use crate::api::extract::QueryParameters;
use crate::app::App;
use crate::auth::Local;
use crate::fault::Fault;

/// The longest a request is held.
const LONGEST: Duration = Duration::from_secs(60);

/// The most orders of one response.
const COMMANDS: usize = 100;

/// Wait for something a site should know
#[utoipa::path(get, path = "/api/v1/sites/{site}/hints", tag = "site link",
    params(("site" = String, Path), ("head" = Option<String>, Query), ("command" = Option<u64>, Query),
        ("logs" = Option<String>, Query)),
    responses((status = 200, description = "Something differs", body = Hints),
        (status = 304, description = "Nothing differs")))]
pub(crate) async fn hints(
    State(app): State<App>,
    local: Local,
    QueryParameters(have): QueryParameters<HintsQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let end = tokio::time::sleep(wait(&headers));
    tokio::pin!(end);
    // Subscribe before reading, so that no change in between is missed.
    let mut bell = app.brain.notifier().listen(&local.site);
    let mut git = app.repo.listen(&local.site);
    loop {
        bell.mark_unchanged();
        git.mark_unchanged();
        if let Some(hints) = look(&app, &local, &have).await? {
            let vouched = if hints.head.is_none() { vouch(&app) } else { HeaderMap::new() };
            return Ok((vouched, Json(hints)).into_response());
        }
        tokio::select! {
            () = &mut end => return Ok((StatusCode::NOT_MODIFIED, vouch(&app)).into_response()),
            () = app.stop.cancelled() => return Ok(StatusCode::NOT_MODIFIED.into_response()),
            heard = bell.changed() => heard.map_err(anyhow::Error::from)?,
            moved = git.changed() => moved.map_err(anyhow::Error::from)?,
        }
    }
}

/// Tells the site that its part of Git is current, so that it need not poll Git
/// itself.
fn vouch(app: &App) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if app.repo.is_current() {
        headers.insert(GIT_HEADER, HeaderValue::from_static(GIT_CURRENT));
    }
    headers
}

async fn look(app: &App, local: &Local, have: &HintsQuery) -> Result<Option<Hints>, Fault> {
    let fleet = app.brain.snapshot();
    if let (Some(own), Some(view)) = (local.incarnation, fleet.site(&local.site))
        && let Some(current) = view.incarnation().filter(|it| own < *it)
    {
        return Err(Fault::fenced(current));
    }
    let open = fleet.commands_open(&local.site).into_iter();
    let open = open.filter(|it| it.number.is_none_or(|it| it > have.command));
    // A response has a limit: the remaining orders follow when these are done.
    let commands: Vec<_> = open.take(COMMANDS).cloned().collect();
    let logs = app.relay.open(&local.site, have.logs.as_deref());
    let head = app.repo.news(&local.site, have.head.as_deref()).await;
    if head.is_none() && commands.is_empty() && logs.is_empty() {
        return Ok(None);
    }
    Ok(Some(Hints { head, commands, logs }))
}

/// `Prefer: wait=30`; without it the response is sent at once.
fn wait(headers: &HeaderMap) -> Duration {
    let prefer = headers.get(PREFER_HEADER).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let wait = prefer.split(',').find_map(|it| it.trim().strip_prefix("wait="));
    let seconds = wait.and_then(|it| it.trim().parse().ok()).unwrap_or(0);
    Duration::from_secs(seconds).min(LONGEST)
}
