//! Whether a node is one a file means, and can run it.

use colony_core::document::Document;
use colony_core::fleet::NodeView;
use colony_margo::Json;

/// Whether the node has the labels the file asks for.
pub(super) fn selected(view: &NodeView, document: &Document) -> bool {
    let labels = view.capabilities.as_ref().map(|it| it.labels());
    document.settings.selector.iter().all(|(key, wanted)| {
        let value = labels.and_then(|it| it.get(key));
        match value {
            Some(Json::Array(items)) => items.iter().any(|it| is(it, wanted)),
            Some(value) => is(value, wanted),
            None => false,
        }
    })
}

fn is(value: &Json, wanted: &str) -> bool {
    let said = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    said == wanted
}

/// Why a node cannot run what the file says, if it cannot.
pub(super) fn misfit(view: &NodeView, document: &Document) -> Option<String> {
    if view.cordoned {
        return Some("cordoned".to_owned());
    }
    let Some(capabilities) = &view.capabilities else {
        return Some("has not reported its capabilities yet".to_owned());
    };
    let profile = &document.spec.spec.profile;
    if !capabilities.supports(&profile.kind) {
        return Some(format!("does not run {}", profile.kind));
    }
    let mismatches = profile.constraints.as_ref()?.evaluate(capabilities).err()?;
    let mismatches: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
    Some(mismatches.join("; "))
}
