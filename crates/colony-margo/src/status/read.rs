//! Reads the report about a deployment, within limits.

use super::{ColonyStatus, ComponentStatus, DeploymentStatus, Overall, State, StatusError};
use crate::manifest::ManifestVersion;
use crate::yaml::Cursor;

const EXTENSION: &str = "x-colony-extensions";
const MAX_ID: usize = 256;
const MAX_TEXT: usize = 8 * 1024;
const MAX_COMPONENTS: usize = 1_000;
const MAX_LOG_LINES: usize = 200;

impl DeploymentStatus {
    /// Reads a report.
    pub fn read(cursor: &Cursor<'_>) -> Option<DeploymentStatus> {
        let deployment_id = cursor.required("deploymentId").and_then(|it| read_id(&it));
        let device_id = cursor.field("deviceId").and_then(|it| it.text());
        let version = cursor.required("adoptedManifestVersion").and_then(|it| read_version(&it));
        let status = cursor.required("status").and_then(|it| Overall::read(&it));
        let components = cursor.required("components").and_then(|it| read_components(&it));
        let colony = cursor.field(EXTENSION).map(|it| ColonyStatus::read(&it));
        Some(DeploymentStatus {
            deployment_id: deployment_id?,
            device_id,
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
        let running = cursor.field("running").and_then(|it| StatusError::read(&it));
        let settling = cursor.field("settling").and_then(|it| it.unsigned());
        ColonyStatus { report, log: log.map(tail), running, settling }
    }
}

/// Only the end of a log is kept.
fn tail(mut lines: Vec<String>) -> Vec<String> {
    let surplus = lines.len().saturating_sub(MAX_LOG_LINES);
    lines.drain(..surplus);
    lines
}

impl State {
    fn read(cursor: &Cursor<'_>) -> Option<State> {
        let word = cursor.one_of(&State::ALL.map(|it| it.0))?;
        State::ALL.iter().find(|it| it.0 == word).map(|it| it.1)
    }
}

impl StatusError {
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
