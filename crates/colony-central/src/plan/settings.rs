//! colony's own settings of a deployment: `spec.x-colony-extensions`.

use colony_api::request::DeployRequest;
use colony_core::document::EXTENSION;
use colony_core::margo::{ApplicationDeployment, Extensions};

/// The extensions of the next file: those of the deployed file, overridden by
/// the request.
pub(super) fn extensions(
    deployed: Option<&ApplicationDeployment>,
    request: &DeployRequest,
) -> Extensions {
    let before = deployed.map(|it| it.spec.extensions.clone()).unwrap_or_default();
    if request.settings.is_empty() {
        return before;
    }
    let mut own = before.get(EXTENSION).cloned().unwrap_or_default();
    request.settings.apply(&mut own);
    let mut next = Extensions::new();
    for (key, value) in before.iter().filter(|it| it.0 != EXTENSION) {
        next.insert(key, value.clone());
    }
    if !own.is_empty() {
        next.insert(EXTENSION, own);
    }
    next
}
