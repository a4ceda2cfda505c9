//! What an operator may ask of a site, here or through CO.

use serde::{Deserialize, Serialize};

use crate::attempt::Failure;
use crate::code::Code;
use crate::event::{Actor, Body, HoldScope};
use crate::id::{DeploymentId, GitRevision, NodeName, PlacementId};
use crate::site::moving::By;
use crate::site::timer::Timer;
use crate::site::turn::Turn;
use crate::site::{Hold, Placement, Refused};
use crate::state::{Op, State};
use crate::time::Wall;
use crate::transition::Trigger;

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
    fn name(&self) -> &'static str {
        match self {
            Action::Hold { .. } => "hold",
            Action::ReleaseHold { .. } => "release-hold",
            Action::ReleaseRemoval => "release-removal",
            Action::AcceptHistory { .. } => "accept-history",
            Action::ReleaseQuarantine { .. } => "release-quarantine",
            Action::Retry { .. } => "retry",
            Action::Rollback { .. } => "rollback",
            Action::Force { .. } => "force",
            Action::Cordon { .. } => "cordon",
            Action::Uncordon { .. } => "uncordon",
            Action::Retire { .. } => "retire",
        }
    }
}

type Done = Result<(), String>;

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
        let by = &command.by;
        match &command.action {
            Action::Hold { scope, note } => self.hold(by, scope, note),
            Action::ReleaseHold { scope } => self.release_hold(by, scope),
            Action::ReleaseRemoval => self.release_removal(by),
            Action::AcceptHistory { commit } => self.accept_history(by, commit),
            Action::ReleaseQuarantine { deployment } => self.release_quarantine(by, deployment),
            Action::Retry { deployment, node } => self.retry(by, deployment, node.as_ref()),
            Action::Rollback { deployment } => self.roll_back(by, deployment),
            Action::Force { deployment, node } => self.force(by, deployment, node.as_ref()),
            Action::Cordon { node } => self.cordon(by, node, true),
            Action::Uncordon { node } => self.cordon(by, node, false),
            Action::Retire { node } => self.retire(by, node),
        }
    }

    fn hold(&mut self, by: &str, scope: &HoldScope, note: &str) -> Done {
        if let HoldScope::Deployment(id) = scope {
            self.has(id)?;
        }
        let hold = Hold { by: by.to_owned(), note: note.to_owned(), since: self.now.wall };
        self.site.holds.insert(scope.clone(), hold);
        let body = Body::Held { scope: scope.clone(), note: note.to_owned() };
        self.emit(Actor::Operator(by.to_owned()), body);
        Ok(())
    }

    fn release_hold(&mut self, by: &str, scope: &HoldScope) -> Done {
        self.site.holds.remove(scope).ok_or("nothing is held there")?;
        self.dirty.extend(self.site.index.hungry.iter().cloned());
        self.emit(Actor::Operator(by.to_owned()), Body::HoldReleased { scope: scope.clone() });
        Ok(())
    }

    fn release_removal(&mut self, by: &str) -> Done {
        let removals = std::mem::take(&mut self.site.git.removals);
        if removals.is_empty() {
            return Err("no removal is held".to_owned());
        }
        self.emit(Actor::Operator(by.to_owned()), Body::RemovalReleased);
        for id in removals {
            self.withdraw_deployment(&id, Actor::Operator(by.to_owned()));
        }
        Ok(())
    }

    /// The shell offers the commit again; this time it is taken.
    fn accept_history(&mut self, by: &str, commit: &GitRevision) -> Done {
        if self.site.git.rewritten.as_ref() != Some(commit) {
            return Err(format!("no rewritten history at {} is held", commit.short()));
        }
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
        if released.is_empty() && !rejected && !stopped {
            return Err("nothing of it is quarantined, rejected or stopped".to_owned());
        }
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
        Ok(())
    }

    /// What has spent its tries gets all of them back.
    pub(super) fn try_again(&mut self, id: &DeploymentId) {
        for id in self.chosen(id, None) {
            let Some(mut placement) = self.site.placements.remove(&id) else { continue };
            if matches!(placement.state(), State::Failed(_)) {
                self.disarm(&placement);
                (placement.tries, placement.retry_at) = (0, Some(self.now.mono));
                self.arm(&placement);
                self.out.changed.placements.insert(id.clone());
            }
            self.site.placements.insert(id, placement);
        }
    }

    fn retry(&mut self, by: &str, id: &DeploymentId, node: Option<&NodeName>) -> Done {
        self.has(id)?;
        let mut refusals = Vec::new();
        let mut tried = false;
        for id in self.chosen(id, node) {
            if !matches!(self.site.placements.get(&id), Some(it) if matches!(it.state(), State::Failed(_)))
            {
                continue;
            }
            match self.retry_one(by, &id) {
                Ok(()) => tried = true,
                Err(refusal) => refusals.push(format!("{}: {refusal}", id.node)),
            }
        }
        match (tried, refusals.is_empty()) {
            (true, _) => Ok(()),
            (false, true) => Err("nothing of it has failed".to_owned()),
            (false, false) => Err(refusals.join("; ")),
        }
    }

    fn retry_one(&mut self, by: &str, id: &PlacementId) -> Result<(), String> {
        let stopped =
            self.site.deployments.get_mut(&id.deployment).and_then(|it| it.stopped.take());
        let Some(before) = self.site.placements.get(id).cloned() else { return Ok(()) };
        if let Some(placement) = self.site.placements.get_mut(id) {
            (placement.tries, placement.retry_at) = (0, Some(self.now.mono));
        }
        if let Err(refusal) = self.advance(id, Trigger::Retry, By::operator(by)) {
            self.site.placements.insert(id.clone(), before);
            if let Some(deployment) = self.site.deployments.get_mut(&id.deployment) {
                deployment.stopped = stopped;
            }
            return Err(refusal.to_string());
        }
        self.disarm_retry(&before);
        if stopped.is_some() {
            let body = Body::RolloutResumed { deployment: id.deployment.clone() };
            self.emit(Actor::Operator(by.to_owned()), body);
            self.touch(&id.deployment);
        }
        Ok(())
    }

    /// The timer of the automatic try that the operator was faster than.
    fn disarm_retry(&mut self, before: &Placement) {
        if let Some(at) = before.retry_at {
            self.site.index.timers.cancel(at, Timer::Retry(before.id.clone()));
        }
    }

    fn roll_back(&mut self, by: &str, id: &DeploymentId) -> Done {
        let deployment = self.site.deployments.get(id).ok_or_else(|| unknown(id))?;
        let bad = deployment.wanted.clone();
        if deployment.is_quarantined() {
            return Err("it is rolled back already".to_owned());
        }
        let good = deployment.good.as_ref().filter(|it| it.workload != bad.workload);
        let earlier = self.nodes_of(id).into_iter().find_map(|node| self.way_back(id, &node));
        let Some(good) = good.cloned().or(earlier) else {
            return Err("no earlier revision is known to go back to".to_owned());
        };
        if let Some(deployment) = self.site.deployments.get_mut(id) {
            deployment.good = Some(good);
        }
        let actor = Actor::Operator(by.to_owned());
        let failure = Failure::new(Code::RolledBack, format!("by {by}"));
        self.quarantine_by(actor, id, bad, None, failure);
        Ok(())
    }

    fn way_back(&self, id: &DeploymentId, node: &NodeName) -> Option<crate::attempt::Revision> {
        let id = PlacementId { deployment: id.clone(), node: node.clone() };
        self.site.placements.get(&id)?.revisions.way_back().cloned()
    }

    fn force(&mut self, by: &str, id: &DeploymentId, node: Option<&NodeName>) -> Done {
        self.has(id)?;
        let mut forced = false;
        for id in self.chosen(id, node) {
            let state = self.site.placements.get(&id).map(|it| it.state());
            if matches!(state, Some(State::Deleting | State::Failed(Op::Delete))) {
                forced |= self.force_one(by, &id).is_ok();
            }
        }
        if forced { Ok(()) } else { Err("nothing of it is being removed".to_owned()) }
    }

    fn force_one(&mut self, by: &str, id: &PlacementId) -> Result<(), crate::transition::Refusal> {
        let by = By::operator(by).forced();
        if self.site.placements.get(id).is_some_and(|it| it.state() != State::Deleting) {
            self.advance(id, Trigger::Remove, by.clone())?;
        }
        self.advance(id, Trigger::Forced, by)
    }

    fn cordon(&mut self, by: &str, node: &NodeName, cordoned: bool) -> Done {
        let member = self.site.members.get_mut(node).ok_or_else(|| no_node(node))?;
        member.cordoned = cordoned;
        self.out.changed.members.insert(node.clone());
        let body = Body::NodeCordoned { node: node.clone(), cordoned };
        self.emit(Actor::Operator(by.to_owned()), body);
        if !cordoned {
            self.plan_for_node(node);
        }
        Ok(())
    }

    /// Everything on the node counts as gone, unconfirmed.
    fn retire(&mut self, by: &str, node: &NodeName) -> Done {
        let placed = self.site.placed_on(node);
        self.site.members.remove(node).ok_or_else(|| no_node(node))?;
        self.out.changed.members.insert(node.clone());
        for id in &placed {
            // What is neither forced nor removed was never more than pending.
            let _ = self.force_one(by, id);
        }
        let body = Body::NodeRetired { node: node.clone() };
        self.emit(Actor::Operator(by.to_owned()), body);
        for id in placed {
            self.plan(&id.deployment);
        }
        Ok(())
    }

    fn has(&self, id: &DeploymentId) -> Done {
        self.site.deployments.get(id).map(|_| ()).ok_or_else(|| unknown(id))
    }

    fn chosen(&self, id: &DeploymentId, node: Option<&NodeName>) -> Vec<PlacementId> {
        let nodes = self.nodes_of(id).into_iter().filter(|it| node.is_none_or(|n| n == it));
        nodes.map(|node| PlacementId { deployment: id.clone(), node }).collect()
    }
}

fn unknown(id: &DeploymentId) -> String {
    format!("deployment {id} is not at this site")
}

fn no_node(node: &NodeName) -> String {
    format!("node {node} has not joined this site")
}
