//! The catalog.

use colony_api::view::{ApplicationDetail, ApplicationView, ParameterView, RegistryView};

use crate::output::RenderOptions;
use crate::output::table::table;
use crate::output::words::{count, or_dash, some};

pub(crate) fn list(views: &[ApplicationView], look: &RenderOptions) -> String {
    let rows = views
        .iter()
        .map(|it| [it.id.clone(), some(&it.versions), it.registry.clone(), it.name.clone()]);
    table(["ID", "VERSIONS", "REGISTRY", "NAME"], rows, look)
}

pub(crate) fn show(view: &ApplicationDetail, look: &RenderOptions) -> String {
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

fn parameters(parameters: &[ParameterView], look: &RenderOptions) -> String {
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

pub(crate) fn registries(views: &[RegistryView], look: &RenderOptions) -> String {
    let rows = views.iter().map(|it| {
        let read = it.last_sync.map(|it| look.ago(it));
        [
            it.name.clone(),
            it.packages.to_string(),
            it.broken.to_string(),
            or_dash(read.as_deref()),
            it.url.clone(),
            or_dash(it.last_error.as_deref()),
        ]
    });
    table(["NAME", "PACKAGES", "BROKEN", "READ", "URL", "TROUBLE"], rows, look)
}

/// `house: 3 packages, 1 broken`, with all findings.
pub(crate) fn registry(view: &RegistryView, look: &RenderOptions) -> String {
    let broken = if view.broken > 0 { format!(", {} broken", view.broken) } else { String::new() };
    let mut text = format!("{}: {}{broken}\n", view.name, count(many(view.packages), "package"));
    for (id, versions) in &view.applications {
        text += &format!("{id}: {}\n", versions.join(", "));
    }
    text += &format!("from: {}\n", view.url);
    if let Some(at) = view.last_sync {
        let revision = view.revision.as_deref().map(|it| format!(" at {it}")).unwrap_or_default();
        text += &format!("read: {}{revision}\n", look.ago(at));
    }
    if let Some(error) = &view.last_error {
        text += &format!("{error}\n");
    }
    for finding in &view.findings {
        text += &format!("{finding}\n");
    }
    text
}

fn many(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
