//! A site's orchestrator (LO), known by its certificate.

use axum::extract::{ConnectInfo, FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use colony_api::path::INCARNATION_HEADER;
use colony_core::event::Incarnation;
use colony_core::id::SiteName;
use colony_core::time::Wall;
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
        let local = Local { site, incarnation: incarnation(parts, app)? };
        let heard = local.check_current(app).await?;
        app.heard(&local.site, heard, clock::wall()).await?;
        Ok(local)
    }
}

impl Local {
    /// Who reads Git with a certificate, if somebody does. Git itself says no
    /// incarnation: who is not known by its key is only known by its site.
    pub(crate) async fn reader(parts: &Parts, app: &App) -> Result<Option<Local>, Fault> {
        let Some(site) = site_of(parts, app) else { return Ok(None) };
        let local = Local { site, incarnation: incarnation(parts, app)? };
        local.check_current(app).await?;
        Ok(Some(local))
    }

    /// Refuses who was replaced; answers when the site was heard last.
    async fn check_current(&self, app: &App) -> Result<Option<Wall>, Fault> {
        let fleet = app.brain.read().await?;
        let unknown = || Fault::not_found(format!("site `{}` does not exist", self.site));
        let view = fleet.site(&self.site).ok_or_else(unknown)?;
        match (self.incarnation, view.incarnation()) {
            (Some(own), Some(current)) if own < current => Err(Fault::fenced(current)),
            (_, _) => Ok(view.head.last_heard),
        }
    }
}

/// The site of the certificate, if it is one of this fleet.
fn site_of(parts: &Parts, app: &App) -> Option<SiteName> {
    let ConnectInfo(peer) = parts.extensions.get::<ConnectInfo<Peer>>()?;
    let id = peer.id.as_ref().filter(|it| it.trust_domain() == app.identity.domain())?;
    id.as_site_client()?.parse().ok()
}

/// What the key says, else what the header says.
fn incarnation(parts: &Parts, app: &App) -> Result<Option<Incarnation>, Fault> {
    let peer = parts.extensions.get::<ConnectInfo<Peer>>();
    let key = peer.and_then(|it| it.0.key).map(|it| it.to_string());
    if let Some(known) = key.and_then(|it| app.keys.get(&it)) {
        return Ok(Some(known));
    }
    let Some(value) = parts.headers.get(INCARNATION_HEADER) else { return Ok(None) };
    let number = value.to_str().ok().and_then(|it| it.trim().parse().ok());
    let wrong = || Fault::invalid(format!("`{INCARNATION_HEADER}` is not a number"));
    number.map(Some).ok_or_else(wrong)
}
