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

use axum::extract::DefaultBodyLimit;
use colony_api::operations;
use colony_api::server::Operations;

use crate::app::App;

/// A batch of a thousand events with their log lines is well below this limit.
const BATCH_BYTES: usize = 16 << 20;
const REPORT_BYTES: usize = 4 << 20;
/// A token and a certificate request: the only body that is read without a
/// certificate.
const JOIN_BYTES: usize = 64 << 10;

/// What LOs call, beside Git.
pub(crate) fn operations() -> Operations<App> {
    let batch = operations![App: events::take];
    let report = operations![App: nodes::report, logs::answer];
    let join = operations![App: join::join, renew::renew];
    operations![App: hints::hints, seed::seed]
        .merge(batch.map(|it| it.layer(DefaultBodyLimit::max(BATCH_BYTES))))
        .merge(report.map(|it| it.layer(DefaultBodyLimit::max(REPORT_BYTES))))
        .merge(join.map(|it| it.layer(DefaultBodyLimit::max(JOIN_BYTES))))
}
