//! Registries: where application packages are.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use colony_api::render::listed;
use colony_api::request::RegistryAdd;
use colony_api::view::RegistryView;
use colony_core::event::CentralEvent;
use colony_git::Remote;
use colony_store::{Registry, Write};

use crate::api::extract::JsonBody;
use crate::app::App;
use crate::auth::{Operator, Role};
use crate::brain::own_event;
use crate::catalog::{self, BUILTIN, NewRegistry};
use crate::clock;
use crate::fault::Fault;

/// List registries
#[utoipa::path(get, path = "/api/v1/registries", tag = "registries",
    responses((status = 200, description = "All registries", body = Vec<RegistryView>)))]
pub(crate) async fn list(
    State(app): State<App>,
    _operator: Operator,
) -> Result<Json<Vec<RegistryView>>, Fault> {
    let mut views = Vec::new();
    for registry in app.brain.store().registry_list().await? {
        views.push(shown(&app, registry).await?);
    }
    Ok(Json(views))
}

/// Show a registry, with everything that is wrong with its packages
#[utoipa::path(get, path = "/api/v1/registries/{name}", tag = "registries",
    params(("name" = String, Path)),
    responses((status = 200, description = "The registry", body = RegistryView)))]
pub(crate) async fn show(
    State(app): State<App>,
    _operator: Operator,
    Path(name): Path<String>,
) -> Result<Json<RegistryView>, Fault> {
    let registry = one(&app, &name).await?;
    Ok(Json(shown(&app, registry).await?))
}

/// Add a registry and read it
#[utoipa::path(post, path = "/api/v1/registries", tag = "registries", request_body = RegistryAdd,
    responses((status = 201, description = "Added", body = RegistryView)))]
pub(crate) async fn add(
    State(app): State<App>,
    operator: Operator,
    JsonBody(request): JsonBody<RegistryAdd>,
) -> Result<(StatusCode, Json<RegistryView>), Fault> {
    operator.must_be_everywhere(Role::Operator)?;
    let (name, branch) = (named(&request)?, request.branch.as_deref());
    let store = app.brain.store();
    let known = store.registry_list().await?.into_iter().find(|it| it.name == name);
    let registry = match known {
        Some(known) => {
            same(&known, catalog::branch(store, &name).await?.as_deref(), &request)?;
            let registry = app.registries.sync(known, true).await?;
            registry.last_error.as_ref().map_or(Ok(()), |it| Err(unreadable(it)))?;
            registry
        }
        None => {
            let fresh = NewRegistry { name: &name, url: &request.url, branch };
            let added = fresh.add(&app.registries, &operator.name).await?;
            added.map_err(|it| unreadable(&it))?
        }
    };
    Ok((StatusCode::CREATED, Json(shown(&app, registry).await?)))
}

/// Adding a known registry reads it again; another URL or branch needs another
/// name.
fn same(known: &Registry, branch: Option<&str>, request: &RegistryAdd) -> Result<(), Fault> {
    if (known.url.as_str(), branch) == (request.url.as_str(), request.branch.as_deref()) {
        return Ok(());
    }
    let (name, url) = (&known.name, Remote::new(&known.url).shown());
    let branch = branch.map(|it| format!(", branch {it}")).unwrap_or_default();
    Err(Fault::field(
        "name",
        format!(
            "registry `{name}` is at {url}{branch}; choose another name with `--name`, or remove \
             it first with `colony app registry delete {name}`"
        ),
    ))
}

fn unreadable(error: &str) -> Fault {
    Fault::field("url", format!("the registry cannot be read: {error}"))
}

/// Read a registry again
#[utoipa::path(post, path = "/api/v1/registries/{name}/sync", tag = "registries",
    params(("name" = String, Path)),
    responses((status = 200, description = "Read", body = RegistryView)))]
pub(crate) async fn sync(
    State(app): State<App>,
    operator: Operator,
    Path(name): Path<String>,
) -> Result<Json<RegistryView>, Fault> {
    operator.must_be_everywhere(Role::Operator)?;
    let registry = one(&app, &name).await?;
    let registry = app.registries.sync(registry, true).await?;
    Ok(Json(shown(&app, registry).await?))
}

/// Remove a registry; what the catalog has of it stays
#[utoipa::path(delete, path = "/api/v1/registries/{name}", tag = "registries",
    params(("name" = String, Path)),
    responses((status = 204, description = "Removed")))]
pub(crate) async fn remove(
    State(app): State<App>,
    operator: Operator,
    Path(name): Path<String>,
) -> Result<StatusCode, Fault> {
    operator.must_be_everywhere(Role::Operator)?;
    if name == BUILTIN {
        return Err(Fault::refused("the built-in registry comes with the program"));
    }
    one(&app, &name).await?;
    let event = CentralEvent::RegistryRemoved { name: name.clone() };
    let event = own_event(&event, &operator.name, clock::wall(), (None, None));
    let write = Write { registries_remove: vec![name], events: vec![event], ..Write::default() };
    app.brain.write(|_| Ok::<_, Fault>(((), write))).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn one(app: &App, name: &str) -> Result<Registry, Fault> {
    let all = app.brain.store().registry_list().await?;
    all.iter().find(|it| it.name == name).cloned().ok_or_else(|| unknown(name, &all))
}

async fn shown(app: &App, registry: Registry) -> Result<RegistryView, Fault> {
    let mut applications = BTreeMap::new();
    for (id, heads) in catalog::list(app.brain.store()).await? {
        let own = heads.into_iter().filter(|it| it.registry == registry.name);
        let versions: Vec<String> = own.map(|it| it.version).collect();
        if !versions.is_empty() {
            applications.insert(id, versions);
        }
    }
    let broken = catalog::broken(app.brain.store(), &registry.name).await?;
    Ok(RegistryView {
        name: registry.name,
        url: Remote::new(registry.url).shown(),
        packages: applications.values().map(|it| it.len() as u64).sum(),
        applications,
        broken: broken.len() as u64,
        revision: registry.revision,
        last_sync: registry.last_sync,
        last_error: registry.last_error,
        findings: broken.into_iter().flat_map(|it| it.findings).collect(),
    })
}

/// The name becomes a folder, so it is made of letters, digits and dashes.
fn named(request: &RegistryAdd) -> Result<String, Fault> {
    if request.url.trim().is_empty() {
        return Err(Fault::field("url", "say where the registry is: a path or a Git URL"));
    }
    let name =
        request.name.clone().unwrap_or_else(|| last_part(&Remote::new(&request.url).shown()));
    match name.parse::<colony_core::id::SiteName>() {
        Err(_) => Err(Fault::field(
            "name",
            format!(
                "`{name}` is not a valid registry name; expected lower-case letters, digits and inner dashes"
            ),
        )),
        Ok(_) if name == BUILTIN => {
            Err(Fault::field("name", "`builtin` is the registry that comes with the program"))
        }
        Ok(_) => Ok(name),
    }
}

fn last_part(url: &str) -> String {
    let last = url.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    let last = last.strip_suffix(".git").unwrap_or(last).to_ascii_lowercase();
    let safe = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
    last.chars().map(safe).collect::<String>().trim_matches('-').to_owned()
}

fn unknown(name: &str, all: &[Registry]) -> Fault {
    let known = listed(all.iter().map(|it| &it.name), "none");
    Fault::not_found(format!("no registry `{name}`; there is {known}"))
}
