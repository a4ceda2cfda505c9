//! A deployment's file in Git, parsed and checked.
//!
//! `Document::parse` turns the bytes of `deployments/<site>/<name>.yaml` into a
//! document for the site core, or returns all findings. `wire` derives the
//! document for one node: the same workload, addressed to that node, with
//! colony's own settings reduced to the attempt.

mod change;
mod choice;
mod facts;
#[cfg(feature = "schema")]
mod schema;
mod settings;
mod strategy;
mod text;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use colony_margo::yaml::{self, Cursor, Limits};
use colony_margo::{ApplicationDeployment, DeviceTarget, Digest, Finding, Findings, canonical};

pub use change::{RetryChange, SettingName, SettingsChange, StrategyChange};
pub use choice::Choice;
pub use facts::FileFacts;
pub use settings::{OnFailure, Settings};
pub use strategy::{
    BlueGreen, Canary, CountOrPercent, Gate, Promote, Strategy, StrategyKind, Subset,
};
pub use text::SettingDuration;

use crate::attempt::Revision;
use crate::id::{BlobId, DeploymentId, DeploymentName, GitRevision, NodeName, SiteName};

/// The key of colony's own settings in a deployment.
pub const EXTENSION: &str = "x-colony-extensions";

/// The key of the drain time in a staged document.
const DRAIN: &str = "drain";

/// A valid file.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    pub name: DeploymentName,
    pub revision: Revision,
    pub target: Target,
    pub settings: Settings,
    pub spec: ApplicationDeployment,
    /// The bytes of the file: what a rollback puts back into Git.
    pub text: String,
    /// The commit that brought the file, where the reader knows it.
    pub commit: Option<GitRevision>,
    pub warnings: Vec<Finding>,
}

/// Which nodes of the site the file selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Any,
    Node(NodeName),
}

/// What a node has to do with a document (`phase` on the wire), and so the side
/// on which the containers of a version run: active, or staged beside it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Run it beside the active version, which stays as it is.
    Stage,
    /// Run it, and nothing else.
    #[default]
    Active,
}

impl Document {
    /// Reads the file `name` of `site`.
    pub fn parse(
        site: &SiteName,
        name: &DeploymentName,
        blob: &BlobId,
        text: &[u8],
    ) -> Result<Document, Vec<Finding>> {
        let root = yaml::parse(text, &Limits::default())?;
        let findings = Findings::default();
        let document = Cursor::root(&root, &findings);
        let spec = ApplicationDeployment::read(&document);
        let target = spec.as_ref().and_then(|it| target(site, it, &document));
        let settings = settings_of(&document);
        check_staging(spec.as_ref(), settings.as_ref(), &document);
        if let (Some(spec), Some(target), Some(settings), false) =
            (spec, target, settings, findings.has_errors())
        {
            let revision = Revision { blob: blob.clone(), workload: workload(&spec) };
            let text = String::from_utf8_lossy(text).into_owned();
            let warnings = findings.into_vec();
            return Ok(Document {
                name: name.clone(),
                revision,
                target,
                settings,
                spec,
                text,
                commit: None,
                warnings,
            });
        }
        Err(findings.into_vec())
    }

    pub fn id(&self) -> &DeploymentId {
        &self.spec.id
    }

    /// The bytes sent to `node` for attempt `attempt`.
    pub fn wire(&self, node: &NodeName, attempt: u32, phase: Side) -> Vec<u8> {
        let mut spec = self.spec.clone();
        spec.metadata.device_id = device_target(node);
        let mut own = Map::new();
        own.insert("attempt".to_owned(), json!(attempt));
        own.insert("phase".to_owned(), json!(phase));
        // Absent means the default, so that documents stay as they were.
        if let (Strategy::BlueGreen(of), Side::Stage) = (&self.settings.strategy, phase)
            && of.drain != Strategy::DRAIN
        {
            own.insert(DRAIN.to_owned(), json!(SettingDuration::from(of.drain)));
        }
        spec.spec.extensions.insert(EXTENSION, own);
        spec.to_yaml().into_bytes()
    }
}

