//! The catalog's applications.

use axum::Json;
use axum::extract::{Path, State};
use colony_api::request::Lint;
use colony_api::view::{ApplicationDetail, ApplicationView, LintView, ParameterView, ProfileView};
use colony_core::margo::description::{Profile, Schema};
use colony_core::margo::{ApplicationDescription, Finding, Severity};
use colony_store::PackageHead;

use crate::api::extract::JsonBody;
use crate::app::App;
use crate::auth::Operator;
use crate::catalog::{self, CatalogVersion};
use crate::fault::Fault;

/// List applications
#[utoipa::path(get, path = "/api/v1/applications", tag = "applications",
    responses((status = 200, description = "The catalog", body = Vec<ApplicationView>)))]
pub(crate) async fn list(
    State(app): State<App>,
    _operator: Operator,
) -> Result<Json<Vec<ApplicationView>>, Fault> {
    let applications = catalog::list(app.brain.store()).await?;
    let mut views = Vec::new();
    for (id, heads) in applications {
        views.extend(entry(&app, &id, &heads).await?);
    }
    Ok(Json(views))
}

/// Show an application
#[utoipa::path(get, path = "/api/v1/applications/{id}", tag = "applications",
    params(("id" = String, Path)),
    responses((status = 200, description = "The application", body = ApplicationView)))]
pub(crate) async fn show(
    State(app): State<App>,
    _operator: Operator,
    Path(id): Path<String>,
) -> Result<Json<ApplicationView>, Fault> {
    catalog::versions(app.brain.store(), &id).await?;
    let heads = catalog::list(app.brain.store()).await?.remove(&id).unwrap_or_default();
    let view = entry(&app, &id, &heads).await?;
    view.map(Json).ok_or_else(|| Fault::not_found(format!("application `{id}` is gone")))
}

/// Show a version of an application
#[utoipa::path(get, path = "/api/v1/applications/{id}/{version}", tag = "applications",
    params(("id" = String, Path), ("version" = String, Path)),
    responses((status = 200, description = "The version", body = ApplicationDetail)))]
pub(crate) async fn detail(
    State(app): State<App>,
    _operator: Operator,
    Path((id, version)): Path<(String, String)>,
) -> Result<Json<ApplicationDetail>, Fault> {
    let found = catalog::find(app.brain.store(), &id, Some(&version)).await?;
    let versions = catalog::versions(app.brain.store(), &id).await?;
    let mut warnings = catalog::lint(found.text.as_bytes(), None);
    warnings.extend(broken(&app, &id, &found).await?);
    Ok(Json(describe(&found, versions, warnings)))
}

/// Check a `margo.yaml`
#[utoipa::path(post, path = "/api/v1/applications/lint", tag = "applications", request_body = Lint,
    responses((status = 200, description = "What was found", body = LintView)))]
pub(crate) async fn lint(
    State(_app): State<App>,
    _operator: Operator,
    JsonBody(request): JsonBody<Lint>,
) -> Result<Json<LintView>, Fault> {
    let findings = catalog::lint(request.text.as_bytes(), request.file.as_deref());
    let usable = !findings.iter().any(|it| it.severity == Severity::Error);
    Ok(Json(LintView { usable, findings }))
}

async fn entry(
    app: &App,
    id: &str,
    heads: &[PackageHead],
) -> Result<Option<ApplicationView>, Fault> {
    let versions: Vec<String> = heads.iter().map(|it| it.version.clone()).collect();
    let newest = catalog::version::newest(versions.iter().map(String::as_str));
    let Some(head) = heads.iter().find(|it| Some(it.version.as_str()) == newest) else {
        return Ok(None);
    };
    let found = catalog::find(app.brain.store(), id, newest).await?;
    Ok(Some(ApplicationView {
        id: id.to_owned(),
        name: head.name.clone(),
        description: found.description.metadata.description.clone(),
        latest: head.version.clone(),
        versions,
        registry: head.registry.clone(),
        at: head.at,
    }))
}

/// Packages of the application that cannot be used; the last good ones stay.
async fn broken(app: &App, id: &str, found: &CatalogVersion) -> Result<Vec<Finding>, Fault> {
    let broken = catalog::broken(app.brain.store(), &found.registry).await?;
    let mine = broken.into_iter().filter(|it| {
        it.application.as_deref() == Some(id) || (it.application.is_none() && it.path == found.path)
    });
    Ok(mine.flat_map(|it| it.findings).collect())
}

fn describe(
    found: &CatalogVersion,
    versions: Vec<String>,
    warnings: Vec<Finding>,
) -> ApplicationDetail {
    let description = &found.description;
    ApplicationDetail {
        id: description.id.to_string(),
        name: description.metadata.name.clone(),
        version: found.version.clone(),
        description: description.metadata.description.clone(),
        registry: found.registry.clone(),
        path: found.path.clone(),
        digest: found.digest.to_string(),
        profiles: description.profiles.iter().map(profile).collect(),
        parameters: description.parameters.keys().map(|it| parameter(description, it)).collect(),
        versions,
        warnings,
    }
}

fn profile(profile: &Profile) -> ProfileView {
    ProfileView {
        id: profile.id.clone(),
        kind: profile.kind.clone(),
        description: profile.description.clone(),
        components: profile.components.iter().map(|it| it.name.to_string()).collect(),
    }
}

fn parameter(description: &ApplicationDescription, name: &str) -> ParameterView {
    let setting = description.settings(name).next();
    ParameterView {
        name: name.to_owned(),
        default: description.parameters.get(name).and_then(|it| it.value.clone()),
        allowed: description.schemas(name).next().map(allowed).unwrap_or_default(),
        description: setting.and_then(|it| it.description.clone()),
        immutable: description.is_immutable(name),
    }
}

/// `integer 1 to 65535`, `string, one of a, b`.
fn allowed(schema: &Schema) -> String {
    let mut text = schema.data_type.as_str().to_owned();
    match (&schema.min_value, &schema.max_value) {
        (Some(min), Some(max)) => text = format!("{text} {min} to {max}"),
        (Some(min), None) => text = format!("{text} from {min}"),
        (None, Some(max)) => text = format!("{text} up to {max}"),
        (None, None) => {}
    }
    if let Some(length) = schema.max_length {
        text = format!("{text}, at most {length} characters");
    }
    if let Some(pattern) = &schema.regex_match {
        text = format!("{text}, like {pattern}");
    }
    if let Some(options) = &schema.options {
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        text = format!("{text}, one of {}", options.join(", "));
    }
    text
}
