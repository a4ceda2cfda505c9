//! Operators' orders, from CO or from the site's own socket.

use tracing::warn;

use colony_core::id::NodeName;
use colony_core::site::{Action, Command, Input};
use colony_store::LocalStore;

use crate::brain::{Brain, Denied};

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
    pub(crate) async fn execute(&self, command: Command) -> Result<(), Denied> {
        let action = command.action.clone();
        self.brain.step(Input::Command(command)).await?;
        colony_fail::hit(colony_fail::Point::LocalOrderDone);
        match action {
            Action::Retire { node } => self.retired(&node).await,
            // The commit that waited is offered again.
            Action::AcceptHistory { .. } => self.brain.wakes().git.wake(),
            Action::Hold { .. }
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

    /// The site refuses the node from here on. The record keeps its machine from
    /// coming back by the request that it joined with (`Door::repeat`).
    async fn retired(&self, node: &NodeName) {
        let marked = async {
            let Some(mut known) = self.store.node_get(node.as_str()).await? else { return Ok(()) };
            known.retired = true;
            self.store.node_put(&known).await
        };
        if let Err(error) = marked.await {
            warn!(node = %node, "could not mark the identity as retired: {error}");
        }
        colony_fail::hit(colony_fail::Point::LocalNodeRetired);
    }
}
