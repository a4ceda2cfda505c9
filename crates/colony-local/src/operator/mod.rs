//! The operator API of the site, on a Unix socket: inspect, hold and release,
//! also while the WAN is down. Every user that may open the socket has full
//! access.

mod caller;
mod event;
mod log;
mod names;
mod order;
mod question;
mod versions;

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Method, Uri};
use axum::{Router, middleware};
use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;

use colony_api::problem::Kind;
use colony_api::server;
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
    server::operations::<ApiState>()
        .routes
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
