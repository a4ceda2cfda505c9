//! Application and version of a deployment's file, for display.

use colony_margo::ApplicationDeployment;

use super::version;

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
        let application = deployment.spec.application_id.to_string();
        FileFacts { application, version: version(deployment) }
    }
}
