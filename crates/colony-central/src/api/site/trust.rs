//! An admin accepts the certificate authority of a site's own domain.

use axum::Json;
use axum::extract::{Path, State};
use colony_api::request::SiteTrust;
use colony_api::view::Accepted;
use colony_core::id::SiteName;
use colony_core::margo::Digest;

use crate::api::extract::{JsonBody, parse_name};
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::clock;
use crate::fault::Fault;
use crate::link::authority;

/// Accept another authority for the nodes of a site
#[utoipa::path(post, path = "/api/v1/sites/{site}/trust", tag = "sites", request_body = SiteTrust,
    params(("site" = String, Path)),
    responses((status = 200, description = "Accepted", body = Accepted)))]
pub(crate) async fn trust(
    State(app): State<App>,
    operator: Operator,
    Path(site): Path<String>,
    JsonBody(request): JsonBody<SiteTrust>,
) -> Result<Json<Accepted>, Fault> {
    let site: SiteName = parse_name("site", &site)?;
    operator.require_role(Role::Admin, &site)?;
    let fingerprint: Digest = parse_name("fingerprint", &request.fingerprint)?;
    authority::accept(&app, &operator, &site, fingerprint.to_string(), clock::wall()).await?;
    let sentence = format!("nodes of site {site} are invited with the authority {fingerprint}");
    Ok(Json(Accepted { sentence, event: None }))
}
