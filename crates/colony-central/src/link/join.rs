//! An orchestrator joins a site: a token that can be used once is exchanged for
//! a certificate.
//!
//! A second request with the same key means that the response was lost: it gets
//! the same identity again, as long as the token is valid and no other
//! orchestrator has joined the site since.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use colony_api::problem::Kind;
use colony_api::site::{SiteJoinRequest, SiteJoined};
use colony_core::event::{CentralEvent, Incarnation};
use colony_core::fleet::{Fleet, JoinRefusal};
use colony_core::id::SiteName;
use colony_core::time::Timestamp;
use colony_store::{CentralStore, EventFilter, Write};
use colony_wfm::{Claims, IdentityError, TokenKind, requested_key, token};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::api::extract::{JsonBody, parse_name};
use crate::app::App;
use crate::auth::Keys;
use crate::brain::own_event;
use crate::clock;
use crate::fault::Fault;

const PREFIX: &str = "joined/";

/// Join a site's orchestrator to the fleet
#[utoipa::path(post, path = "/colony/v1/join", tag = "site link", request_body = SiteJoinRequest,
    responses((status = 200, description = "Joined", body = SiteJoined)))]
pub(crate) async fn join(
    State(app): State<App>,
    JsonBody(request): JsonBody<SiteJoinRequest>,
) -> Result<Json<SiteJoined>, Fault> {
    let now = clock::wall();
    let claims = claims(&app, &request, now)?;
    let site: SiteName = parse_name("site", &claims.site)?;
    let key = requested_key(&request.csr).map_err(|it| unsigned(&it))?.to_string();
    // An invalid request must not use up the token.
    let chain = app.identity.sign_site(&request.csr, site.as_str(), clock::unix(now));
    let chain = chain.map_err(|it| unsigned(&it))?;
    colony_process::fail::hit(colony_process::fail::Point::CentralJoinSigned);
    let incarnation = match given(&app, &claims, &site, &key).await? {
        Some(incarnation) => incarnation,
        None => first(&app, &claims, (&site, &key), request.replace, now).await?,
    };
    tracing::info!(%site, incarnation, "an orchestrator joined");
    Ok(Json(SiteJoined {
        chain,
        roots: app.identity.authority.root_pem().to_owned(),
        site: site.to_string(),
        incarnation,
        domain: app.identity.domain().to_owned(),
        token_public: app.identity.signer.public(),
        git: app.git.clone(),
    }))
}

fn claims(app: &App, request: &SiteJoinRequest, now: Timestamp) -> Result<Claims, Fault> {
    let public = app.identity.signer.public();
    let claims = token::verify(&request.token, &public, clock::unix(now));
    let claims = claims.map_err(|it| Fault::forbidden(it.to_string()))?;
    match claims.kind {
        TokenKind::Site => Ok(claims),
        TokenKind::Node => Err(Fault::forbidden(format!(
            "this invitation is for a node of site {}: run `colony node --join …` with it",
            claims.site
        ))),
    }
}

/// The incarnation the token was used for, if it was used with this key; an
/// error if it was used with another one, or if another orchestrator has joined
/// the site since.
async fn given(
    app: &App,
    claims: &Claims,
    site: &SiteName,
    key: &str,
) -> Result<Option<Incarnation>, Fault> {
    let Some(note) = app.brain.store().note_get(&used(claims)).await? else { return Ok(None) };
    let used = || Fault::from(colony_wfm::join::token_used());
    let given: UsedToken = serde_json::from_value(note).map_err(|_| used())?;
    if given.key != key {
        return Err(used());
    }
    let current = app.brain.read().await?.site(site).and_then(|it| it.incarnation());
    match current {
        Some(current) if current > given.incarnation => Err(Fault::fenced(current)),
        Some(_) | None => Ok(Some(given.incarnation)),
    }
}

/// Joins the site. Of two concurrent requests with the same key, the loser
/// finds the token used with its own key and gets the same incarnation.
async fn first(
    app: &App,
    claims: &Claims,
    (site, key): (&SiteName, &str),
    replace: bool,
    now: Timestamp,
) -> Result<Incarnation, Fault> {
    let replace = replace || claims.replace;
    let taken = app.brain.write(|fleet| take(fleet, (site, key), claims, replace, now)).await;
    colony_process::fail::hit(colony_process::fail::Point::CentralJoinStored);
    match taken {
        Ok(incarnation) => {
            app.keys.add(site, key, incarnation);
            app.metrics.joins.inc();
            Ok(incarnation)
        }
        Err(fault) => given(app, claims, site, key).await?.ok_or(fault),
    }
}

fn take(
    fleet: &mut Fleet,
    (site, key): (&SiteName, &str),
    claims: &Claims,
    replace: bool,
    now: Timestamp,
) -> Result<(Incarnation, Write), Fault> {
    let incarnation = fleet.join(site, now, replace).map_err(|it| refused(&it))?;
    let event = CentralEvent::SiteJoined { incarnation, token: claims.id.clone(), replace };
    let event = own_event(&event, &format!("site:{site}"), now, (Some(site), None));
    let once = Some(("join".to_owned(), claims.id.clone(), now));
    let given = UsedToken { at: now, site: Some(site.clone()), key: key.to_owned(), incarnation };
    let notes = vec![(used(claims), json!(given))];
    Ok((incarnation, Write { events: vec![event], once, notes, ..Write::default() }))
}

/// The record of a token that was used.
#[derive(Debug, Serialize, Deserialize)]
struct UsedToken {
    at: Timestamp,
    /// Not recorded by earlier versions.
    site: Option<SiteName>,
    /// The digest of the key it was used with.
    key: String,
    incarnation: Incarnation,
}

fn used(claims: &Claims) -> String {
    format!("{PREFIX}{}", claims.id)
}

/// Reads the keys of the orchestrators that joined before a restart.
pub(crate) async fn restore(store: &CentralStore) -> Result<Keys, colony_store::Error> {
    let keys = Keys::default();
    let mut joined: Option<BTreeMap<String, SiteName>> = None;
    for (note, given) in store.notes(PREFIX).await? {
        let Ok(given) = serde_json::from_value::<UsedToken>(given) else { continue };
        let mut site = given.site;
        if site.is_none() {
            let joined = match &mut joined {
                Some(it) => it,
                None => joined.insert(sites_by_token(store).await?),
            };
            site = note.strip_prefix(PREFIX).and_then(|it| joined.get(it)).cloned();
        }
        if let Some(site) = site {
            keys.add(&site, &given.key, given.incarnation);
        }
    }
    Ok(keys)
}

/// Which site each token was used for, according to the events.
async fn sites_by_token(
    store: &CentralStore,
) -> Result<BTreeMap<String, SiteName>, colony_store::Error> {
    let filter = EventFilter { kind: Some("site_joined".to_owned()), ..EventFilter::default() };
    let events = store.events(&filter, 0, u32::MAX).await?;
    let token = |it: &serde_json::Value| Some(it.get("token")?.as_str()?.to_owned());
    Ok(events.into_iter().filter_map(|it| Some((token(&it.body)?, it.site?))).collect())
}

fn refused(refusal: &JoinRefusal) -> Fault {
    let said = refusal.to_string();
    match refusal {
        JoinRefusal::UnknownSite(_) => Fault::not_found(said),
        JoinRefusal::HeardRecently { .. } => Kind::SiteAlive.problem(said).into(),
        JoinRefusal::UsedUp(_) => Fault::refused(said),
    }
}

pub(super) fn unsigned(error: &IdentityError) -> Fault {
    tracing::info!("a certificate request was refused: {error}");
    Fault::field("csr", error.to_string())
}
