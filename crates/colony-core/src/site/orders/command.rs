//! The commands of an operator to a site, given at the site or through central.

use serde::{Deserialize, Serialize};

use crate::event::{Actor, Body, HoldScope};
use crate::id::{DeploymentId, GitRevision, NodeName, PlacementId};
use crate::order_rules;
use crate::site::rollout::Rollout;
use crate::site::step_context::StepContext;
use crate::site::{Hold, Refused};
use crate::time::Timestamp;

/// An order with the name of its operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Central numbers its commands; each number is executed once.
    pub number: Option<u64>,
    pub by: String,
    /// After this time the command is acknowledged but not executed.
    pub expires: Option<Timestamp>,
    pub action: Action,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Action {
    /// Stops new attempts.
    Hold {
        scope: HoldScope,
        note: String,
    },
    ReleaseHold {
        scope: HoldScope,
    },
    /// Releases a removal that is held because it is too large.
    ReleaseRemoval,
    /// Accepts a rewritten history.
    AcceptHistory {
        commit: GitRevision,
    },
    /// Allows quarantined, rejected or stopped revisions to be tried again.
    ReleaseQuarantine {
        deployment: DeploymentId,
    },
    /// Retries failed placements at once and resets their tries.
    Retry {
        deployment: DeploymentId,
        node: Option<NodeName>,
    },
    /// Rolls back to the last good revision and quarantines the accepted one.
    Rollback {
        deployment: DeploymentId,
    },
    /// Opens the next step of a rollout.
    Promote {
        deployment: DeploymentId,
    },
    /// Starts no further attempts of a rollout.
    Pause {
        deployment: DeploymentId,
        note: String,
    },
    Resume {
        deployment: DeploymentId,
    },
    /// Ends a rollout: all nodes roll back to the last good revision.
    Abort {
        deployment: DeploymentId,
        note: String,
    },
    /// Ends the wait for a removal that no node will confirm.
    Force {
        deployment: DeploymentId,
        node: Option<NodeName>,
    },
    /// Excludes a node from further placements.
    Cordon {
        node: NodeName,
    },
    Uncordon {
        node: NodeName,
    },
    /// Removes a node that will not come back.
    Retire {
        node: NodeName,
    },
}

impl Action {
    /// The note that the operator gave with the order.
    pub(crate) fn note(&self) -> &str {
        match self {
            Action::Hold { note, .. } | Action::Pause { note, .. } | Action::Abort { note, .. } => {
                note
            }
            Action::ReleaseHold { .. }
            | Action::ReleaseRemoval
            | Action::AcceptHistory { .. }
            | Action::ReleaseQuarantine { .. }
            | Action::Retry { .. }
            | Action::Rollback { .. }
            | Action::Promote { .. }
            | Action::Resume { .. }
            | Action::Force { .. }
            | Action::Cordon { .. }
            | Action::Uncordon { .. }
            | Action::Retire { .. } => "",
        }
    }

    /// The node to which an order about a deployment is limited.
    pub(crate) fn placement_node(&self) -> Option<&NodeName> {
        match self {
            Action::Retry { node, .. } | Action::Force { node, .. } => node.as_ref(),
            Action::Hold { .. }
            | Action::ReleaseHold { .. }
            | Action::ReleaseRemoval
            | Action::AcceptHistory { .. }
            | Action::ReleaseQuarantine { .. }
            | Action::Rollback { .. }
            | Action::Promote { .. }
            | Action::Pause { .. }
            | Action::Resume { .. }
            | Action::Abort { .. }
            | Action::Cordon { .. }
            | Action::Uncordon { .. }
            | Action::Retire { .. } => None,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Action::Hold { .. } => "hold",
            Action::ReleaseHold { .. } => "release-hold",
            Action::ReleaseRemoval => "release-removal",
            Action::AcceptHistory { .. } => "accept-history",
            Action::ReleaseQuarantine { .. } => "release-quarantine",
            Action::Retry { .. } => "retry",
            Action::Rollback { .. } => "rollback",
            Action::Promote { .. } => "promote",
            Action::Pause { .. } => "pause",
            Action::Resume { .. } => "resume",
            Action::Abort { .. } => "abort",
            Action::Force { .. } => "force",
            Action::Cordon { .. } => "cordon",
            Action::Uncordon { .. } => "uncordon",
            Action::Retire { .. } => "retire",
        }
    }
}

pub(in crate::site) type Done = Result<(), String>;

