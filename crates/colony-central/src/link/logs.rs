//! Logs of a node, on their way to the operator that requested them.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use colony_api::site::LogAnswer;

use crate::api::extract::JsonBody;
use crate::app::App;
use crate::auth::Local;
use crate::fault::Fault;

/// Take the answer to a request for logs
#[utoipa::path(post, path = "/api/v1/sites/{site}/logs/{id}", tag = "site link",
    params(("site" = String, Path), ("id" = String, Path)), request_body = LogAnswer,
    responses((status = 204, description = "Handed over")))]
pub(crate) async fn answer(
    State(app): State<App>,
    local: Local,
    Path(path): Path<(String, String)>,
    JsonBody(answer): JsonBody<LogAnswer>,
) -> Result<StatusCode, Fault> {
    match app.relay.answer(&local.site, &path.1, answer) {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Fault::not_found("the request for these logs has ended")),
    }
}
