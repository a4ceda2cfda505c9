//! The operator API of the site, on a Unix socket: inspect, hold and release,
//! also while the WAN is down. Every user that may open the socket has full
//! access.

mod caller;
mod command;
mod event;
mod logs;
mod names;
mod question;
mod versions;

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Method, Uri};
use axum::routing::{get, post};
use axum::{Router, middleware};
use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;

use colony_api::problem::Kind;
use colony_api::request::Steering;
use colony_api::server::routes as server_routes;
use colony_store::LocalStore;
use colony_wfm::Refusal;

use crate::brain::Brain;
use crate::health::Health;
use crate::health::vitals::Vitals;
use crate::home::Membership;
use crate::logs::Logs;
use crate::orders::Orders;
use crate::server::GRACE;
use crate::uplink::About;
use caller::Caller;
use command::deployment_steer;
pub(crate) use names::FormerNames;
pub(crate) use versions::FormerVersions;

const BODY_LIMIT: usize = 64 * 1024;

/// The state shared by all handlers.
#[derive(Debug, Clone)]
pub(crate) struct ApiState {
    pub brain: Brain,
    pub store: LocalStore,
    pub health: Health,
    pub logs: Logs,
    pub vitals: Vitals,
    pub orders: Orders,
    pub site_node: Membership,
    pub about: About,
    pub stop: CancellationToken,
    pub names: Arc<FormerNames>,
    pub versions: Arc<FormerVersions>,
}

/// Replaces the socket of a run that could not clean up.
pub(crate) fn bind(path: &Path) -> anyhow::Result<UnixListener> {
    let open = || -> std::io::Result<UnixListener> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))?;
        Ok(listener)
    };
    open().with_context(|| format!("could not listen on {}", path.display()))
}

pub(crate) async fn serve(listener: UnixListener, desk: ApiState) -> anyhow::Result<()> {
    let ending = desk.stop.clone().cancelled_owned();
    colony_wfm::serve(listener, router(desk), Caller::of, ending, GRACE).await;
    Ok(())
}

fn router(desk: ApiState) -> Router {
    let api = Router::new()
        .route("/sites/{site}/hold", post(command::site_hold))
        .route("/sites/{site}/release", post(command::site_release))
        .route("/nodes/{site}/{node}/{order}", post(command::node_order))
        .route("/deployments/{name}/logs", get(logs::deployment_logs))
        .route("/deployments/{name}/hold", post(command::deployment_hold))
        .route("/deployments/{name}/release", post(command::deployment_release))
        .route("/deployments/{name}/retry", post(command::deployment_retry))
        .route("/deployments/{name}/promote", deployment_steer(Steering::Promote))
        .route("/deployments/{name}/pause", deployment_steer(Steering::Pause))
        .route("/deployments/{name}/resume", deployment_steer(Steering::Resume))
        .route("/deployments/{name}/abort", deployment_steer(Steering::Abort))
        .route("/deployments/{name}/quarantine/release", post(command::quarantine_release))
        .route("/events", get(event::event_list));
    Router::new()
        .nest("/api/v1", api)
        .merge(server_routes::<ApiState>())
        .fallback(elsewhere)
        .method_not_allowed_fallback(elsewhere)
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(middleware::from_fn(colony_wfm::server::problems_only))
        .with_state(desk)
        .layer(middleware::from_fn(colony_wfm::finish))
}

/// Refuses requests that only the central orchestrator can serve.
async fn elsewhere(State(desk): State<ApiState>, method: Method, uri: Uri) -> Refusal {
    let (site, path) = (&desk.site_node.site, uri.path());
    let said = format!(
        "only the central orchestrator can do that, and this is the local orchestrator of site \
         {site}: leave out `--socket`, or name the central one with `--server` or `--context` \
         ({method} {path})"
    );
    Kind::NotFound.problem(said).into()
}
