//! What a deployment's file says of its application.

use colony_core::document::version;
use colony_margo::ApplicationDeployment;

/// What people want to know of a file without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    pub application: String,
    pub version: String,
}

impl Facts {
    /// Reads them from a file; `None` if it is no deployment.
    pub(crate) fn read(text: &str) -> Option<Facts> {
        ApplicationDeployment::parse(text.as_bytes()).ok().map(|it| Facts::of(&it.value))
    }

    pub(crate) fn of(deployment: &ApplicationDeployment) -> Facts {
        Facts {
            application: deployment.spec.application_id.to_string(),
            version: version(deployment),
        }
    }
}
