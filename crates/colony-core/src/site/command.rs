//! What an operator may ask of a site, here or through CO.

use serde::{Deserialize, Serialize};

use crate::event::{Actor, Body, HoldScope};
use crate::id::{DeploymentId, GitRevision, NodeName, PlacementId};
use crate::orders;
use crate::site::rollout::Rollout;
use crate::site::turn::Turn;
use crate::site::{Hold, Refused};
use crate::time::Wall;

/// An order with a name under it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// CO numbers its commands; each is executed once.
    pub number: Option<u64>,
    pub by: String,
    /// After this it is acknowledged, not executed.
    pub expires: Option<Wall>,
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
    /// Lets a removal that was too large happen.
    ReleaseRemoval,
    /// Takes a rewritten history.
    AcceptHistory {
        commit: GitRevision,
    },
    /// Lets quarantined, rejected or stopped revisions try again.
    ReleaseQuarantine {
        deployment: DeploymentId,
    },
    /// Tries what failed again, at once and with all its tries.
    Retry {
        deployment: DeploymentId,
        node: Option<NodeName>,
    },
    /// Goes back to the last good revision and quarantines the wanted one.
    Rollback {
        deployment: DeploymentId,
    },
    /// Opens the next step of a rollout.
    Promote {
        deployment: DeploymentId,
    },
    /// Starts nothing more of a rollout.
    Pause {
        deployment: DeploymentId,
        note: String,
    },
    Resume {
        deployment: DeploymentId,
    },
    /// Ends a rollout: everything goes back to the last good revision.
    Abort {
        deployment: DeploymentId,
        note: String,
    },
    /// Ends the wait for a removal nobody will confirm.
    Force {
        deployment: DeploymentId,
        node: Option<NodeName>,
    },
    /// Gives a node no new deployments.
    Cordon {
        node: NodeName,
    },
    Uncordon {
        node: NodeName,
    },
    /// The node is gone for good.
    Retire {
        node: NodeName,
    },
}

impl Action {
    /// What the person who ordered it wrote.
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

pub(super) type Done = Result<(), String>;

impl Turn<'_> {
    pub(super) fn command(&mut self, command: Command) -> Result<(), Refused> {
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
        orders::check(&command.action, &*self.site).map_err(|it| it.to_string())?;
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
        self.dirty.extend(self.site.index.hungry.iter().cloned());
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

    /// The shell offers the commit again; this time it is taken.
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
        self.touch(id);
        self.try_again(id);
        self.plan(id);
        self.tell_step(id, Actor::Operator(by.to_owned()));
        Ok(())
    }

    pub(super) fn chosen(&self, id: &DeploymentId, node: Option<&NodeName>) -> Vec<PlacementId> {
        let nodes = self.nodes_of(id).into_iter().filter(|it| node.is_none_or(|n| n == it));
        nodes.map(|node| PlacementId { deployment: id.clone(), node }).collect()
    }
}

pub(super) fn unknown(id: &DeploymentId) -> String {
    format!("deployment {id} is not at this site")
}

pub(super) fn no_node(node: &NodeName) -> String {
    format!("node {node} has not joined this site")
}
