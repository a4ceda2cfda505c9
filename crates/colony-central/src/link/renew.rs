//! The next certificate of a site's orchestrator, for the one that is still good.

use axum::Json;
use axum::extract::State;
use colony_api::path::INCARNATION_HEADER;
use colony_api::site::{SiteRenewRequest, SiteRenewed};

use super::join::unsigned;
use crate::app::App;
use crate::auth::Local;
use crate::clock;
use crate::extract::Sent;
use crate::fault::Fault;

/// Renew the certificate of a site's orchestrator
#[utoipa::path(post, path = "/colony/v1/renew", tag = "site link", request_body = SiteRenewRequest,
    responses((status = 200, description = "Renewed", body = SiteRenewed),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn renew(
    State(app): State<App>,
    local: Local,
    Sent(request): Sent<SiteRenewRequest>,
) -> Result<Json<SiteRenewed>, Fault> {
    // Without the number nobody can tell whether it was replaced.
    let incarnation = local.incarnation;
    let incarnation = incarnation
        .ok_or_else(|| Fault::invalid(format!("the header `{INCARNATION_HEADER}` is missing")))?;
    let now = clock::unix(clock::wall());
    let chain = app.identity.sign_site(&request.csr, local.site.as_str(), now);
    let chain = chain.map_err(|it| unsigned(&it))?;
    colony_fail::hit(colony_fail::Point::CentralRenewIssued);
    tracing::info!(site = %local.site, incarnation, "renewed a certificate");
    Ok(Json(SiteRenewed { chain, roots: app.identity.authority.root_pem().to_owned() }))
}
