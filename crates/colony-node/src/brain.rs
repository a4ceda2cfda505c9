//! The core of the node with its journal and its clock: step, store, then act.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use tokio::sync::mpsc;
use tracing::{error, warn};

use colony_core::node::{self, Action, Fetch, Input, Key, Policy, Rejection, Step};
use colony_core::time::Mono;
use colony_margo::{Capabilities, DeploymentStatus, DeviceId};
use colony_runtime::Subject;
use colony_task::Signal;

use crate::clock::Clock;
use crate::journal::Journal;
use crate::{Config, Identity};

/// What a step leaves to be done.
#[derive(Debug, Default)]
pub(crate) struct Todo {
    pub(crate) actions: Vec<(Action, Option<Subject>)>,
    pub(crate) observe: bool,
    pub(crate) wake: Option<Mono>,
    /// The core came back from disk and knows nothing but its rows.
    pub(crate) reborn: bool,
}

/// Shared by all tasks of the node.
#[derive(Debug)]
pub(crate) struct Brain {
    inner: Mutex<Inner>,
    clock: Clock,
    dir: PathBuf,
    device: DeviceId,
    policy: Policy,
    todo: mpsc::UnboundedSender<Todo>,
    /// Taken once, by `act`.
    todos: Mutex<Option<mpsc::UnboundedReceiver<Todo>>>,
    /// Something is to be told to the manager.
    pub(crate) reports: Signal,
}

#[derive(Debug)]
struct Inner {
    core: node::Node,
    journal: Journal,
    /// Why the last step could not be stored, if it could not.
    disk: Option<String>,
}

impl Brain {
    pub(crate) fn open(config: &Config, identity: &Identity) -> anyhow::Result<Brain> {
        let dir = config.data.join("state");
        let journal = Journal::open(&dir)
            .with_context(|| format!("could not read the state in {}", dir.display()))?;
        let (device, policy) = (identity.device()?, config.policy.clone());
        let core = restore(&device, &policy, &journal);
        let clock = Clock::starting_at(core.clock());
        let (todo, todos) = mpsc::unbounded_channel();
        Ok(Brain {
            inner: Mutex::new(Inner { core, journal, disk: None }),
            clock,
            dir,
            device,
            policy,
            todo,
            todos: Mutex::new(Some(todos)),
            reports: Signal::default(),
        })
    }

    /// Takes one step. Nothing follows from a step that could not be stored.
    pub(crate) fn step(&self, input: Input) {
        let mut inner = self.lock();
        let step = inner.core.step(input, self.clock.now());
        colony_fail::hit(colony_fail::Point::NodeStepDecided);
        if let Err(error) = inner.store(&step) {
            return self.fall_back(&mut inner, &error);
        }
        inner.disk = None;
        if let Some(rejection) = &step.rejection {
            warn!("manifest refused: {:#}", anyhow::anyhow!("{rejection}"));
        }
        let todo = inner.todo(step);
        let owes = !inner.core.reports().is_empty();
        drop(inner);
        // Nobody listens any more: the node is stopping.
        let _ = self.todo.send(todo);
        if owes {
            self.reports.wake();
        }
    }

    /// The core is ahead of the disk: what is on disk counts.
    fn fall_back(&self, inner: &mut Inner, error: &std::io::Error) {
        error!("could not store the state, going back to the stored one: {error}");
        inner.disk = Some(error.to_string());
        if let Ok(journal) = Journal::open(&self.dir) {
            inner.journal = journal;
        }
        inner.core = restore(&self.device, &self.policy, &inner.journal);
        let _ = self.todo.send(Todo { reborn: true, ..Todo::default() });
    }

    pub(crate) fn check(
        &self,
        bytes: &[u8],
        etag: Option<&str>,
    ) -> Result<Option<Fetch>, Rejection> {
        self.lock().core.check(bytes, etag)
    }

    /// The version and the tag of the manifest that was accepted last.
    pub(crate) fn have(&self) -> (Option<u64>, Option<String>) {
        let inner = self.lock();
        (inner.core.version().map(|it| it.get()), inner.core.etag().map(str::to_owned))
    }

    pub(crate) fn reports(&self) -> Vec<DeploymentStatus> {
        self.lock().core.reports()
    }

    pub(crate) fn needed(&self) -> Option<std::collections::BTreeSet<colony_margo::Digest>> {
        let inner = self.lock();
        inner.core.version().map(|_| inner.core.needed())
    }

    pub(crate) fn deployments(&self) -> usize {
        self.lock().core.wanted().len()
    }

    pub(crate) fn disk_problem(&self) -> Option<String> {
        self.lock().disk.clone()
    }

    pub(crate) fn capabilities(&self, own: &Capabilities) {
        self.step(Input::Capabilities(Box::new(own.clone())));
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn take_todos(&self) -> Option<mpsc::UnboundedReceiver<Todo>> {
        self.todos.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn todo(&self, step: Step) -> Todo {
        let subject = |action: &Action| {
            let (plan, component) = self.core.subject(action)?;
            Some(Subject { document: plan.document.clone(), component: component.clone() })
        };
        let actions = step.actions.into_iter().map(|it| {
            let subject = subject(&it);
            (it, subject)
        });
        let actions = actions.collect();
        Todo { actions, observe: step.observe, wake: step.wake, reborn: false }
    }
}

fn restore(device: &DeviceId, policy: &Policy, journal: &Journal) -> node::Node {
    node::Node::restore(device.clone(), policy.clone(), journal.rows().cloned())
}