/// How long connections to a version that is replaced may last, as the staged
/// document of its successor says.
pub fn drain(staged: &ApplicationDeployment) -> Duration {
    let written = staged.spec.extensions.get(EXTENSION).and_then(|it| it.get(DRAIN));
    let written = written.and_then(Value::as_str).and_then(|it| it.parse().ok());
    let drain = written.map_or(Strategy::DRAIN, SettingDuration::get);
    drain.min(Strategy::LONGEST_DRAIN)
}

/// The timeout of a component whose file sets none.
pub const COMPONENT_TIMEOUT: Duration = Duration::from_secs(300);
/// The time for everything that precedes the first component.
const HEAD_START: Duration = Duration::from_secs(60);

impl Document {
    /// The minimum time limit of an attempt. The timeout of a component decides
    /// whether the component is healthy, so no deadline may end before it.
    pub fn minimum_time_limit(&self) -> Duration {
        let components = &self.spec.spec.profile.components;
        let timeouts = components.iter().map(|it| it.properties.timeout);
        let timeouts = timeouts.map(|it| it.map_or(COMPONENT_TIMEOUT, |it| it.duration()));
        let components = timeouts.fold(HEAD_START, Duration::saturating_add);
        match &self.settings.strategy {
            Strategy::BlueGreen(of) => components.saturating_add(of.drain),
            Strategy::Rolling { .. } | Strategy::AllAtOnce | Strategy::Canary(_) => components,
        }
    }
}

/// The digest of what a node would run: the file without device id and policy.
pub fn workload(spec: &ApplicationDeployment) -> Digest {
    let mut value = serde_json::to_value(spec).unwrap_or_default();
    remove(&mut value, &["metadata", "deviceId"]);
    remove(&mut value, &["spec", EXTENSION]);
    Digest::of(&canonical::to_vec(&value))
}

/// The label that carries the version of the application.
pub const VERSION_LABEL: &str = "colony-version";

/// The version of the application a file deploys: by its label, else that of
/// its first component.
pub fn version(spec: &ApplicationDeployment) -> String {
    let first = spec.spec.profile.components.first();
    let revision = || first.map(|it| it.properties.revision.to_string()).unwrap_or_default();
    spec.metadata.labels.get(VERSION_LABEL).cloned().unwrap_or_else(revision)
}

fn remove(value: &mut Value, path: &[&str]) {
    let Some((last, parents)) = path.split_last() else { return };
    let parent = parents.iter().try_fold(value, |it, key| it.get_mut(key));
    if let Some(map) = parent.and_then(Value::as_object_mut) {
        map.remove(*last);
    }
}

fn settings_of(document: &Cursor<'_>) -> Option<Settings> {
    let own = document.field("spec").and_then(|it| it.field(EXTENSION));
    own.map_or(Some(Settings::default()), |it| Settings::read(&it))
}

/// Only containers can run beside their previous version: a Helm release is
/// updated in place.
fn check_staging(
    spec: Option<&ApplicationDeployment>,
    settings: Option<&Settings>,
    root: &Cursor<'_>,
) {
    let (Some(spec), Some(settings)) = (spec, settings) else { return };
    let kind = &spec.spec.profile.kind;
    if kind == "compose" || !matches!(settings.strategy, Strategy::BlueGreen(_)) {
        return;
    }
    let own = root.field("spec").and_then(|it| it.field(EXTENSION));
    if let Some(strategy) = own.and_then(|it| it.field("strategy")?.field("type")) {
        let problem = format!("a profile of type `{kind}` cannot run two versions at once");
        strategy.error(problem, "`rolling`, `all-at-once` or `canary`");
    }
}

fn target(site: &SiteName, spec: &ApplicationDeployment, root: &Cursor<'_>) -> Option<Target> {
    let written = spec.metadata.device_id.to_string();
    let target = match written.strip_prefix(&format!("{site}/")) {
        Some("*") => Some(Target::Any),
        Some(node) => node.parse().ok().map(Target::Node),
        None => None,
    };
    if target.is_none() {
        let place = root.field("metadata").and_then(|it| it.field("deviceId"))?;
        let problem = format!("`{written}` names no node of this site");
        place.error(problem, format!("`{site}/*` or `{site}/<node>`"));
    }
    target
}

/// A node's name is a valid device id by construction.
fn device_target(node: &NodeName) -> DeviceTarget {
    node.as_str().parse().unwrap_or_else(|_| unreachable!("a node name is a device id"))
}
