//! Whether a node is one a file means, and can run it.

use colony_core::document::{Document, Strategy};
use colony_core::fleet::NodeView;
use colony_core::site::is_ours;
use colony_margo::Json;
use colony_margo::constraint::Mismatch;

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

/// Why a node that has it keeps what it has, if it does.
pub(super) fn barred(view: &NodeView, document: &Document) -> Option<String> {
    let capabilities = view.capabilities.as_ref()?;
    if is_blue_green(document) && !is_ours(capabilities) {
        return Some("not a node of colony's own: it cannot run two versions at once".to_owned());
    }
    document.spec.spec.profile.accepted_by(capabilities).err()
}

/// What a node that swaps lacks while it runs both versions.
pub(super) fn cramped(view: &NodeView, document: &Document) -> Option<String> {
    let capabilities = view.capabilities.as_ref().filter(|_| is_blue_green(document))?;
    let lacks = document.spec.spec.profile.constraints.as_ref()?.lacks_for_two(capabilities);
    (!lacks.is_empty()).then(|| spoken(&lacks))
}

fn is_blue_green(document: &Document) -> bool {
    matches!(document.settings.strategy, Strategy::BlueGreen(_))
}

fn spoken(mismatches: &[Mismatch]) -> String {
    mismatches.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
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
    let mismatches = profile.constraints.as_ref().map_or(Ok(()), |it| it.evaluate(capabilities));
    mismatches.map_err(|it| spoken(&it)).err().or_else(|| barred(view, document))
}
