//! A site's orchestrator (LO), identified by its certificate.

use axum::extract::{ConnectInfo, FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use colony_core::event::Incarnation;
use colony_core::id::SiteName;
use colony_core::margo::Digest;
use colony_core::time::Timestamp;
use colony_wfm::Peer;

use crate::app::App;
use crate::clock;
use crate::fault::Fault;

/// The orchestrator that sent a request: its site, and which of the site's
/// orchestrators it is. A path that names a site must name the one of the
/// certificate.
#[derive(Debug, Clone)]
pub(crate) struct Local {
    pub site: SiteName,
    /// The incarnation that joined with the key. `None` only at a site whose
    /// orchestrator joined before keys were recorded.
    pub incarnation: Option<Incarnation>,
    /// The key of the connection.
    pub key: Option<Digest>,
}

impl FromRequestParts<App> for Local {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Local, Fault> {
        let params = RawPathParams::from_request_parts(parts, app).await;
        let params = params.map_err(|it| Fault::invalid(it.to_string()))?;
        let named = params.iter().find(|it| it.0 == "site").map(|it| it.1.to_owned());
        let local = Local::of(parts, app)?.ok_or_else(|| {
            Fault::unknown_caller("this needs the client certificate of a site's orchestrator")
        })?;
        let site = &local.site;
        if let Some(named) = named.filter(|it| it != site.as_str()) {
            return Err(Fault::forbidden(format!("site {site} does not speak for `{named}`")));
        }
        let heard = local.check_current(app).await?;
        app.record_contact(&local.site, heard, clock::wall()).await?;
        Ok(local)
    }
}

impl Local {
    /// The orchestrator that reads Git with a certificate, if one does.
    pub(crate) async fn reader(parts: &Parts, app: &App) -> Result<Option<Local>, Fault> {
        let Some(local) = Local::of(parts, app)? else { return Ok(None) };
        local.check_current(app).await?;
        Ok(Some(local))
    }

    /// The orchestrator the certificate of the connection belongs to, if it is
    /// one of this fleet.
    fn of(parts: &Parts, app: &App) -> Result<Option<Local>, Fault> {
        let peer = parts.extensions.get::<ConnectInfo<Peer>>().map(|it| &it.0);
        let Some((peer, site)) = peer.and_then(|it| Some((it, site_of(it, app)?))) else {
            return Ok(None);
        };
        if peer.has_expired(clock::unix(clock::wall())) {
            return Err(Fault::unknown_caller("the certificate of this connection has expired"));
        }
        let incarnation = incarnation(app, &site, peer.key)?;
        Ok(Some(Local { site, incarnation, key: peer.key }))
    }

    /// Refuses an orchestrator that was replaced; returns the time of the
    /// site's last contact.
    async fn check_current(&self, app: &App) -> Result<Option<Timestamp>, Fault> {
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
fn site_of(peer: &Peer, app: &App) -> Option<SiteName> {
    let id = peer.id.as_ref().filter(|it| it.trust_domain() == app.identity.domain())?;
    id.as_site_client()?.parse().ok()
}

/// The incarnation that joined with the key; never the one that the request
/// claims.
fn incarnation(
    app: &App,
    site: &SiteName,
    key: Option<Digest>,
) -> Result<Option<Incarnation>, Fault> {
    let known = key.and_then(|it| app.keys.get(site, &it.to_string()));
    if known.is_none() && app.keys.has_any(site) {
        let said = format!(
            "no orchestrator of site {site} joined with the key of this certificate; \
             join again with an invitation of `colony site invite {site} --replace`"
        );
        return Err(Fault::forbidden(said));
    }
    Ok(known)
}
