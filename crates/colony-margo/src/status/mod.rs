//! The report of a device about a deployment.
//!
//! The reader is lenient where it must be: the deployment may be unknown and
//! its id any text, unknown fields are ignored, and an error with only empty
//! fields counts as no error. Colony's own devices add a report number and the
//! end of their log under `x-colony-extensions`.

mod read;

use serde::{Deserialize, Serialize};

use crate::finding::{Finding, Parsed};
use crate::manifest::ManifestVersion;
use crate::value::device::DeviceId;
use crate::yaml::{self, Limits};

/// The progress of a deployment or component. Ordered by severity: the most
/// severe state of the components is that of the deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Removed,
    Installed,
    Pending,
    Installing,
    Removing,
    Failed,
}

/// The report about one deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentStatus {
    pub deployment_id: String,
    /// The device, when a gateway reports for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_id: Option<DeviceId>,
    /// The newest manifest whose content for this deployment the device has
    /// started to apply.
    pub adopted_manifest_version: ManifestVersion,
    pub status: Overall,
    pub components: Vec<ComponentStatus>,
    #[serde(rename = "x-colony-extensions", skip_serializing_if = "Option::is_none")]
    pub colony: Option<ColonyStatus>,
}

/// The state of the deployment as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Overall {
    pub state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<StatusError>,
}

/// The state of one component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ComponentStatus {
    pub name: String,
    pub state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<StatusError>,
}

/// An error. The source is the deployment's name, a component's name or a
/// gateway's id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusError {
    #[serde(default)]
    pub code: String,
    #[serde(default)]
    pub source: String,
    #[serde(default)]
    pub message: String,
}

/// The additions of colony's own devices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ColonyStatus {
    /// Increases with each report, so that a late one is recognised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<u64>,
    /// The last lines of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<Vec<String>>,
    /// While another version is staged: the error of the active version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<StatusError>,
    /// While installing: everything runs, and the deployment counts as
    /// installed if that is still so after this many milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settling: Option<u64>,
}

impl State {
    const ALL: [(&'static str, State); 6] = [
        ("pending", State::Pending),
        ("installing", State::Installing),
        ("installed", State::Installed),
        ("failed", State::Failed),
        ("removing", State::Removing),
        ("removed", State::Removed),
    ];

    pub fn as_str(self) -> &'static str {
        State::ALL.iter().find(|it| it.1 == self).map_or("", |it| it.0)
    }

    /// The state of a deployment with these components; pending without
    /// components.
    pub fn overall(components: impl IntoIterator<Item = State>) -> State {
        components.into_iter().max().unwrap_or(State::Pending)
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl StatusError {
    fn is_empty(&self) -> bool {
        self.code.is_empty() && self.source.is_empty() && self.message.is_empty()
    }
}

yaml::deserialize_by_read!(DeploymentStatus);

impl DeploymentStatus {
    /// Parses a report, or returns everything that is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Parsed<DeploymentStatus>, Vec<Finding>> {
        let limits = Limits { bytes: 512 * 1024, depth: 16, nodes: 20_000, ..Limits::default() };
        yaml::read_json(bytes, &limits, DeploymentStatus::read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_severe_component_decides() {
        check("failed removing installing pending installed removed", "failed");
        check("removing installing pending installed removed", "removing");
        check("installing pending installed removed", "installing");
        check("pending installed removed", "pending");
        check("installed removed", "installed");
        check("removed", "removed");
        check("", "pending");
    }

    #[test]
    fn unknown_deployments_and_long_logs_are_accepted() {
        let log = vec!["line"; 500];
        let report = serde_json::json!({
            "deploymentId": "unknown-deployment",
            "adoptedManifestVersion": 1,
            "status": {"state": "pending"},
            "components": [],
            "x-colony-extensions": {"report": 3, "log": log},
        });
        let status = DeploymentStatus::parse(report.to_string().as_bytes()).unwrap().value;
        assert_eq!(status.deployment_id, "unknown-deployment");
        let colony = status.colony.unwrap();
        assert_eq!((colony.report, colony.log.map(|it| it.len())), (Some(3), Some(200)));
    }

    #[track_caller]
    fn check(states: &str, expected: &str) {
        let state = |word: &str| serde_json::from_value::<State>(word.into()).unwrap();
        let overall = State::overall(states.split_whitespace().map(state));
        assert_eq!(overall.as_str(), expected);
    }
}
