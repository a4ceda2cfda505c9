//! Questions: parse, take one snapshot, render.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use colony_core::fleet::Fleet;
use colony_core::id::{DeploymentName, NodeName};
use colony_core::margo::{Problem, ProblemType};
use serde::Serialize;

use super::names::{name, viewed};
use super::{ReadApi, Scope, sees};
use crate::render::{self, Context, Page};
use crate::request::{EventQuery, ListQuery, PAGE_LIMIT, SiteQuery};
use crate::view::{DeploymentView, EventPage, NodeView, SiteView, StatusView, WhyView};

type Answer<Q, T> = Result<Json<T>, <Q as ReadApi>::Error>;
pub(super) type QueryResult<T> = Result<Query<T>, QueryRejection>;
type ListAnswer<Q> = Result<Response, <Q as ReadApi>::Error>;

/// Show the fleet at a glance
#[utoipa::path(get, path = "/api/v1/status", tag = "fleet", operation_id = "status",
    responses((status = 200, description = "The fleet", body = StatusView)))]
pub async fn status<Q: ReadApi>(State(app): State<Q>, caller: Q::Caller) -> Answer<Q, StatusView> {
    let about = app.about().await;
    let render = |fleet: &Fleet, it: &Context<'_>| render::status(fleet, about, it);
    Ok(Json(app.look(&caller, Scope::Status, render).await?))
}

/// Ask why the fleet is not as it should be
#[utoipa::path(get, path = "/api/v1/why", tag = "fleet", operation_id = "why",
    responses((status = 200, description = "What is in the way", body = WhyView)))]
pub async fn fleet_why<Q: ReadApi>(State(app): State<Q>, caller: Q::Caller) -> Answer<Q, WhyView> {
    Ok(Json(app.look(&caller, Scope::Status, render::why_fleet).await?))
}

/// List sites
#[utoipa::path(get, path = "/api/v1/sites", tag = "sites", operation_id = "list",
    params(("after" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, description = "A page of sites", body = Vec<SiteView>),
        (status = 304, description = "As it was with the ETag of `If-None-Match`")))]
pub async fn site_list<Q: ReadApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    request: Parts,
    query: QueryResult<ListQuery>,
) -> ListAnswer<Q> {
    let query = parameters(query)?;
    let render = |fleet: &Fleet, it: &Context<'_>| Ok(render::sites(fleet, page(&query), it));
    list(&app, &caller, &request, render).await
}

/// Show a site
#[utoipa::path(get, path = "/api/v1/sites/{site}", tag = "sites", operation_id = "show",
    params(("site" = String, Path)),
    responses((status = 200, description = "The site", body = SiteView)))]
pub async fn site_show<Q: ReadApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path(site): Path<String>,
) -> Answer<Q, SiteView> {
    let site = viewed(&app, &caller, "site", &site)?;
    let render = |fleet: &Fleet, it: &Context<'_>| render::site(fleet, &site, it);
    Ok(Json(app.look(&caller, Scope::Fleet, render).await??))
}

/// Ask why a site is not as it should be
#[utoipa::path(get, path = "/api/v1/sites/{site}/why", tag = "sites", operation_id = "why",
    params(("site" = String, Path)),
    responses((status = 200, description = "What is in the way", body = WhyView)))]
pub async fn site_why<Q: ReadApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path(site): Path<String>,
) -> Answer<Q, WhyView> {
    let site = viewed(&app, &caller, "site", &site)?;
    let render = |fleet: &Fleet, it: &Context<'_>| render::why_site(fleet, &site, it);
    Ok(Json(app.look(&caller, Scope::Fleet, render).await??))
}

/// List nodes
#[utoipa::path(get, path = "/api/v1/nodes", tag = "nodes", operation_id = "list",
    params(("site" = Option<String>, Query), ("after" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, description = "A page of nodes", body = Vec<NodeView>),
        (status = 304, description = "As it was with the ETag of `If-None-Match`")))]
pub async fn node_list<Q: ReadApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    request: Parts,
    query: QueryResult<ListQuery>,
) -> ListAnswer<Q> {
    let query = parameters(query)?;
    let site = query.site.as_ref().map(|it| viewed(&app, &caller, "site", it)).transpose()?;
    let render =
        |fleet: &Fleet, it: &Context<'_>| render::nodes(fleet, site.as_ref(), page(&query), it);
    list(&app, &caller, &request, render).await
}

/// Show a node
#[utoipa::path(get, path = "/api/v1/nodes/{site}/{node}", tag = "nodes", operation_id = "show",
    params(("site" = String, Path), ("node" = String, Path)),
    responses((status = 200, description = "The node", body = NodeView)))]
pub async fn node_show<Q: ReadApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path((site, node)): Path<(String, String)>,
) -> Answer<Q, NodeView> {
    let site = viewed(&app, &caller, "site", &site)?;
    let node: NodeName = name("node", &node)?;
    let render = |fleet: &Fleet, it: &Context<'_>| render::node(fleet, &site, &node, it);
    Ok(Json(app.look(&caller, Scope::Fleet, render).await??))
}

/// Ask why a node, and what is placed on it, is not as it should be
#[utoipa::path(get, path = "/api/v1/nodes/{site}/{node}/why", tag = "nodes", operation_id = "why",
    params(("site" = String, Path), ("node" = String, Path)),
    responses((status = 200, description = "What is in the way", body = WhyView)))]
pub async fn node_why<Q: ReadApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path((site, node)): Path<(String, String)>,
) -> Answer<Q, WhyView> {
    let site = viewed(&app, &caller, "site", &site)?;
    let node: NodeName = name("node", &node)?;
    let render = |fleet: &Fleet, it: &Context<'_>| render::why_node(fleet, &site, &node, it);
    Ok(Json(app.look(&caller, Scope::Fleet, render).await??))
}

