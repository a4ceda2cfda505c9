//! What a device reports about a deployment.
//!
//! The reader is lenient where it must be: the deployment may be unknown and
//! its id any text, unknown fields are passed over, and an error whose fields
//! are all empty is none. Our own devices add a report number and the end of
//! their log under `x-colony-extensions`.

use serde::{Deserialize, Serialize};

use crate::device::DeviceId;
use crate::finding::{Finding, Parsed};
use crate::manifest::ManifestVersion;
use crate::yaml::{self, Cursor, Limits};

const EXTENSION: &str = "x-colony-extensions";
const MAX_ID: usize = 256;
const MAX_TEXT: usize = 8 * 1024;
const MAX_COMPONENTS: usize = 1_000;
const MAX_LOG_LINES: usize = 200;

/// How far a deployment or component is. Ordered by severity: the most severe
/// state of the components is that of the deployment.
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
    /// The newest manifest whose content for this deployment was begun.
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

/// What went wrong. The source is the deployment's name, a component's name
/// or a gateway's id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusError {
    #[serde(default)]
    pub code: String,
    #[serde(default)]
    pub source: String,
    #[serde(default)]
    pub message: String,
}

/// What colony's own devices add.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ColonyStatus {
    /// Rises with each report, so that a late one is recognised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<u64>,
    /// The last lines of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<Vec<String>>,
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

    /// The word for the state.
    pub fn as_str(self) -> &'static str {
        State::ALL.iter().find(|it| it.1 == self).map_or("", |it| it.0)
    }

    /// The state of a deployment with these components; pending without any.
    pub fn overall(components: impl IntoIterator<Item = State>) -> State {
        components.into_iter().max().unwrap_or(State::Pending)
    }

    fn read(cursor: &Cursor<'_>) -> Option<State> {
        let word = cursor.one_of(&State::ALL.map(|it| it.0))?;
        State::ALL.iter().find(|it| it.0 == word).map(|it| it.1)
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl StatusError {
    /// A gateway does not know the child.
    pub const UNKNOWN_CHILD: &'static str = "101";
    /// A gateway cannot reach the child.
    pub const CHILD_UNREACHABLE: &'static str = "102";
    /// A gateway cannot choose a child itself.
    pub const NO_AUTONOMOUS_PLACEMENT: &'static str = "103";

    fn is_empty(&self) -> bool {
        self.code.is_empty() && self.source.is_empty() && self.message.is_empty()
    }

    fn read(cursor: &Cursor<'_>) -> Option<StatusError> {
        let text = |name| cursor.field(name).and_then(|it| bounded(&it, MAX_TEXT));
        let error = StatusError {
            code: text("code").unwrap_or_default(),
            source: text("source").unwrap_or_default(),
            message: text("message").unwrap_or_default(),
        };
        Some(error).filter(|it| !it.is_empty())
    }
}

impl DeploymentStatus {
    /// Parses a report, or returns everything that is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Parsed<DeploymentStatus>, Vec<Finding>> {
        let limits = Limits { bytes: 512 * 1024, depth: 16, nodes: 20_000, ..Limits::default() };
        yaml::read_json(bytes, &limits, DeploymentStatus::read)
    }

    /// Reads a report.
    pub fn read(cursor: &Cursor<'_>) -> Option<DeploymentStatus> {
        let deployment_id = cursor.required("deploymentId").and_then(|it| read_id(&it));
        let device_id = cursor.field("deviceId").map(|it| it.text());
        let version = cursor.required("adoptedManifestVersion").and_then(|it| read_version(&it));
        let status = cursor.required("status").and_then(|it| Overall::read(&it));
        let components = cursor.required("components").and_then(|it| read_components(&it));
        let colony = cursor.field(EXTENSION).map(|it| ColonyStatus::read(&it));
        Some(DeploymentStatus {
            deployment_id: deployment_id?,
            device_id: device_id.map_or(Some(None), |it| it.map(Some))?,
            adopted_manifest_version: version?,
            status: status?,
            components: components?,
            colony,
        })
    }
}

fn read_id(cursor: &Cursor<'_>) -> Option<String> {
    cursor.some_string().and_then(|_| bounded(cursor, MAX_ID))
}

fn read_version(cursor: &Cursor<'_>) -> Option<ManifestVersion> {
    match ManifestVersion::new(cursor.unsigned()?) {
        Ok(version) => Some(version),
        Err(error) => {
            cursor.error(error.to_string(), "a version from 1 to below 2^53");
            None
        }
    }
}

fn read_components(cursor: &Cursor<'_>) -> Option<Vec<ComponentStatus>> {
    let found = cursor.items()?.len();
    if found > MAX_COMPONENTS {
        cursor.error(format!("has {found} components"), format!("at most {MAX_COMPONENTS}"));
        return None;
    }
    cursor.each(ComponentStatus::read)
}

fn bounded(cursor: &Cursor<'_>, limit: usize) -> Option<String> {
    let text = cursor.string()?;
    if text.len() > limit {
        cursor.error(format!("has {} bytes", text.len()), format!("at most {limit}"));
        return None;
    }
    Some(text)
}

impl Overall {
    fn read(cursor: &Cursor<'_>) -> Option<Overall> {
        let state = cursor.required("state").and_then(|it| State::read(&it));
        let error = cursor.field("error").and_then(|it| StatusError::read(&it));
        Some(Overall { state: state?, error })
    }
}

impl ComponentStatus {
    fn read(cursor: &Cursor<'_>) -> Option<ComponentStatus> {
        let name = cursor.required("name").and_then(|it| read_id(&it));
        let state = cursor.required("state").and_then(|it| State::read(&it));
        let error = cursor.field("error").and_then(|it| StatusError::read(&it));
        Some(ComponentStatus { name: name?, state: state?, error })
    }
}

impl ColonyStatus {
    fn read(cursor: &Cursor<'_>) -> ColonyStatus {
        let report = cursor.field("report").and_then(|it| it.unsigned());
        let log = cursor.field("log").and_then(|it| it.each(|line| bounded(line, MAX_TEXT)));
        ColonyStatus { report, log: log.map(tail) }
    }
}

/// Only the end of a log is kept.
fn tail(mut lines: Vec<String>) -> Vec<String> {
    let surplus = lines.len().saturating_sub(MAX_LOG_LINES);
    lines.drain(..surplus);
    lines
}
