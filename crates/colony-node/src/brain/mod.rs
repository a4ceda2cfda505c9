//! The core of the node with its journal and its clock.
//!
//! All decisions are made by the core (`colony_core::node`). `Brain` passes each
//! input to it, writes the changed rows to the journal, and only then hands the
//! work that follows to `act`.

mod journal;
mod reserve;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tracing::{error, info, warn};

use colony_core::margo::{DeploymentId, DeploymentStatus, DeviceId, Digest};
use colony_core::node::{self, Action, Fetch, Input, Key, Policy, Rejection, Row, Step};
use colony_core::time::Monotonic;
use colony_process::Signal;
use colony_runtime::Subject;

use crate::brain::journal::Journal;
use crate::clock::Clock;
use crate::{Config, Identity};

/// How long a disk error is reported while no write shows that the disk works.
const DISK_ERROR_MEMORY: Duration = Duration::from_secs(60);
/// How often a lasting disk error is logged: every step tries the disk again.
const REMINDER_INTERVAL: Duration = Duration::from_secs(300);

/// The work that follows from a step.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) actions: Vec<(Action, Option<Subject>)>,
    pub(crate) observe: bool,
    pub(crate) wake: Option<Monotonic>,
    /// The core was restored from disk: `act` has to start over, because the core
    /// knows neither the actions in progress nor the last observation.
    pub(crate) restored: bool,
}

/// The result of an input could not be stored, so the input has no effect.
#[derive(Debug)]
pub(crate) struct NotStored(String);

impl fmt::Display for NotStored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not store the state: {}", self.0)
    }
}

impl std::error::Error for NotStored {}

/// Shared by all tasks of the node.
#[derive(Debug)]
pub(crate) struct Brain {
    inner: Mutex<Inner>,
    clock: Clock,
    dir: PathBuf,
    device: DeviceId,
    policy: Policy,
    work: mpsc::UnboundedSender<Work>,
    /// The receiver of `work`, until `act` takes it.
    work_receiver: Mutex<Option<mpsc::UnboundedReceiver<Work>>>,
    /// A report for the manager is due.
    pub(crate) reports: Signal,
}

#[derive(Debug)]
struct Inner {
    core: node::Node,
    journal: Journal,
    disk: Option<DiskProblem>,
}

/// Why a step could not be stored.
#[derive(Debug)]
struct DiskProblem {
    error: String,
    /// When it happened last.
    at: Monotonic,
    /// When it was last logged.
    logged: Monotonic,
}

impl Brain {
    pub(crate) fn open(config: &Config, identity: &Identity) -> anyhow::Result<Brain> {
        let dir = config.data.join("state");
        let journal = Journal::open(&dir)
            .with_context(|| format!("could not read the state in {}", dir.display()))?;
        let (device, policy) = (identity.device()?, config.policy.clone());
        let core = restore(&device, &policy, &journal);
        let clock = Clock::starting_at(core.clock());
        let (work, receiver) = mpsc::unbounded_channel();
        Ok(Brain {
            inner: Mutex::new(Inner { core, journal, disk: None }),
            clock,
            dir,
            device,
            policy,
            work,
            work_receiver: Mutex::new(Some(receiver)),
            reports: Signal::default(),
        })
    }

    /// Applies one input. If the result cannot be stored, the core is restored from
    /// disk, and the caller has to repeat the input.
    pub(crate) fn step(&self, input: Input) -> Result<(), NotStored> {
        let mut inner = self.inner.lock();
        let now = self.clock.now();
        let step = inner.core.step(input, now);
        colony_process::fail::hit(colony_process::fail::Point::NodeStepDecided);
        if let Err(error) = inner.store(&step) {
            return Err(self.restore_from_disk(&mut inner, &error));
        }
        inner.forget_disk_problem_if_over(&step, now.mono);
        if let Some(rejection) = &step.rejection {
            warn!("rejected a manifest: {:#}", anyhow::anyhow!("{rejection}"));
        }
        let work = inner.work_of(step);
        let reports_are_due = !inner.core.reports().is_empty();
        drop(inner);
        // Fails only while the node stops and the receiver is gone.
        let _ = self.work.send(work);
        if reports_are_due {
            self.reports.wake();
        }
        Ok(())
    }

    /// Restores the core from disk: it is ahead of what could be stored.
    fn restore_from_disk(&self, inner: &mut Inner, error: &std::io::Error) -> NotStored {
        if inner.record_disk_problem(error.to_string(), self.clock.mono()) {
            error!("could not store the state, going back to the stored one: {error}");
        }
        if let Ok(journal) = Journal::open(&self.dir) {
            inner.journal = journal;
        }
        inner.core = restore(&self.device, &self.policy, &inner.journal);
        let _ = self.work.send(Work { restored: true, ..Work::default() });
        NotStored(error.to_string())
    }

    /// The documents that are missing for a manifest; `None` if it is the accepted
    /// one, and an error if it must not be accepted.
    pub(crate) fn missing_documents(
        &self,
        bytes: &[u8],
        etag: Option<&str>,
    ) -> Result<Option<Fetch>, Rejection> {
        self.inner.lock().core.check(bytes, etag)
    }