impl StepContext<'_> {
    pub(in crate::site) fn command(&mut self, command: Command) -> Result<(), Refused> {
        self.ready()?;
        if command.number.is_some_and(|it| it <= self.site.commands_done) {
            return Ok(());
        }
        let expired = command.expires.is_some_and(|it| it < self.now.wall);
        let done = match expired {
            true => Err("it expired before it arrived".to_owned()),
            false => self.execute(&command),
        };
        self.site.commands_done = command.number.unwrap_or(self.site.commands_done);
        let refusal = done.err();
        let body = Body::CommandDone {
            number: command.number,
            command: command.action.name().to_owned(),
            refusal: refusal.clone(),
        };
        self.emit(Actor::Operator(command.by), body);
        refusal.map_or(Ok(()), |it| Err(Refused::Command(it)))
    }

    fn execute(&mut self, command: &Command) -> Done {
        order_rules::check(&command.action, &*self.site).map_err(|it| it.to_string())?;
        let by = &command.by;
        match &command.action {
            Action::Hold { scope, note } => self.hold(by, scope, note),
            Action::ReleaseHold { scope } => self.release_hold(by, scope),
            Action::ReleaseRemoval => self.release_removal(by),
            Action::AcceptHistory { commit } => self.accept_history(by, commit),
            Action::ReleaseQuarantine { deployment } => self.release_quarantine(by, deployment),
            Action::Retry { deployment, node } => self.retry(by, deployment, node.as_ref()),
            Action::Rollback { deployment } => self.roll_back(by, deployment),
            Action::Promote { deployment } => self.promote(by, deployment),
            Action::Pause { deployment, note } => self.pause(by, deployment, note),
            Action::Resume { deployment } => self.resume(by, deployment),
            Action::Abort { deployment, note } => self.abort(by, deployment, note),
            Action::Force { deployment, node } => self.force(by, deployment, node.as_ref()),
            Action::Cordon { node } => self.cordon(by, node, true),
            Action::Uncordon { node } => self.cordon(by, node, false),
            Action::Retire { node } => self.retire(by, node),
        }
    }

    fn hold(&mut self, by: &str, scope: &HoldScope, note: &str) -> Done {
        let hold = Hold { by: by.to_owned(), note: note.to_owned(), since: self.now.wall };
        self.site.holds.insert(scope.clone(), hold);
        let body = Body::Held { scope: scope.clone(), note: note.to_owned() };
        self.emit(Actor::Operator(by.to_owned()), body);
        Ok(())
    }

    fn release_hold(&mut self, by: &str, scope: &HoldScope) -> Done {
        self.site.holds.remove(scope);
        self.queues_to_process.extend(self.site.index.pending_work.iter().cloned());
        self.emit(Actor::Operator(by.to_owned()), Body::HoldReleased { scope: scope.clone() });
        Ok(())
    }

    fn release_removal(&mut self, by: &str) -> Done {
        let Some(held) = self.site.git.removal.take() else { return Ok(()) };
        self.emit(Actor::Operator(by.to_owned()), Body::RemovalReleased);
        for id in held.deployments {
            self.withdraw_deployment(&id, Actor::Operator(by.to_owned()));
        }
        Ok(())
    }

    /// Marks the commit as accepted. The shell passes it in again, and then it
    /// is applied.
    fn accept_history(&mut self, by: &str, commit: &GitRevision) -> Done {
        self.site.git.accepted = Some(commit.clone());
        let body = Body::HistoryAccepted { commit: commit.clone() };
        self.emit(Actor::Operator(by.to_owned()), body);
        Ok(())
    }

    fn release_quarantine(&mut self, by: &str, id: &DeploymentId) -> Done {
        let deployment = self.site.deployments.get_mut(id).ok_or_else(|| unknown(id))?;
        let released: Vec<_> = std::mem::take(&mut deployment.quarantine).into_keys().collect();
        let rejected = !std::mem::take(&mut deployment.rejected).is_empty();
        let stopped = deployment.stopped.take().is_some();
        deployment.rolled_back = None;
        deployment.rollout = Rollout::default();
        for workload in released {
            let body = Body::QuarantineReleased { deployment: id.clone(), workload };
            self.emit(Actor::Operator(by.to_owned()), body);
        }
        if rejected || stopped {
            let body = Body::RolloutReleased { deployment: id.clone() };
            self.emit(Actor::Operator(by.to_owned()), body);
        }
        self.mark_changed(id);
        self.try_again(id);
        self.plan(id);
        self.emit_step_event(id, Actor::Operator(by.to_owned()));
        Ok(())
    }

    pub(in crate::site) fn chosen(
        &self,
        id: &DeploymentId,
        node: Option<&NodeName>,
    ) -> Vec<PlacementId> {
        let nodes = self.nodes_of(id).into_iter().filter(|it| node.is_none_or(|n| n == it));
        nodes.map(|node| PlacementId { deployment: id.clone(), node }).collect()
    }
}

pub(in crate::site) fn unknown(id: &DeploymentId) -> String {
    format!("deployment {id} is not at this site")
}

pub(in crate::site) fn no_node(node: &NodeName) -> String {
    format!("node {node} has not joined this site")
}
