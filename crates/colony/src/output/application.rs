//! The catalog.

use colony_api::view::{ApplicationDetail, ApplicationView, ParameterView, RegistryView};

use super::Look;
use super::table::table;
use super::words::{or_dash, some};

pub(crate) fn list(views: &[ApplicationView], look: &Look) -> String {
    let rows = views
        .iter()
        .map(|it| [it.id.clone(), some(&it.versions), it.registry.clone(), it.name.clone()]);
    table(["ID", "VERSIONS", "REGISTRY", "NAME"], rows, look)
}

pub(crate) fn show(view: &ApplicationDetail, look: &Look) -> String {
    let mut text = format!("{} {}: {}\n", view.id, view.version, view.name);
    if let Some(description) = &view.description {
        text += &format!("{description}\n");
    }
    text += &format!("versions: {}\n", view.versions.join(", "));
    text += &format!("from: {} of registry {}, {}\n", view.path, view.registry, view.digest);
    for profile in &view.profiles {
        let components = profile.components.join(", ");
        text += &format!("profile: {} ({}): {components}\n", profile.id, profile.kind);
    }
    if !view.parameters.is_empty() {
        text += &format!("\n{}\n", parameters(&view.parameters, look));
    }
    for warning in &view.warnings {
        text += &format!("{warning}\n");
    }
    text
}

fn parameters(parameters: &[ParameterView], look: &Look) -> String {
    let rows = parameters.iter().map(|it| {
        let default =
            it.default.as_ref().map(|it| it.as_str().map_or(it.to_string(), str::to_owned));
        let fixed = if it.immutable { " (cannot change later)" } else { "" };
        [
            it.name.clone(),
            or_dash(default.as_deref()),
            format!("{}{fixed}", it.allowed),
            or_dash(it.description.as_deref()),
        ]
    });
    table(["PARAMETER", "DEFAULT", "ALLOWED", "MEANS"], rows, look)
}

pub(crate) fn registries(views: &[RegistryView], look: &Look) -> String {
    let rows = views.iter().map(|it| {
        let read = it.last_sync.map(|it| look.ago(it));
        [
            it.name.clone(),
            it.packages.to_string(),
            or_dash(read.as_deref()),
            it.url.clone(),
            or_dash(it.last_error.as_deref()),
        ]
    });
    table(["NAME", "PACKAGES", "READ", "URL", "TROUBLE"], rows, look)
}

/// `house: 3 packages`, with everything that is wrong with others.
pub(crate) fn registry(view: &RegistryView, _: &Look) -> String {
    let mut text = format!("{}: {}\n", view.name, super::words::count(packages(view), "package"));
    if let Some(error) = &view.last_error {
        text += &format!("{error}\n");
    }
    for finding in &view.findings {
        text += &format!("{finding}\n");
    }
    text
}

fn packages(view: &RegistryView) -> usize {
    usize::try_from(view.packages).unwrap_or(usize::MAX)
}
