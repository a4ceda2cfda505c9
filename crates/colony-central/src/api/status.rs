//! The whole fleet at a glance.

use axum::Json;
use axum::extract::State;
use colony_api::view::StatusView;

use crate::app::App;
use crate::auth::Operator;
use crate::fault::Fault;
use crate::view;

/// Show the fleet at a glance
#[utoipa::path(get, path = "/api/v1/status", tag = "fleet",
    responses((status = 200, description = "The fleet", body = StatusView),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn status(
    State(app): State<App>,
    operator: Operator,
) -> Result<Json<StatusView>, Fault> {
    Ok(Json(view::status(&app, &operator).await?))
}