/// List deployments
#[utoipa::path(get, path = "/api/v1/deployments", tag = "deployments", operation_id = "list",
    params(("site" = Option<String>, Query), ("after" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, description = "A page of deployments", body = Vec<DeploymentView>),
        (status = 304, description = "As it was with the ETag of `If-None-Match`")))]
pub async fn deployment_list<Q: ReadApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    request: Parts,
    query: QueryResult<ListQuery>,
) -> ListAnswer<Q> {
    let query = parameters(query)?;
    let site = query.site.as_ref().map(|it| viewed(&app, &caller, "site", it)).transpose()?;
    let render = |fleet: &Fleet, context: &Context<'_>| {
        if let Some(site) = &site {
            fleet.site(site).ok_or_else(|| render::unknown_site(fleet, context.sees, site))?;
        }
        Ok(render::deployments(fleet, site.as_ref(), page(&query), context))
    };
    list(&app, &caller, &request, render).await
}

/// Show a deployment
#[utoipa::path(get, path = "/api/v1/deployments/{name}", tag = "deployments", operation_id = "show",
    params(("name" = String, Path)),
    responses((status = 200, description = "The deployment", body = DeploymentView)))]
pub async fn deployment_show<Q: ReadApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path(handle): Path<String>,
) -> Answer<Q, DeploymentView> {
    let handle: DeploymentName = name("name", &handle)?;
    let render = |fleet: &Fleet, context: &Context<'_>| {
        let view = render::deployment(fleet, &handle, context);
        view.ok_or_else(|| render::unknown_deployment(fleet, context.sees, &handle))
    };
    Ok(Json(app.look(&caller, Scope::Deployment(handle.clone()), render).await??))
}

/// Ask why a deployment is not at its end
#[utoipa::path(get, path = "/api/v1/deployments/{name}/why", tag = "deployments",
    operation_id = "why",
    params(("name" = String, Path), ("site" = Option<String>, Query)),
    responses((status = 200, description = "What is in the way", body = WhyView)))]
pub async fn deployment_why<Q: ReadApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    Path(handle): Path<String>,
    query: QueryResult<SiteQuery>,
) -> Answer<Q, WhyView> {
    let handle: DeploymentName = name("name", &handle)?;
    let site = parameters(query)?.site.map(|it| viewed(&app, &caller, "site", &it)).transpose()?;
    let render =
        |fleet: &Fleet, it: &Context<'_>| render::why_deployment(fleet, &handle, site.as_ref(), it);
    Ok(Json(app.look(&caller, Scope::Deployment(handle.clone()), render).await??))
}

/// Read or follow events
#[utoipa::path(get, path = "/api/v1/events", tag = "events", operation_id = "events",
    params(("site" = Option<String>, Query), ("app" = Option<String>, Query),
        ("deployment" = Option<String>, Query), ("node" = Option<String>, Query),
        ("kind" = Option<String>, Query), ("after" = Option<i64>, Query),
        ("limit" = Option<u32>, Query), ("last" = Option<u32>, Query),
        ("Last-Event-ID" = Option<String>, Header)),
    responses((status = 200, description = "A page; a stream of `EventView` with `Accept: text/event-stream`",
            body = EventPage)))]
pub async fn events<Q: ReadApi>(
    State(app): State<Q>,
    caller: Q::Caller,
    query: QueryResult<EventQuery>,
    headers: HeaderMap,
) -> Result<Response, Q::Error> {
    let query = parameters(query)?;
    if let Some(site) = &query.site {
        let (site, fleet) = (viewed(&app, &caller, "site", site)?, app.fleet().await?);
        let unknown = || render::unknown_site(&fleet, &sees(&app, &caller), &site);
        fleet.site(&site).ok_or_else(unknown)?;
    }
    app.events(&caller, query, &headers).await
}

/// The query of a request, or a problem that describes its error.
pub(super) fn parameters<T>(query: QueryResult<T>) -> Result<T, Problem> {
    let invalid =
        |it: QueryRejection| Problem::new(ProblemType::InvalidRequest).detail(it.body_text());
    query.map(|it| it.0).map_err(invalid)
}

fn page(query: &ListQuery) -> Page<'_> {
    let limit = query.limit.unwrap_or(PAGE_LIMIT).clamp(1, PAGE_LIMIT);
    Page { after: query.after.as_deref(), limit: limit as usize }
}

/// A page of a list, unless the client already has this version of the list.
async fn list<Q: ReadApi, T: Serialize + Send>(
    app: &Q,
    caller: &Q::Caller,
    request: &Parts,
    render: impl FnOnce(&Fleet, &Context<'_>) -> Result<Vec<T>, Problem> + Send,
) -> ListAnswer<Q> {
    let tag = app.list_version().await.map(|it| list_tag(&it, &request.uri));
    let known = request.headers.get(header::IF_NONE_MATCH).and_then(|it| it.to_str().ok());
    let has = |tag: &str| known.is_some_and(|it| it.split(',').any(|it| it.trim() == tag));
    let mut response = match tag.as_deref().is_some_and(has) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Json(app.look(caller, Scope::Fleet, render).await??).into_response(),
    };
    let tag = tag.and_then(|it| HeaderValue::from_str(&it).ok());
    tag.map(|it| response.headers_mut().insert(header::ETAG, it));
    Ok(response)
}

/// The ETag of a list: of this URL only, so that no request with an error
/// matches the tag of another list. Weak, because ages in sentences change
/// without a new version.
fn list_tag(version: &str, uri: &Uri) -> String {
    let mut url = DefaultHasher::new();
    uri.path_and_query().map(ToString::to_string).hash(&mut url);
    format!("W/\"{version}-{:x}\"", url.finish())
}
