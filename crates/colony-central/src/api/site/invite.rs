//! Join tokens: one command for the other machine.

use axum::Json;
use axum::extract::{Path, State};
use colony_api::request::Invite;
use colony_api::view::{InviteKind, InviteView};
use colony_core::event::CentralEvent;
use colony_core::id::SiteName;
use colony_core::time::Timestamp;
use colony_store::Write;
use colony_wfm::{Claims, TokenKind};
use std::time::Duration;

use crate::api::extract::{JsonBody, parse_name};
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::brain::own_event;
use crate::clock;
use crate::fault::Fault;
use crate::view;

const LIFETIME: u64 = 3_600;
const LONGEST: u64 = 30 * 86_400;

/// Invite an orchestrator for a site
#[utoipa::path(post, path = "/api/v1/sites/{site}/invite", operation_id = "invite", tag = "sites",
    params(("site" = String, Path)), request_body = Invite,
    responses((status = 200, description = "A token", body = InviteView)))]
pub(crate) async fn site(
    State(app): State<App>,
    operator: Operator,
    Path(site): Path<String>,
    JsonBody(request): JsonBody<Invite>,
) -> Result<Json<InviteView>, Fault> {
    let site: SiteName = parse_name("site", &site)?;
    operator.require_role(Role::Admin, &site)?;
    view::site_exists(&app, &operator, &site).await?;
    let invite =
        site_invite(&app, &site, request.lifetime_seconds, request.replace, clock::wall())?;
    let event = CentralEvent::SiteInvited { expires: invite.expires };
    record(&app, &operator, &site, &event).await?;
    Ok(Json(invite))
}

/// Invite a node
#[utoipa::path(post, path = "/api/v1/sites/{site}/nodes/invite", operation_id = "invite", tag = "nodes",
    params(("site" = String, Path)), request_body = Invite,
    responses((status = 200, description = "A token", body = InviteView)))]
pub(crate) async fn node(
    State(app): State<App>,
    operator: Operator,
    Path(site): Path<String>,
    JsonBody(request): JsonBody<Invite>,
) -> Result<Json<InviteView>, Fault> {
    let site: SiteName = parse_name("site", &site)?;
    operator.require_role(Role::Operator, &site)?;
    view::site_exists(&app, &operator, &site).await?;
    let report = app.reports.get(&site).map(|it| it.1).filter(|it| !it.urls.is_empty());
    let Some(report) = report else {
        let said = format!(
            "site {site} has not reported where its nodes join: its orchestrator has to join first"
        );
        return Err(Fault::refused(said));
    };
    let seconds = lifetime(request.lifetime_seconds)?;
    let maker = Maker { app: &app, site: &site, seconds, replace: false, now: clock::wall() };
    let invite = maker.make(TokenKind::Node, report.urls.clone(), report.ca.clone());
    let event = CentralEvent::NodeInvited { expires: invite.expires };
    record(&app, &operator, &site, &event).await?;
    Ok(Json(invite))
}

/// A token for a site's orchestrator.
pub(super) fn site_invite(
    app: &App,
    site: &SiteName,
    seconds: Option<u64>,
    replace: bool,
    now: Timestamp,
) -> Result<InviteView, Fault> {
    let maker = Maker { app, site, seconds: lifetime(seconds)?, replace, now };
    Ok(maker.make(TokenKind::Site, app.urls.clone(), app.identity.authority.fingerprint()))
}

fn lifetime(asked: Option<u64>) -> Result<u64, Fault> {
    match asked.unwrap_or(LIFETIME) {
        0 => Err(Fault::field("lifetimeSeconds", "an invitation is valid for at least one second")),
        it if it > LONGEST => Err(Fault::field(
            "lifetimeSeconds",
            format!("an invitation is valid for at most {LONGEST} s"),
        )),
        it => Ok(it),
    }
}

struct Maker<'a> {
    app: &'a App,
    site: &'a SiteName,
    seconds: u64,
    replace: bool,
    now: Timestamp,
}

impl Maker<'_> {
    fn make(&self, kind: TokenKind, urls: Vec<String>, pin: String) -> InviteView {
        let expires = self.now.after(Duration::from_secs(self.seconds));
        let token = self.app.identity.signer.sign(&Claims {
            kind,
            id: uuid::Uuid::now_v7().to_string(),
            site: self.site.to_string(),
            urls,
            pin,
            expires: clock::unix(expires),
            replace: self.replace,
        });
        let (kind, role) = match kind {
            TokenKind::Site => (InviteKind::Site, "local"),
            TokenKind::Node => (InviteKind::Node, "node"),
        };
        let replace = if self.replace { " --replace" } else { "" };
        let command = format!("colony {role} --join {token}{replace}");
        let site = self.site.to_string();
        InviteView { kind, site, token, command, expires, lifetime_seconds: self.seconds }
    }
}

async fn record(
    app: &App,
    operator: &Operator,
    site: &SiteName,
    event: &CentralEvent,
) -> Result<(), Fault> {
    let event = own_event(event, &operator.name, clock::wall(), (Some(site), None));
    app.brain.write(|_| Ok(((), Write { events: vec![event], ..Write::default() }))).await
}
