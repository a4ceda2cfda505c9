//! What a deployment's file says of its application.

use colony_margo::ApplicationDeployment;

/// The label that carries the version of the application.
pub(crate) const VERSION_LABEL: &str = "colony-version";

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
        let first = deployment.spec.profile.components.first();
        let revision = || first.map(|it| it.properties.revision.to_string()).unwrap_or_default();
        let label = deployment.metadata.labels.get(VERSION_LABEL).cloned();
        let version = label.unwrap_or_else(revision);
        Facts { application: deployment.spec.application_id.to_string(), version }
    }
}
