//! The operator API of the site, on a Unix socket: to see, hold and release
//! also with the WAN down. Whoever may open the socket may do all of it.

mod caller;
mod command;
mod deployment;
mod event;
mod logs;
mod names;
mod node;
mod outcome;
mod site;
mod why;

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Context;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use axum::{Router, middleware};
use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;

use colony_store::LocalStore;

use crate::brain::Brain;
use crate::health::Health;
use crate::home::Membership;
use crate::logs::Logs;
use crate::orders::Orders;
use crate::server::{self, GRACE};
use crate::vitals::Vitals;
use caller::Caller;

const BODY_LIMIT: usize = 64 * 1024;

/// What the handlers work with.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    pub brain: Brain,
    pub store: LocalStore,
    pub health: Health,
    pub logs: Logs,
    pub vitals: Vitals,
    pub orders: Orders,
    pub member: Membership,
    pub urls: Vec<String>,
    pub stop: CancellationToken,
}

/// Takes the socket over from a run that could not clean up.
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

pub(crate) async fn serve(listener: UnixListener, desk: Desk) -> anyhow::Result<()> {
    let stop = desk.stop.clone();
    let service = router(desk).into_make_service_with_connect_info::<Caller>();
    let ending = stop.clone().cancelled_owned();
    let serving = axum::serve(listener, service).with_graceful_shutdown(ending);
    tokio::select! {
        served = serving => served.context("could not serve the operators"),
        () = server::after(&stop, GRACE) => Ok(()),
    }
}

fn router(desk: Desk) -> Router {
    let api = Router::new()
        .route("/status", get(site::status_show))
        .route("/sites", get(site::site_list))
        .route("/sites/{site}", get(site::site_show))
        .route("/sites/{site}/why", get(why::site_why))
        .route("/sites/{site}/hold", post(command::site_hold))
        .route("/sites/{site}/release", post(command::site_release))
        .route("/nodes", get(node::node_list))
        .route("/nodes/{site}/{node}", get(node::node_show))
        .route("/nodes/{site}/{node}/{order}", post(command::node_order))
        .route("/deployments", get(deployment::deployment_list))
        .route("/deployments/{name}", get(deployment::deployment_show))
        .route("/deployments/{name}/why", get(why::deployment_why))
        .route("/deployments/{name}/logs", get(logs::deployment_logs))
        .route("/deployments/{name}/hold", post(command::deployment_hold))
        .route("/deployments/{name}/release", post(command::deployment_release))
        .route("/deployments/{name}/retry", post(command::deployment_retry))
        .route("/deployments/{name}/promote", post(command::deployment_promote))
        .route("/deployments/{name}/pause", post(command::deployment_pause))
        .route("/deployments/{name}/resume", post(command::deployment_resume))
        .route("/deployments/{name}/abort", post(command::deployment_abort))
        .route("/deployments/{name}/quarantine/release", post(command::quarantine_release))
        .route("/events", get(event::event_list));
    let api = Router::new().nest("/api/v1", api).layer(DefaultBodyLimit::max(BODY_LIMIT));
    api.with_state(desk).layer(middleware::from_fn(colony_wfm::finish))
}
