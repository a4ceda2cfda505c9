//! Renews the certificate of a site's orchestrator while it is still valid.

use axum::Json;
use axum::extract::State;
use colony_api::site::{SiteRenewRequest, SiteRenewed};
use colony_core::event::CentralEvent;
use colony_store::Write;
use colony_wfm::requested_key;

use super::join::unsigned;
use crate::api::extract::JsonBody;
use crate::app::App;
use crate::auth::Local;
use crate::brain::own_event;
use crate::clock;
use crate::fault::Fault;

/// Renew the certificate of a site's orchestrator
#[utoipa::path(post, path = "/colony/v1/renew", tag = "site link", request_body = SiteRenewRequest,
    responses((status = 200, description = "Renewed", body = SiteRenewed)))]
pub(crate) async fn renew(
    State(app): State<App>,
    local: Local,
    JsonBody(request): JsonBody<SiteRenewRequest>,
) -> Result<Json<SiteRenewed>, Fault> {
    // Another key would belong to no incarnation, so a replacement could not
    // fence it.
    let asked = requested_key(&request.csr).map_err(|it| unsigned(&it))?;
    if local.key != Some(asked) {
        return Err(Fault::forbidden(
            "a certificate is renewed for the key of the connection; another key needs an invitation",
        ));
    }
    let site = &local.site;
    let incarnation = local.incarnation.ok_or_else(|| {
        let said =
            format!("the key of site {site} is not on record: join again with an invitation");
        Fault::forbidden(said)
    })?;
    let now = clock::wall();
    let chain = app.identity.sign_site(&request.csr, site.as_str(), clock::unix(now));
    let chain = chain.map_err(|it| unsigned(&it))?;
    let event = CentralEvent::SiteRenewed { incarnation, key: asked.to_string() };
    let event = own_event(&event, &format!("site:{site}"), now, (Some(site), None));
    let write = Write { events: vec![event], ..Write::default() };
    app.brain.write(|_| Ok::<_, Fault>(((), write))).await?;
    colony_process::fail::hit(colony_process::fail::Point::CentralRenewIssued);
    tracing::info!(%site, incarnation, "renewed a certificate");
    Ok(Json(SiteRenewed { chain, roots: app.identity.authority.root_pem().to_owned() }))
}
