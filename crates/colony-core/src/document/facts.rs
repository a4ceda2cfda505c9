//! What people want to know of a deployment's file without reading it.

use colony_margo::ApplicationDeployment;

/// The label that carries the version of the application.
pub const VERSION_LABEL: &str = "colony-version";

/// The application of a file and its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFacts {
    pub application: String,
    pub version: String,
}

impl FileFacts {
    /// Reads them from a file; `None` if it is not a deployment.
    pub fn read(text: &str) -> Option<FileFacts> {
        ApplicationDeployment::parse(text.as_bytes()).ok().map(|it| FileFacts::of(&it.value))
    }

    pub fn of(deployment: &ApplicationDeployment) -> FileFacts {
        let first = deployment.spec.profile.components.first();
        let revision = || first.map(|it| it.properties.revision.to_string()).unwrap_or_default();
        let label = deployment.metadata.labels.get(VERSION_LABEL).cloned();
        let version = label.unwrap_or_else(revision);
        FileFacts { application: deployment.spec.application_id.to_string(), version }
    }
}
