//! A site's orchestrator (LO), known by its certificate.

use axum::extract::{ConnectInfo, FromRequestParts, RawPathParams};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use colony_api::path::INCARNATION_HEADER;
use colony_core::event::Incarnation;
use colony_core::id::SiteName;
use colony_wfm::Peer;

use crate::app::App;
use crate::clock;
use crate::fault::Fault;

/// Who asks, and which of the site's orchestrators it is. A path that names a
/// site must name the one of the certificate.
#[derive(Debug, Clone)]
pub(crate) struct Local {
    pub site: SiteName,
    pub incarnation: Option<Incarnation>,
}

impl FromRequestParts<App> for Local {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Local, Fault> {
        let params = RawPathParams::from_request_parts(parts, app).await;
        let params = params.map_err(|it| Fault::invalid(it.to_string()))?;
        let named = params.iter().find(|it| it.0 == "site").map(|it| it.1.to_owned());
        let site = site_of(parts, app).ok_or_else(|| {
            Fault::unknown_caller("this needs the client certificate of a site's orchestrator")
        })?;
        if let Some(named) = named.filter(|it| it != site.as_str()) {
            return Err(Fault::forbidden(format!("site {site} does not speak for `{named}`")));
        }
        let local = Local { site, incarnation: incarnation(&parts.headers)? };
        local.check_current(app).await?;
        Ok(local)
    }
}

impl Local {
    /// Refuses who was replaced, and notes that the current one is heard.
    async fn check_current(&self, app: &App) -> Result<(), Fault> {
        let fleet = app.brain.read().await?;
        let unknown = || Fault::not_found(format!("site `{}` does not exist", self.site));
        let view = fleet.site(&self.site).ok_or_else(unknown)?;
        let (current, heard) = (view.incarnation(), view.head.last_heard);
        drop(fleet);
        match (self.incarnation, current) {
            (Some(own), Some(current)) if own < current => return Err(Fault::fenced(current)),
            _ => {}
        }
        app.heard(&self.site, heard, clock::wall()).await
    }
}

/// The site of the certificate, if it is one of this fleet.
pub(crate) fn site_of(parts: &Parts, app: &App) -> Option<SiteName> {
    let ConnectInfo(peer) = parts.extensions.get::<ConnectInfo<Peer>>()?;
    let id = peer.id.as_ref().filter(|it| it.trust_domain() == app.identity.domain())?;
    id.as_site_client()?.parse().ok()
}

fn incarnation(headers: &HeaderMap) -> Result<Option<Incarnation>, Fault> {
    let Some(value) = headers.get(INCARNATION_HEADER) else { return Ok(None) };
    let number = value.to_str().ok().and_then(|it| it.trim().parse().ok());
    let wrong = || Fault::invalid(format!("`{INCARNATION_HEADER}` is not a number"));
    number.map(Some).ok_or_else(wrong)
}
