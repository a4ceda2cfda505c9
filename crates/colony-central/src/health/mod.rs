//! Liveness, readiness and metrics of this role.

pub(crate) mod metrics;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use colony_core::fleet::{SitePresence, SiteView};
use colony_core::state::State as Placed;
use colony_wfm::Readiness;

use crate::app::App;
use crate::clock;
use crate::fault::Fault;

/// The role is alive.
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether it can do its job, or why not
///
/// The same at every role; lines of text for who asks for `text/plain`.
#[utoipa::path(get, path = "/readyz", tag = "health",
    responses((status = 200, description = "It can", body = colony_api::schema::Readiness),
        (status = 503, description = "It cannot", body = colony_api::schema::Readiness)))]
pub(crate) async fn readyz(State(app): State<App>, headers: HeaderMap) -> Response {
    let readiness = Readiness::unless(reasons(&app).await);
    let (kind, body) = readiness.body(&headers);
    (readiness.status(), [(header::CONTENT_TYPE, kind)], body).into_response()
}

/// Why this role is not ready.
pub(crate) async fn reasons(app: &App) -> Vec<String> {
    let store = app.brain.store().ping().await.err();
    let store = store.map(|it| format!("database: {:#}", anyhow::Error::from(it)));
    let git = app.repo.problem().map(|it| format!("git: {it}"));
    store.into_iter().chain(git).collect()
}

/// The metrics, in OpenMetrics text.
pub(crate) async fn metrics(State(app): State<App>) -> Result<Response, Fault> {
    measure(&app).await?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], app.metrics.print()).into_response())
}

async fn measure(app: &App) -> Result<(), Fault> {
    let ready = reasons(app).await.is_empty();
    let open = app.brain.store().changes_open().await?.len();
    let fleet = app.brain.read().await?;
    let views = || fleet.sites().map(|it| it.1);
    let nodes = || views().flat_map(|it| it.nodes.values());
    let placements = || views().flat_map(|it| it.placements.values()).flat_map(|it| it.values());
    let now = clock::wall();
    let silent = |it: &&SiteView| it.presence(now) != SitePresence::Online;
    let failed = placements().filter(|it| matches!(it.state, Placed::Failed(_))).count();
    let m = &app.metrics;
    m.ready.set(i64::from(ready));
    m.changes_open.set(count(open));
    m.sites.set(count(views().count()));
    m.sites_silent.set(count(views().filter(silent).count()));
    m.nodes.set(count(nodes().count()));
    m.nodes_online.set(count(nodes().filter(|it| it.is_online()).count()));
    m.placements.set(count(placements().count()));
    m.placements_failed.set(count(failed));
    Ok(())
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
