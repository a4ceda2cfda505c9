//! The actions in progress: one per deployment, and the cleanup.

use std::collections::{BTreeMap, BTreeSet};

use tokio::task::{AbortHandle, JoinSet};
use tracing::{debug, warn};

use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::margo::{DeploymentId, Digest};
use colony_core::node::{Action, Prepared};
use colony_runtime::{Runtime, Subject};

type Ended = (Action, Result<Prepared, Failure>);

#[derive(Debug)]
pub(crate) struct Actions {
    runtime: Runtime,
    set: JoinSet<Option<Ended>>,
    running: BTreeMap<DeploymentId, (Action, AbortHandle)>,
}

impl Actions {
    pub(crate) fn new(runtime: Runtime) -> Actions {
        Actions { runtime, set: JoinSet::new(), running: BTreeMap::new() }
    }

    /// Begins an action; a preparation of the same deployment is dropped.
    pub(crate) fn begin(&mut self, action: Action, subject: Option<Subject>) {
        if let Some((before, handle)) = self.running.remove(action.deployment()) {
            debug!(?before, "dropped");
            handle.abort();
        }
        debug!(?action, "begins");
        let (runtime, begun) = (self.runtime.clone(), action.clone());
        let handle = self.set.spawn(async move {
            colony_process::fail::hit(colony_process::fail::Point::NodeActionBegun);
            let result = runtime.perform(&begun, subject).await;
            colony_process::fail::hit(colony_process::fail::Point::NodeActionEnded);
            Some((begun, result))
        });
        self.running.insert(action.deployment().clone(), (action, handle));
    }

    /// The next action that ended; waits forever if none is in progress.
    pub(crate) async fn ended(&mut self) -> Option<Ended> {
        loop {
            match self.set.join_next().await {
                None => return std::future::pending().await,
                Some(Ok(Some((action, result)))) => {
                    self.running.retain(|_, it| it.0 != action);
                    log(&action, &result);
                    return Some((action, result));
                }
                Some(Ok(None)) => {}
                Some(Err(error)) if error.is_cancelled() => {}
                Some(Err(error)) => return self.broken(error.id(), &error),
            }
        }
    }

    /// An action whose task broke down counts as failed.
    fn broken(&mut self, id: tokio::task::Id, error: &tokio::task::JoinError) -> Option<Ended> {
        let found = self.running.iter().find(|(_, it)| it.1.id() == id)?;
        let deployment = found.0.clone();
        let (action, _) = self.running.remove(&deployment)?;
        let message = format!("the node's own code failed: {error}");
        Some((action, Err(Failure::new(Code::EngineError, message))))
    }

    /// Removes what `needed` does not cover, concurrently with actions.
    pub(crate) fn clean(&mut self, needed: BTreeSet<Digest>) {
        let runtime = self.runtime.clone();
        self.set.spawn(async move {
            if let Err(failure) = runtime.collect(&needed).await {
                warn!(code = %failure.code, "could not clean up: {}", failure.message);
            }
            None
        });
    }
}

fn log(action: &Action, result: &Result<Prepared, Failure>) {
    match result {
        Ok(_) => debug!(?action, "done"),
        Err(failure) => {
            warn!(deployment = %action.deployment(), code = %failure.code, "{}", failure.message);
        }
    }
}
