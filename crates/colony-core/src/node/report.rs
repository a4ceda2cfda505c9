//! What the manager is told, as a function of the records.
//!
//! A report gets a number when its content changes, and is repeated until that
//! number is acknowledged. Numbers rise over restarts and also when the wall
//! clock jumps back; after the loss of all state the wall clock keeps them
//! rising. The adopted version is not content: a manifest that changes nothing
//! here is no news.

use std::collections::BTreeMap;

use serde_json::json;

use colony_margo::status::{ColonyStatus, ComponentStatus, DeploymentStatus, Overall, StatusError};
use colony_margo::{ComponentName, DeploymentId, Digest, ManifestVersion, State, canonical};

use super::Node;
use super::held::Held;
use super::row::{Meta, Phase, Record};
use crate::attempt::Failure;
use crate::time::Now;

/// The most lines and characters that are sent along.
const LOG_LINES: usize = 50;
const TEXT_LIMIT: usize = 2_000;
/// In the year 37648; well below 2^53, where JSON numbers end to be exact.
const FARTHEST: u64 = 1 << 50;

impl Node {
    /// Everything the manager has not acknowledged.
    pub fn reports(&self) -> Vec<DeploymentStatus> {
        let open = self.deployments.values().filter(|it| !it.record.report.acked);
        open.map(|it| self.status(it)).collect()
    }

    /// Numbers what is news since `before`, when `records` were as given.
    pub(super) fn number_reports(
        &mut self,
        before: Option<u64>,
        records: &BTreeMap<DeploymentId, Record>,
        now: Now,
    ) {
        let incarnation = self.meta.incarnation();
        let same =
            |it: &Held| before == incarnation && records.get(&it.record.id) == Some(&it.record);
        for held in self.deployments.values_mut().filter(|it| !same(it)) {
            let content = content(held, incarnation);
            let report = &mut held.record.report;
            if report.content != content {
                report.number = self.meta.next_report(now);
                report.content = content;
                report.acked = false;
            }
        }
    }

    fn status(&self, held: &Held) -> DeploymentStatus {
        DeploymentStatus {
            deployment_id: held.record.id.to_string(),
            device_id: Some(self.id.clone()),
            adopted_manifest_version: self.adopted(held),
            status: overall(held),
            components: components(held),
            colony: Some(ColonyStatus {
                report: Some(held.record.report.number),
                log: log(held),
                running: running(held).map(error),
            }),
        }
    }

    /// To apply begins with acceptance, so what is listed has its version.
    fn adopted(&self, held: &Held) -> ManifestVersion {
        match held.record.phase {
            Phase::Removing { version, .. } | Phase::Removed { version } => version,
            Phase::Applying { .. } | Phase::Installed { .. } | Phase::Failed { .. } => {
                self.version().unwrap_or(ManifestVersion::FIRST)
            }
        }
    }
}

impl Meta {
    /// The number of one more report.
    pub(super) fn next_report(&mut self, now: Now) -> u64 {
        // A wall clock beyond all reason must not use the numbers up.
        self.report = self.report.saturating_add(1).max(now.wall.0.min(FARTHEST));
        self.report
    }
}

/// The digest of all that makes a report news.
fn content(held: &Held, incarnation: Option<u64>) -> Digest {
    let mut said = json!({
        "status": overall(held),
        "components": components(held),
        "log": log(held),
        "wire": held.record.wire,
        "incarnation": incarnation,
    });
    // Absent it must not be news to a node of an earlier version.
    if let Some(failure) = running(held) {
        said["running"] = json!(error(failure));
    }
    Digest::of(&canonical::to_vec(&said))
}

fn overall(held: &Held) -> Overall {
    let failure = failure(held);
    let state = match &held.record.phase {
        Phase::Applying { .. } => State::Installing,
        Phase::Installed { .. } => State::Installed,
        Phase::Failed { .. } => State::Failed,
        Phase::Removing { .. } => State::Removing,
        Phase::Removed { .. } => State::Removed,
    };
    let state = if failure.is_some() { State::Failed } else { state };
    Overall { state, error: failure.map(error) }
}

fn failure(held: &Held) -> Option<&Failure> {
    match &held.record.phase {
        Phase::Failed { failure, .. } => Some(failure),
        Phase::Installed { lost, .. } => lost.as_ref(),
        Phase::Removing { failure, .. } => failure.as_ref(),
        Phase::Applying { .. } | Phase::Removed { .. } => None,
    }
}

/// What is wrong with the one that runs on while this one is staged.
fn running(held: &Held) -> Option<&Failure> {
    let beside = held.is_staging() && held.record.phase.is_wanted();
    held.record.old_lost.as_ref().filter(|_| beside)
}

fn components(held: &Held) -> Vec<ComponentStatus> {
    let Ok(plan) = &held.plan else { return Vec::new() };
    let failure = failure(held);
    let names: Vec<&ComponentName> = plan.parts.iter().map(|it| &it.component).collect();
    let status = |(index, name): (usize, &&ComponentName)| {
        let own = failure.filter(|it| it.source == name.as_str());
        let state = if own.is_some() { State::Failed } else { state(held, &names, index) };
        ComponentStatus { name: name.to_string(), state, error: own.map(error) }
    };
    names.iter().enumerate().map(status).collect()
}

fn state(held: &Held, names: &[&ComponentName], index: usize) -> State {
    let name = names[index];
    match &held.record.phase {
        Phase::Applying { ready, .. } | Phase::Failed { ready, .. } if ready.contains(name) => {
            State::Installed
        }
        Phase::Applying { turns, ready, .. } => {
            let first = names.iter().position(|it| !ready.contains(*it));
            let begun = first == Some(index) || turns.contains_key(name);
            if begun { State::Installing } else { State::Pending }
        }
        Phase::Failed { .. } => State::Pending,
        Phase::Installed { .. } => State::Installed,
        Phase::Removing { .. } => State::Removing,
        Phase::Removed { .. } => State::Removed,
    }
}

fn log(held: &Held) -> Option<Vec<String>> {
    let lines = failure(held).map(|it| it.log.as_slice()).unwrap_or_default();
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
