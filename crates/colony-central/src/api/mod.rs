//! The operator API: a file per resource, and the document that describes it.
//!
//! Handlers parse, ask and answer; what is decided is decided by the core and
//! by `plan`.

mod application;
mod deployment;
mod event;
mod invite;
mod logs;
mod meant;
mod node;
mod order;
mod registry;
mod repo;
mod site;
mod site_order;
mod status;
mod steer;
mod stream;
#[cfg(test)]
mod tests;
mod token;
mod trust;

use axum::extract::DefaultBodyLimit;
use axum::routing::{delete, get, post};
use axum::{Json, Router, middleware};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;

use crate::app::App;
use crate::fault::Fault;
use crate::{health, link};

/// Requests of people are small; a package's description is not.
const BODY: usize = 2 << 20;

/// Everything this role serves.
pub(crate) fn router(app: App) -> Router {
    Router::new()
        .merge(operators())
        .layer(DefaultBodyLimit::max(BODY))
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
        .route("/api/v1/status", get(status::status))
        .route("/api/v1/sites", get(site::list).post(site::add))
        .route("/api/v1/sites/{site}", get(site::show))
        .route("/api/v1/sites/{site}/why", get(site::why))
        .route("/api/v1/sites/{site}/hold", post(site_order::hold))
        .route("/api/v1/sites/{site}/release", post(site_order::release))
        .route("/api/v1/sites/{site}/invite", post(invite::site))
        .route("/api/v1/sites/{site}/nodes/invite", post(invite::node))
        .route("/api/v1/sites/{site}/trust", post(trust::trust))
        .route("/api/v1/nodes", get(node::list))
        .route("/api/v1/nodes/{site}/{node}", get(node::show))
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
        .route("/api/v1/deployments", get(deployment::list).post(deployment::deploy))
        .route("/api/v1/deployments/{name}", get(deployment::show).delete(deployment::delete))
        .route("/api/v1/deployments/{name}/history", get(deployment::history))
        .route("/api/v1/deployments/{name}/why", get(deployment::why))
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
        status::status,
        site::list,
        site::add,
        site::show,
        site::why,
        site_order::hold,
        site_order::release,
        invite::site,
        invite::node,
        trust::trust,
        node::list,
        node::show,
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
        deployment::list,
        deployment::deploy,
        deployment::show,
        deployment::delete,
        deployment::history,
        deployment::why,
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
    )
)]
struct Document;

/// The OpenAPI document; an operation is named noun first: `sites_show`.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    let mut document = Document::openapi();
    let items = document.paths.paths.values_mut();
    let operations = items.flat_map(|it| {
        [&mut it.get, &mut it.put, &mut it.post, &mut it.delete].into_iter().flatten()
    });
    for operation in operations {
        let tag = operation.tags.iter().flatten().next().cloned().unwrap_or_default();
        let verb = operation.operation_id.take().unwrap_or_default();
        operation.operation_id = Some(format!("{}_{verb}", tag.replace(' ', "_")));
    }
    document
}
