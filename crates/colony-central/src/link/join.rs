//! An orchestrator takes a site: a token, used once, becomes a certificate.

use axum::Json;
use axum::extract::State;
use colony_api::problem::Kind;
use colony_api::site::{SiteJoinRequest, SiteJoined};
use colony_core::event::Incarnation;
use colony_core::fleet::{Fleet, JoinRefusal};
use colony_core::id::SiteName;
use colony_core::time::Wall;
use colony_store::Write;
use colony_wfm::{Claims, IdentityError, TokenKind, token};
use serde_json::json;

use crate::app::App;
use crate::brain::own_event;
use crate::clock;
use crate::extract::{Sent, name};
use crate::fault::Fault;

/// Join a site's orchestrator to the fleet
#[utoipa::path(post, path = "/colony/v1/join", tag = "site link", request_body = SiteJoinRequest,
    responses((status = 200, description = "Joined", body = SiteJoined),
        (status = "4XX", description = "Refused", body = colony_api::schema::Problem)))]
pub(crate) async fn join(
    State(app): State<App>,
    Sent(request): Sent<SiteJoinRequest>,
) -> Result<Json<SiteJoined>, Fault> {
    let now = clock::wall();
    let claims = claims(&app, &request, now)?;
    let site: SiteName = name("site", &claims.site)?;
    if app.brain.store().note_get(&used(&claims)).await?.is_some() {
        return Err(colony_wfm::join::token_used().into());
    }
    // A broken request must not spend the token.
    let chain = app.identity.sign_site(&request.csr, site.as_str(), clock::unix(now));
    let chain = chain.map_err(|it| unsigned(&it))?;
    colony_fail::hit(colony_fail::Point::CentralJoinSigned);
    let replace = request.replace || claims.replace;
    let incarnation = app.brain.write(|fleet| take(fleet, &site, &claims, replace, now)).await?;
    colony_fail::hit(colony_fail::Point::CentralJoinStored);
    app.metrics.joins.inc();
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

fn claims(app: &App, request: &SiteJoinRequest, now: Wall) -> Result<Claims, Fault> {
    let public = app.identity.signer.public();
    let claims = token::verify(&request.token, &public, clock::unix(now));
    let claims = claims.map_err(|it| Fault::forbidden(it.to_string()))?;
    match claims.kind {
        TokenKind::Site => Ok(claims),
        TokenKind::Node => Err(Fault::forbidden(format!(
            "this token is for a node of site {}: run `colony node --join …` with it",
            claims.site
        ))),
    }
}

fn take(
    fleet: &mut Fleet,
    site: &SiteName,
    claims: &Claims,
    replace: bool,
    now: Wall,
) -> Result<(Incarnation, Write), Fault> {
    let incarnation = fleet.join(site, now, replace).map_err(|it| refused(&it))?;
    let body = json!({"incarnation": incarnation, "token": claims.id, "replace": replace});
    let actor = format!("site:{site}");
    let event = own_event("site_joined", &actor, now, (Some(site), None), body);
    let once = Some(("join".to_owned(), claims.id.clone(), now));
    let notes = vec![(used(claims), json!(now))];
    Ok((incarnation, Write { events: vec![event], once, notes, ..Write::default() }))
}

/// Remembers a token that was used, to say so before anything else.
fn used(claims: &Claims) -> String {
    format!("joined/{}", claims.id)
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
