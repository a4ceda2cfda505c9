//! The operator API: a file per resource, and the document that describes it.
//!
//! Handlers parse, query and reply; the decisions are made by the core and by
//! `plan`.

mod application;
mod change;
mod deployment;
mod event;
pub(crate) mod extract;
mod logs;
mod node;
mod order;
mod registry;
mod repo;
mod site;
#[cfg(test)]
mod tests;
mod token;

use axum::extract::DefaultBodyLimit;
use axum::routing::{delete, get, post};
use axum::{Json, Router, middleware};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa::openapi::{Content, Ref, Response, ResponseBuilder};

use colony_api::server;

use crate::app::App;
use crate::fault::Fault;
use crate::{health, link};
use order::{site_order, steer};
use site::{invite, trust};

/// Limit of a request body. Most requests are small, but the description of a
/// package is not.
const BODY: usize = 2 << 20;

/// Everything this role serves.
pub(crate) fn router(app: App) -> Router {
    Router::new()
        .merge(colony_api::server::routes::<App>())
        .merge(operators())
        .layer(DefaultBodyLimit::max(BODY))
        .layer(middleware::from_fn(colony_wfm::server::problems_only))
        .merge(link::routes())
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(async || Json(document())))
        .fallback(async || Fault::not_found("there is nothing at this address"))
        .layer(CatchPanicLayer::new())
        .layer(middleware::from_fn(colony_wfm::finish))
        .layer(middleware::from_fn(colony_wfm::cap_age))
        .with_state(app)
}

fn operators() -> Router<App> {
    Router::new()
        .route("/api/v1/sites", post(site::add))
        .route("/api/v1/sites/{site}/hold", post(site_order::hold))
        .route("/api/v1/sites/{site}/release", post(site_order::release))
        .route("/api/v1/sites/{site}/invite", post(invite::site))
        .route("/api/v1/sites/{site}/nodes/invite", post(invite::node))
        .route("/api/v1/sites/{site}/trust", post(trust::trust))
        .route("/api/v1/nodes/{site}/{node}/cordon", post(node::cordon))
        .route("/api/v1/nodes/{site}/{node}/uncordon", post(node::uncordon))
        .route("/api/v1/nodes/{site}/{node}/retire", post(node::retire))
        .route("/api/v1/applications", get(application::list))
        .route("/api/v1/applications/lint", post(application::lint))
        .route("/api/v1/applications/{id}", get(application::show))
        .route("/api/v1/applications/{id}/{version}", get(application::detail))
        .route("/api/v1/registries", get(registry::list).post(registry::add))
        .route("/api/v1/registries/{name}", get(registry::show).delete(registry::remove))
        .route("/api/v1/registries/{name}/sync", post(registry::sync))
        .route("/api/v1/deployments", post(deployment::deploy))
        .route("/api/v1/deployments/{name}", delete(deployment::delete))
        .route("/api/v1/deployments/{name}/history", get(deployment::history))
        .route("/api/v1/deployments/{name}/logs", get(logs::logs))
        .route("/api/v1/deployments/{name}/rollback", post(deployment::rollback))
        .route("/api/v1/deployments/{name}/retry", post(order::retry))
        .route("/api/v1/deployments/{name}/promote", post(steer::promote))
        .route("/api/v1/deployments/{name}/pause", post(steer::pause))
        .route("/api/v1/deployments/{name}/resume", post(steer::resume))
        .route("/api/v1/deployments/{name}/abort", post(steer::abort))
        .route("/api/v1/deployments/{name}/hold", post(order::hold))
        .route("/api/v1/deployments/{name}/release", post(order::release))
        .route("/api/v1/deployments/{name}/quarantine/release", post(order::quarantine_release))
        .route("/api/v1/changes", get(change::list))
        .route("/api/v1/changes/{id}", delete(change::cancel))
        .route("/api/v1/events", get(event::events))
        .route("/api/v1/repo", get(repo::repo))
        .route("/api/v1/tokens", get(token::list).post(token::make))
        .route("/api/v1/tokens/{name}", delete(token::remove))
}

/// The API as OpenAPI describes it.
#[derive(Debug, OpenApi)]
#[openapi(
    info(title = "colony", description = "The central orchestrator of a colony fleet"),
    paths(
        site::add,
        site_order::hold,
        site_order::release,
        invite::site,
        invite::node,
        trust::trust,
        node::cordon,
        node::uncordon,
        node::retire,
        application::list,
        application::lint,
        application::show,
        application::detail,
        registry::list,
        registry::show,
        registry::add,
        registry::remove,
        registry::sync,
        deployment::deploy,
        deployment::delete,
        deployment::history,
        deployment::rollback,
        logs::logs,
        order::retry,
        steer::promote,
        steer::pause,
        steer::resume,
        steer::abort,
        order::hold,
        order::release,
        order::quarantine_release,
        change::list,
        change::cancel,
        event::events,
        repo::repo,
        token::list,
        token::make,
        token::remove,
        link::join::join,
        link::renew::renew,
        link::events::take,
        link::nodes::report,
        link::hints::hints,
        link::logs::answer,
        link::seed::seed,
        health::readyz,
    ),
    components(schemas(colony_api::schema::Problem))
)]
struct Document;

/// The OpenAPI document. Operations are named noun first: `sites_show`. All but
/// the probe have an error response.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    let mut document = Document::openapi();
    document.merge(server::ReadApiDocument::openapi());
    let items = document.paths.paths.iter_mut();
    let operations = items.flat_map(|(path, it)| {
        let all = [&mut it.get, &mut it.put, &mut it.post, &mut it.delete];
        all.into_iter().flatten().map(|it| (path.as_str(), it))
    });
    for (path, operation) in operations {
        if path != "/readyz" {
            operation.responses.responses.insert("4XX".to_owned(), refused().into());
        }
        let tag = operation.tags.iter().flatten().next().cloned().unwrap_or_default();
        let verb = operation.operation_id.take().unwrap_or_default();
        operation.operation_id = Some(format!("{}_{verb}", tag.replace(' ', "_")));
    }
    document
}

fn refused() -> Response {
    let problem = Ref::from_schema_name("Problem");
    let content = Content::new(Some(problem));
    ResponseBuilder::new().description("Refused").content("application/json", content).build()
}
