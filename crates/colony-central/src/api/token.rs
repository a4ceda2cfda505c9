//! Tokens of operators.

use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use colony_api::render::listed;
use colony_api::request::TokenAdd;
use colony_api::view::TokenView;
use colony_core::event::CentralEvent;
use colony_store::{NewEvent, OperatorToken, Write};

use crate::api::extract::JsonBody;
use crate::app::App;
use crate::auth::{self, Operator, Role};
use crate::brain::own_event;
use crate::clock;
use crate::fault::Fault;
use crate::plan;

const NAME_LIMIT: usize = 64;

/// List tokens
#[utoipa::path(get, path = "/api/v1/tokens", tag = "tokens",
    responses((status = 200, description = "All tokens", body = Vec<TokenView>)))]
pub(crate) async fn list(
    State(app): State<App>,
    operator: Operator,
) -> Result<Json<Vec<TokenView>>, Fault> {
    operator.must_be_everywhere(Role::Admin)?;
    let all = app.brain.store().token_list().await?;
    Ok(Json(all.into_iter().map(|it| shown(it, None)).collect()))
}

/// Make a token
#[utoipa::path(post, path = "/api/v1/tokens", tag = "tokens", request_body = TokenAdd,
    responses((status = 201, description = "Made", body = TokenView)))]
pub(crate) async fn make(
    State(app): State<App>,
    operator: Operator,
    JsonBody(request): JsonBody<TokenAdd>,
) -> Result<(StatusCode, Json<TokenView>), Fault> {
    operator.must_be_everywhere(Role::Admin)?;
    let role: Role = request.role.parse().map_err(|it: String| Fault::field("role", it))?;
    check_name(&request.name)?;
    plan::sites_by_name(&app, &operator, &request.sites).await?;
    let (token, hash) = auth::make()?;
    let created = clock::wall();
    let made = OperatorToken {
        name: request.name,
        hash,
        role: role.to_string(),
        sites: request.sites,
        created,
        expires: request.lifetime_seconds.map(|it| created.after(Duration::from_secs(it))),
    };
    let event = CentralEvent::TokenMade { name: made.name.clone(), role: made.role.clone() };
    let write = Write {
        tokens_add: vec![made.clone()],
        events: vec![recorded(&operator, &event)],
        ..Write::default()
    };
    app.brain.write(|_| Ok::<_, Fault>(((), write))).await?;
    colony_process::fail::hit(colony_process::fail::Point::CentralTokenStored);
    Ok((StatusCode::CREATED, Json(shown(made, Some(token)))))
}

/// Remove a token
#[utoipa::path(delete, path = "/api/v1/tokens/{name}", tag = "tokens",
    params(("name" = String, Path)),
    responses((status = 204, description = "Removed")))]
pub(crate) async fn remove(
    State(app): State<App>,
    operator: Operator,
    Path(name): Path<String>,
) -> Result<StatusCode, Fault> {
    operator.must_be_everywhere(Role::Admin)?;
    let known = app.brain.store().token_list().await?;
    if !known.iter().any(|it| it.name == name) {
        let known = listed(known.iter().map(|it| &it.name), "none");
        return Err(Fault::not_found(format!("no token `{name}`; there is {known}")));
    }
    let event = recorded(&operator, &CentralEvent::TokenRemoved { name: name.clone() });
    let write = Write { tokens_remove: vec![name], events: vec![event], ..Write::default() };
    app.brain.write(|_| Ok::<_, Fault>(((), write))).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A name appears in commits and events, so it is short and of plain
/// characters.
fn check_name(name: &str) -> Result<(), Fault> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._@-".contains(c);
    if !name.is_empty() && name.len() <= NAME_LIMIT && name.chars().all(plain) {
        return Ok(());
    }
    Err(Fault::field("name", "a token's name has 1 to 64 letters, digits, `.`, `_`, `@` or `-`"))
}

fn shown(it: OperatorToken, token: Option<String>) -> TokenView {
    let OperatorToken { name, role, sites, created, expires, .. } = it;
    TokenView { name, role, sites, created, expires, token }
}

fn recorded(operator: &Operator, event: &CentralEvent) -> NewEvent {
    own_event(event, &operator.name, clock::wall(), (None, None))
}