    /// The version and the tag of the manifest that was accepted last.
    pub(crate) fn accepted_version_and_etag(&self) -> (Option<u64>, Option<String>) {
        let inner = self.inner.lock();
        (inner.core.version().map(|it| it.get()), inner.core.etag().map(str::to_owned))
    }

    /// The reports that the manager has not acknowledged.
    pub(crate) fn reports(&self) -> Vec<DeploymentStatus> {
        self.inner.lock().core.reports()
    }

    /// The fingerprints whose images and archives must be kept; `None` before the
    /// first manifest.
    pub(crate) fn needed(&self) -> Option<BTreeSet<Digest>> {
        let inner = self.inner.lock();
        inner.core.version().map(|_| inner.core.needed())
    }

    /// The deployments that have a record, listed in the manifest or not.
    pub(crate) fn recorded_deployments(&self) -> BTreeSet<DeploymentId> {
        let inner = self.inner.lock();
        let id = |row: &Row| match row {
            Row::Meta(_) => None,
            Row::Deployment(record) => Some(record.id.clone()),
        };
        inner.journal.rows().filter_map(id).collect()
    }

    /// How many deployments the manifest lists.
    pub(crate) fn wanted_count(&self) -> usize {
        self.inner.lock().core.wanted().len()
    }

    pub(crate) fn disk_problem(&self) -> Option<String> {
        let mut inner = self.inner.lock();
        let failed = inner.disk.as_ref().map(|it| it.error.clone());
        failed.or_else(|| inner.journal.disk_problem())
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn take_work_receiver(&self) -> Option<mpsc::UnboundedReceiver<Work>> {
        self.work_receiver.lock().take()
    }
}

impl Inner {
    fn store(&mut self, step: &Step) -> std::io::Result<()> {
        if step.changed.is_empty() {
            return Ok(());
        }
        let row = |key: &Key| (key.to_string(), self.core.row(key));
        let changes = step.changed.iter().map(row).collect();
        self.journal.write(changes)
    }

    /// Clears the disk error after a successful write, or after `DISK_ERROR_MEMORY` without
    /// another failure: a failed write would have been tried again by then.
    fn forget_disk_problem_if_over(&mut self, step: &Step, now: Monotonic) {
        let is_old = self.disk.as_ref().is_some_and(|it| now.since(it.at) >= DISK_ERROR_MEMORY);
        if (is_old || !step.changed.is_empty()) && self.disk.take().is_some() {
            info!("the state can be stored again");
        }
    }

    /// Records why a step could not be stored; returns whether to log it: the
    /// first time, and as a reminder.
    fn record_disk_problem(&mut self, error: String, now: Monotonic) -> bool {
        let logged = self.disk.as_ref().map(|it| it.logged);
        let is_due = logged.is_none_or(|it| now.since(it) >= REMINDER_INTERVAL);
        let logged = logged.filter(|_| !is_due).unwrap_or(now);
        self.disk = Some(DiskProblem { error, at: now, logged });
        is_due
    }

