//! The reports to the local orchestrator, as a function of the records.
//!
//! A report gets a number when its content changes, and is repeated until that
//! number is acknowledged. Numbers rise across restarts and also when the wall
//! clock jumps back; after the loss of all state the wall clock keeps them
//! rising. The adopted version is not part of the content: a manifest that
//! changes nothing for a deployment causes no report.

pub(in crate::node) mod request;

use std::collections::BTreeMap;

use serde_json::json;

use colony_margo::status::{ColonyStatus, ComponentStatus, DeploymentStatus, Overall, StatusError};
use colony_margo::{ComponentName, DeploymentId, Digest, ManifestVersion, State, canonical};

use crate::attempt::Failure;
use crate::node::Node;
use crate::node::deployment_entry::DeploymentEntry;
use crate::node::row::{Meta, Phase, Record, Settling};
use crate::time::Now;

/// The maximum number of log lines, and of characters per text, in a report.
const LOG_LINES: usize = 50;
const TEXT_LIMIT: usize = 2_000;
/// In the year 37648; well below 2^53, above which JSON numbers are not exact.
const FARTHEST: u64 = 1 << 50;

impl Node {
    /// All reports that the local orchestrator has not acknowledged.
    pub fn reports(&self) -> Vec<DeploymentStatus> {
        let open = self.deployments.values().filter(|it| !it.record.report.acked);
        open.map(|it| self.status(it)).collect()
    }

    /// Numbers the reports whose content changed. `before` and `records` are
    /// the incarnation and the records before the step.
    pub(in crate::node) fn number_reports(
        &mut self,
        before: Option<u64>,
        records: &BTreeMap<DeploymentId, Record>,
        now: Now,
    ) {
        let incarnation = self.meta.incarnation();
        let same = |it: &DeploymentEntry| {
            before == incarnation && records.get(&it.record.id) == Some(&it.record)
        };
        for entry in self.deployments.values_mut().filter(|it| !same(it)) {
            let content = content(entry, incarnation);
            let report = &mut entry.record.report;
            if report.content != content {
                report.number = self.meta.next_report(now);
                report.content = content;
                report.acked = false;
            }
        }
    }

    fn status(&self, entry: &DeploymentEntry) -> DeploymentStatus {
        DeploymentStatus {
            deployment_id: entry.record.id.to_string(),
            device_id: Some(self.id.clone()),
            adopted_manifest_version: self.adopted(entry),
            status: overall(entry),
            components: components(entry),
            colony: Some(ColonyStatus {
                report: Some(entry.record.report.number),
                log: log(entry),
                running: running(entry).map(error),
                settling: settling(entry).map(|it| it.rest),
            }),
        }
    }

    /// A listed deployment is adopted when its manifest is accepted, so it has
    /// the version of that manifest.
    fn adopted(&self, entry: &DeploymentEntry) -> ManifestVersion {
        match entry.record.phase {
            Phase::Removing { version, .. } | Phase::Removed { version, .. } => version,
            Phase::Applying { .. } | Phase::Installed { .. } | Phase::Failed { .. } => {
                self.version().unwrap_or(ManifestVersion::FIRST)
            }
        }
    }
}

impl Meta {
    /// The number of the next report.
    pub(in crate::node) fn next_report(&mut self, now: Now) -> u64 {
        // A wall clock far in the future must not use up the numbers.
        self.report = self.report.saturating_add(1).max(now.wall.0.min(FARTHEST));
        self.report
    }
}

/// The digest of the content of a report; a change of it causes a report.
fn content(entry: &DeploymentEntry, incarnation: Option<u64>) -> Digest {
    let mut said = json!({
        "status": overall(entry),
        "components": components(entry),
        "log": log(entry),
        "wire": entry.record.wire,
        "incarnation": incarnation,
    });
    // Left out if absent: the digest must equal the one that an earlier version
    // of the node has stored.
    if let Some(failure) = running(entry) {
        said["running"] = json!(error(failure));
    }
    if let Some(settling) = settling(entry) {
        said["settling"] = json!(settling);
    }
    Digest::of(&canonical::to_vec(&said))
}

fn overall(entry: &DeploymentEntry) -> Overall {
    let failure = failure(entry);
    let state = match &entry.record.phase {
        Phase::Applying { .. } => State::Installing,
        Phase::Installed { .. } => State::Installed,
        Phase::Failed { .. } => State::Failed,
        Phase::Removing { .. } => State::Removing,
        Phase::Removed { .. } => State::Removed,
    };
    let state = if failure.is_some() { State::Failed } else { state };
    Overall { state, error: failure.map(error) }
}

fn failure(entry: &DeploymentEntry) -> Option<&Failure> {
    match &entry.record.phase {
        Phase::Failed { failure, .. } => Some(failure),
        Phase::Installed { current_failure, .. } => current_failure.as_ref(),
        Phase::Removing { failure, .. } => failure.as_ref(),
        Phase::Applying { .. } | Phase::Removed { .. } => None,
    }
}

/// The failure of the active version while this document is staged.
fn running(entry: &DeploymentEntry) -> Option<&Failure> {
    let beside = entry.is_staging() && entry.record.phase.is_wanted();
    entry.record.active_failure.as_ref().filter(|_| beside)
}

/// Everything runs: nothing but the settle time is missing.
fn settling(entry: &DeploymentEntry) -> Option<Settling> {
    match entry.record.phase {
        Phase::Applying { settling, .. } => settling,
        Phase::Installed { .. }
        | Phase::Failed { .. }
        | Phase::Removing { .. }
        | Phase::Removed { .. } => None,
    }
}

fn components(entry: &DeploymentEntry) -> Vec<ComponentStatus> {
    let Ok(plan) = &entry.plan else { return Vec::new() };
    let failure = failure(entry);
    let names: Vec<&ComponentName> = plan.parts.iter().map(|it| &it.component).collect();
    let status = |(index, name): (usize, &&ComponentName)| {
        let own = failure.filter(|it| it.source == name.as_str());
        let state = if own.is_some() { State::Failed } else { state(entry, &names, index) };
        ComponentStatus { name: name.to_string(), state, error: own.map(error) }
    };
    names.iter().enumerate().map(status).collect()
}

fn state(entry: &DeploymentEntry, names: &[&ComponentName], index: usize) -> State {
    let name = names[index];
    match &entry.record.phase {
        Phase::Applying { ready, .. } | Phase::Failed { ready, .. } if ready.contains(name) => {
            State::Installed
        }
        Phase::Applying { starts, ready, .. } => {
            let first = names.iter().position(|it| !ready.contains(*it));
            let begun = first == Some(index) || starts.contains_key(name);
            if begun { State::Installing } else { State::Pending }
        }
        Phase::Failed { .. } => State::Pending,
        Phase::Installed { .. } => State::Installed,
        Phase::Removing { .. } => State::Removing,
        Phase::Removed { .. } => State::Removed,
    }
}

fn log(entry: &DeploymentEntry) -> Option<Vec<String>> {
    let lines = failure(entry).map(|it| it.log.as_slice()).unwrap_or_default();
    let tail = &lines[lines.len().saturating_sub(LOG_LINES)..];
    (!tail.is_empty()).then(|| tail.iter().map(|it| clip(it)).collect())
}

fn error(failure: &Failure) -> StatusError {
    StatusError {
        code: failure.code.to_string(),
        source: failure.source.clone(),
        message: clip(&failure.message),
    }
}

fn clip(text: &str) -> String {
    text.chars().take(TEXT_LIMIT).collect()
}
