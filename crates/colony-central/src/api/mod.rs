//! The operator API: a file per resource, and the document that describes it.
//!
//! Handlers parse, query and reply; the decisions are made by the core and by
//! `plan`.

mod application;
mod change;
mod deployment;
pub(crate) mod event;
pub(crate) mod extract;
pub(crate) mod logs;
mod order;
mod registry;
mod repo;
mod site;
#[cfg(test)]
mod tests;
mod token;

use axum::extract::DefaultBodyLimit;
use axum::routing::get;
use axum::{Json, Router, middleware};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa::openapi::{Content, Ref, Response, ResponseBuilder};

use colony_api::operations;
use colony_api::server::{self, Operations};

use crate::app::App;
use crate::fault::Fault;
use crate::{health, link};
use site::{invite, trust};

/// Limit of a request body. Most requests are small, but the description of a
/// package is not.
const BODY: usize = 2 << 20;

/// Everything this role serves.
pub(crate) fn router(app: App) -> Router {
    Router::new()
        .merge(operators().routes)
        .layer(DefaultBodyLimit::max(BODY))
        .layer(middleware::from_fn(colony_wfm::server::problems_only))
        .merge(others().routes)
        .merge(link::git::routes())
        .route("/healthz", get(health::healthz))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(async || Json(document())))
        .fallback(async || Fault::not_found("there is nothing at this address"))
        .layer(CatchPanicLayer::new())
        .layer(middleware::from_fn(colony_wfm::finish))
        .layer(middleware::from_fn(colony_wfm::cap_age))
        .with_state(app)
}

/// What operators ask and order, also what only this role serves.
fn operators() -> Operations<App> {
    let own = operations![App:
        site::add, invite::site, invite::node, trust::trust,
        application::list, application::lint, application::show, application::detail,
        registry::list, registry::show, registry::add, registry::remove, registry::sync,
        deployment::deploy, deployment::delete, deployment::history, deployment::rollback,
        change::list, change::cancel,
        repo::repo,
        token::list, token::make, token::remove,
    ];
    server::operations::<App>().merge(own)
}

/// What the document describes beside the operators' part.
fn others() -> Operations<App> {
    link::operations().merge(operations![App: health::readyz])
}

/// The description of the document as a whole.
#[derive(Debug, OpenApi)]
#[openapi(
    info(title = "colony", description = "The central orchestrator of a colony fleet"),
    components(schemas(colony_api::schema::Problem))
)]
struct Document;

/// The OpenAPI document. Operations are named noun first: `sites_show`. All but
/// the probe have an error response.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    let mut document = Document::openapi();
    document.merge(operators().merge(others()).document);
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