    fn work_of(&self, step: Step) -> Work {
        let subject = |action: &Action| {
            let (plan, component) = self.core.subject(action)?;
            Some(Subject { document: plan.document.clone(), component: component.clone() })
        };
        let actions = step.actions.into_iter().map(|it| {
            let subject = subject(&it);
            (it, subject)
        });
        let actions = actions.collect();
        Work { actions, observe: step.observe, wake: step.wake, restored: false }
    }
}

fn restore(device: &DeviceId, policy: &Policy, journal: &Journal) -> node::Node {
    node::Node::restore(device.clone(), policy.clone(), journal.rows().cloned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::fd::AsRawFd;

    use colony_core::margo::{ManifestVersion, StateManifest};
    use colony_wfm::Credentials;
    use futures_util::FutureExt as _;
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

    use super::*;
    use crate::kit::sample;

    #[test]
    fn nothing_follows_from_a_step_that_was_not_stored() {
        let dir = tempfile::tempdir().expect("a directory");
        let full = memfd_create("full", MemfdFlags::ALLOW_SEALING).expect("a file");
        std::fs::create_dir(dir.path().join("state")).expect("a directory");
        let file = format!("/proc/self/fd/{}", full.as_raw_fd());
        std::os::unix::fs::symlink(file, dir.path().join("state/journal")).expect("a link");
        let brain = Brain::open(&sample::config(dir.path()), &identity()).expect("it opens");
        let mut work = brain.take_work_receiver().expect("they are there");
        brain.step(manifest(1)).expect("it is stored");
        assert!(work.try_recv().is_ok_and(|it| !it.restored));

        fcntl_add_seals(&full, SealFlags::GROW).expect("it is full");
        let refused = brain.step(manifest(2)).expect_err("it is not stored");
        assert!(refused.to_string().starts_with("could not store the state: "), "{refused}");
        assert!(work.try_recv().is_ok_and(|it| it.restored), "it starts over");
        assert_eq!(brain.accepted_version_and_etag().0, Some(1), "what is on disk counts");
        brain.step(Input::Tick).expect("there is nothing to store");
        assert!(brain.disk_problem().is_some(), "what was not written to proves nothing");
        assert!(brain.recorded_deployments().is_empty());
    }

    #[test]
    fn a_disk_that_works_again_is_no_problem() {
        let dir = tempfile::tempdir().expect("a directory");
        let brain = Brain::open(&sample::config(dir.path()), &identity()).expect("it opens");
        assert_eq!(brain.disk_problem(), None);
        let failed_at =
            |at: Monotonic| brain.inner.lock().record_disk_problem("full".to_owned(), at);
        let now = brain.clock().mono();

        failed_at(now);
        assert_eq!(brain.disk_problem().as_deref(), Some("full"));
        brain.step(Input::Tick).expect("there is nothing to store");
        assert!(brain.disk_problem().is_some(), "what was not written to proves nothing");
        brain.step(manifest(1)).expect("it is stored");
        assert_eq!(brain.disk_problem(), None, "it took something");

        let mut inner = brain.inner.lock();
        let idle = Step::default();
        assert!(inner.record_disk_problem("full".to_owned(), now), "it begins again");
        inner.forget_disk_problem_if_over(
            &idle,
            now.after(DISK_ERROR_MEMORY - Duration::from_millis(1)),
        );
        assert!(inner.disk.is_some(), "it is not calm for long enough");
        inner.forget_disk_problem_if_over(&idle, now.after(DISK_ERROR_MEMORY));
        assert!(inner.disk.is_none(), "it was calm for long enough");
    }

    #[test]
    fn full_disk_is_logged_at_its_beginning_and_as_a_reminder() {
        let dir = tempfile::tempdir().expect("a directory");
        let brain = Brain::open(&sample::config(dir.path()), &identity()).expect("it opens");
        let (mut inner, begin) = (brain.inner.lock(), brain.clock().mono());
        let seconds = [0, 1, 2, 40, 299, 300, 301, 599, 600];
        let at = |it: u64| begin.after(Duration::from_secs(it));
        let logged: Vec<u64> = seconds
            .into_iter()
            .filter(|it| inner.record_disk_problem("full".to_owned(), at(*it)))
            .collect();
        assert_eq!(logged, [0, 300, 600]);
        inner.forget_disk_problem_if_over(&Step::default(), at(600).after(DISK_ERROR_MEMORY));
        assert!(inner.record_disk_problem("full".to_owned(), at(661)), "another time");
    }

    #[test]
    fn what_a_manifest_brings_is_known_stored_and_owed() {
        let dir = tempfile::tempdir().expect("a directory");
        let brain = Brain::open(&sample::config(dir.path()), &identity()).expect("it opens");
        let mut work = brain.take_work_receiver().expect("they are there");
        assert!(brain.take_work_receiver().is_none(), "they are taken once");
        assert_eq!(
            (brain.accepted_version_and_etag(), brain.needed(), brain.wanted_count()),
            ((None, None), None, 0)
        );
        brain.step(Input::Tick).expect("there is nothing to store");
        assert!(brain.reports.woken().now_or_never().is_none(), "nothing is owed");
        let input = sample::manifest(7);
        let Input::Manifest { bytes, etag, .. } = &input else { panic!("{input:?}") };
        assert!(
            matches!(brain.missing_documents(bytes, etag.as_deref()), Ok(Some(_))),
            "it is new"
        );
        let (bytes, tag) = (bytes.clone(), etag.clone());

        brain.step(input).expect("it is stored");

        assert_eq!(brain.accepted_version_and_etag(), (Some(7), tag.clone()));
        assert!(matches!(brain.missing_documents(&bytes, tag.as_deref()), Ok(None)), "it is known");
        assert_eq!((brain.recorded_deployments().len(), brain.wanted_count()), (1, 1));
        assert!(brain.needed().is_some_and(|it| !it.is_empty()));
        assert_eq!(brain.reports().len(), 1);
        assert!(brain.reports.woken().now_or_never().is_some(), "a report is owed");
        let work: Vec<Work> = std::iter::from_fn(|| work.try_recv().ok()).collect();
        assert!(work.iter().any(|it| it.observe || !it.actions.is_empty()), "{work:?}");

        drop(brain);
        let brain = Brain::open(&sample::config(dir.path()), &identity()).expect("it opens");
        assert_eq!((brain.accepted_version_and_etag().0, brain.wanted_count()), (Some(7), 1));
    }

    fn manifest(version: u64) -> Input {
        let version = ManifestVersion::new(version).expect("a version");
        let bytes = StateManifest::new(version, &[]).0.to_bytes();
        Input::Manifest { bytes, etag: None, documents: BTreeMap::new() }
    }

    fn identity() -> Identity {
        let empty = String::new;
        let credentials = Credentials { chain_pem: empty(), key_pem: empty(), roots_pem: empty() };
        let (name, site) = ("n1".to_owned(), "a".to_owned());
        Identity { name, site, urls: Vec::new(), credentials }
    }
}
