//! The protocol between local orchestrators (LO) and this role.
//!
//! The LO opens every connection. Its certificate names the site, and the key
//! in it identifies the orchestrator; every request of a replaced one is
//! refused with 409.

pub(crate) mod authority;
pub(crate) mod events;
pub(crate) mod git;
pub(crate) mod hints;
pub(crate) mod join;
pub(crate) mod logs;
pub(crate) mod nodes;
pub(crate) mod renew;
pub(crate) mod seed;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post, put};

use crate::app::App;

/// A batch of a thousand events with their log lines is well below this limit.
const BATCH_BYTES: usize = 16 << 20;
const REPORT_BYTES: usize = 4 << 20;
/// A token and a certificate request: the only body that is read without a
/// certificate.
const JOIN_BYTES: usize = 64 << 10;

/// The routes of LOs, and Git's.
pub(crate) fn routes() -> Router<App> {
    let batch = DefaultBodyLimit::max(BATCH_BYTES);
    let report = DefaultBodyLimit::max(REPORT_BYTES);
    let join = DefaultBodyLimit::max(JOIN_BYTES);
    Router::new()
        .route("/colony/v1/join", post(join::join).layer(join))
        .route("/colony/v1/renew", post(renew::renew).layer(join))
        .route("/api/v1/sites/{site}/events", post(events::take).layer(batch))
        .route("/api/v1/sites/{site}/nodes", put(nodes::report).layer(report))
        .route("/api/v1/sites/{site}/hints", get(hints::hints))
        .route("/api/v1/sites/{site}/logs/{id}", post(logs::answer).layer(report))
        .route("/api/v1/sites/{site}/seed", get(seed::seed))
        .merge(git::routes())
}
