//! The TLS port: the Margo interface, joins of nodes, the read-only OCI
//! endpoint of the built-in application, health and metrics. Beside it: its
//! certificate, and the addresses at which nodes reach it.

pub(crate) mod address;
pub(crate) mod server_certificate;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::connect_info::ConnectInfo;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};

use colony_core::margo::{Problem, ProblemType};
use colony_wfm::{JoinRequest, Joined, Manager, Peer, Refusal, server};

use crate::brain::Brain;
use crate::health::{Health, metrics};
use crate::margo::{Enrollment, NodeApi};

const JOIN_LIMIT: usize = 64 * 1024;
/// How long requests in progress may take to end when the role stops.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub(crate) struct App {
    pub brain: Brain,
    pub health: Health,
    pub door: Arc<Enrollment>,
    pub gate: Arc<NodeApi>,
}

pub(crate) fn router(app: App) -> Router {
    let builtin = Router::new()
        .route("/v2/", get(|| async { "{}" }))
        .route("/v2/{name}/manifests/{reference}", get(manifest))
        .route("/v2/{name}/blobs/{digest}", get(blob))
        .layer(middleware::from_fn_with_state(app.clone(), members_only));
    let own = Router::new()
        .route("/colony/v1/join", post(join))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics_show));
    let gate: Arc<dyn Manager> = app.gate.clone();
    let margo = colony_wfm::router(gate);
    let all = own.merge(builtin).with_state(app).merge(margo);
    // A node that disconnects must not leave an identity half issued.
    all.layer(middleware::from_fn(colony_wfm::finish))
}

async fn join(State(app): State<App>, body: Body) -> Result<Json<Joined>, Refusal> {
    let request: JoinRequest = server::json(body, JOIN_LIMIT).await?;
    Ok(app.door.join(request).await.map(Json)?)
}

async fn readyz(State(app): State<App>, headers: HeaderMap) -> Response {
    let readiness = app.health.readiness(&app.brain).await;
    let (kind, body) = readiness.body(&headers);
    (readiness.status(), [(header::CONTENT_TYPE, kind)], body).into_response()
}

async fn metrics_show(State(app): State<App>) -> Result<Response, Refusal> {
    let text = metrics::text(&app.brain, &app.health).await?;
    Ok(([(header::CONTENT_TYPE, metrics::MEDIA_TYPE)], text).into_response())
}

/// Only nodes of the site may fetch images.
async fn members_only(
    State(app): State<App>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let anonymous = || Problem::new(ProblemType::NotAuthorized).detail("no certificate was shown");
    let id = peer.id.as_ref().ok_or_else(anonymous)?;
    app.gate.accepts(id, peer.key)?;
    Ok(next.run(request).await)
}

async fn manifest(Path((name, reference)): Path<(String, String)>) -> Result<Response, Refusal> {
    let found = colony_builtin::manifest(&name, &reference);
    let (media_type, bytes) = found.ok_or_else(|| unknown(&name, &reference))?;
    let digest = colony_core::margo::Digest::of(&bytes).to_string();
    let headers = [(header::CONTENT_TYPE.as_str(), media_type), ("docker-content-digest", digest)];
    Ok((headers, bytes).into_response())
}

async fn blob(Path((name, digest)): Path<(String, String)>) -> Result<Response, Refusal> {
    let bytes = colony_builtin::blob(&name, &digest).ok_or_else(|| unknown(&name, &digest))?;
    let headers = [(header::CONTENT_TYPE, "application/octet-stream")];
    Ok((headers, bytes).into_response())
}

fn unknown(name: &str, reference: &str) -> Refusal {
    let said = format!("nothing built in is called `{name}` with `{reference}`");
    Refusal(Problem::about_blank(404).detail(said))
}
