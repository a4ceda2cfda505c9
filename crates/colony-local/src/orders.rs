//! Operators' orders, from central or from the site's own socket.

use tracing::error;

use colony_core::id::NodeName;
use colony_core::site::{Action, Command, Input};
use colony_store::{LocalStore, NodeIdentity};

use crate::brain::{Brain, BrainError};

/// Executes orders; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Orders {
    brain: Brain,
    store: LocalStore,
}

impl Orders {
    pub(crate) fn new(brain: Brain, store: LocalStore) -> Orders {
        Orders { brain, store }
    }

    /// Returns when the order is on disk, executed or refused.
    pub(crate) async fn execute(&self, command: Command) -> Result<(), BrainError> {
        let action = command.action.clone();
        if let Action::Retire { node } = &action {
            return self.retire(node, command).await;
        }
        self.brain.step(Input::Command(command)).await?;
        colony_process::fail::hit(colony_process::fail::Point::LocalOrderDone);
        match action {
            // The commit that was held is offered again.
            Action::AcceptHistory { .. } => self.brain.notifiers().git.wake(),
            Action::Retire { .. }
            | Action::Hold { .. }
            | Action::ReleaseHold { .. }
            | Action::ReleaseRemoval
            | Action::ReleaseQuarantine { .. }
            | Action::Retry { .. }
            | Action::Rollback { .. }
            | Action::Promote { .. }
            | Action::Pause { .. }
            | Action::Resume { .. }
            | Action::Abort { .. }
            | Action::Force { .. }
            | Action::Cordon { .. }
            | Action::Uncordon { .. } => {}
        }
        Ok(())
    }

    /// The site refuses the node from here on. The record of its identity is
    /// marked first, so that the machine cannot return by repeating its join
    /// request (`Enrollment::repeat`). An order that a crash interrupts is sent
    /// again.
    async fn retire(&self, node: &NodeName, command: Command) -> Result<(), BrainError> {
        let marked = self.mark_retired(node, true).await?;
        colony_process::fail::hit(colony_process::fail::Point::LocalNodeRetired);
        let done = self.brain.step(Input::Command(command)).await;
        match &done {
            // A certificate issued in the meantime has removed the mark.
            Ok(()) => drop(self.mark_retired(node, true).await?),
            Err(BrainError::Refused(_)) if marked => drop(self.mark_retired(node, false).await?),
            Err(_) => {}
        }
        colony_process::fail::hit(colony_process::fail::Point::LocalOrderDone);
        done
    }

    /// Sets the mark; true if that changed the record.
    async fn mark_retired(&self, node: &NodeName, retired: bool) -> Result<bool, BrainError> {
        let marked = async {
            let known = self.store.node_get(node.as_str()).await?;
            let Some(known) = known.filter(|it| it.retired != retired) else { return Ok(false) };
            self.store.node_put(&NodeIdentity { retired, ..known }).await.map(|()| true)
        };
        marked.await.map_err(|error: colony_store::Error| {
            error!(node = %node, "could not mark the identity as retired: {error}");
            BrainError::Unavailable
        })
    }
}
