//! Whether a site can execute an order. The site refuses orders by these rules,
//! and the central orchestrator applies them early, with the same messages.
//!
//! Central knows a site only by its events, which may be late: the site may
//! still refuse an order that central accepts here. Left out on purpose: the
//! guards of the transition table, which a retry has to pass as well.

use std::collections::BTreeMap;
use std::fmt;

use colony_margo::Digest;

use crate::attempt::{Revision, Revisions};
use crate::event::HoldScope;
use crate::id::{DeploymentId, DeploymentName, GitRevision, NodeName, SiteName};
use crate::site::{Action, Quarantine};
use crate::state::State;
use crate::transition::{self, Facts, Guard, Reason, Trigger, transition};

/// The maximum length of an order's note, in bytes. The note is sent with the
/// order, stored in events and shown with everything that waits because of it.
pub const NOTE_LIMIT: usize = 1_000;

/// The state of a site that the rules read.
pub trait OrderState {
    fn site(&self) -> &SiteName;
    fn deployment(&self, id: &DeploymentId) -> Option<DeploymentState>;
    fn has_node(&self, node: &NodeName) -> bool;
    /// The file of the deployment in Git cannot be used.
    fn refuses_file(&self, name: &DeploymentName) -> bool;
    fn is_held(&self, scope: &HoldScope) -> bool;
    /// A commit that removes too much at once waits for a release.
    fn holds_removal(&self) -> bool;
    /// The rewritten history that waits to be accepted.
    fn held_history(&self) -> Option<&GitRevision>;
}

/// The state of a deployment that the rules read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeploymentState {
    pub name: DeploymentName,
    /// Removed from Git.
    pub withdrawn: bool,
    /// The revision in Git is quarantined.
    pub quarantined: bool,
    /// Every reachable node has run the revision in Git.
    pub converged: bool,
    /// A revision is quarantined, a node has rejected one, or the rollout
    /// stopped.
    pub releasable: bool,
    /// A revision to roll back to is known.
    pub has_rollback_target: bool,
    pub paused_by: Option<String>,
    pub step: StepState,
    pub placements: Vec<(NodeName, State)>,
}

/// The current step of a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepState {
    pub is_last: bool,
    /// All nodes of the step run the revision and stay healthy.
    pub is_done: bool,
    /// How many nodes run the revision and how many the step has, if known.
    pub progress: Option<(usize, usize)>,
}

/// Why an order is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    site: SiteName,
    deployment: Option<DeploymentName>,
    reason: OrderReason,
}

impl std::error::Error for Refusal {}

impl Refusal {
    /// The order names something that the site does not have, so the request
    /// is answered with "not found".
    pub fn is_unknown(&self) -> bool {
        matches!(self.reason, OrderReason::UnknownDeployment(_) | OrderReason::UnknownNode(_))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum OrderReason {
    LongNote(usize),
    UnknownDeployment(DeploymentId),
    UnknownNode(NodeName),
    FileRefused(DeploymentName),
    BeingRemoved,
    AlreadyRolledBack,
    NoRollout,
    NoStepLeft,
    StepNotDone(Option<(usize, usize)>),
    Paused {
        by: String,
    },
    AlreadyPaused {
        by: String,
    },
    NotPaused,
    NothingFailed(Option<NodeName>),
    NothingQuarantined,
    NotHeld,
    /// A second hold would replace the note and the name of the first.
    AlreadyHeld,
    NoRemovalHeld,
    NoHistoryHeld(GitRevision),
    NoRollbackTarget,
    NothingLeaving(Option<NodeName>),
}

/// The revision to which a site rolls back from `accepted`: the last one that
/// converged, or else the previous revision of the first node that remembers
/// one. Quarantined revisions are skipped: after a rollback to one the site
/// would run nothing.
pub fn rollback_target<'a>(
    accepted: Digest,
    last_converged: Option<&'a Revision>,
    quarantine: &BTreeMap<Digest, Quarantine>,
    nodes: impl IntoIterator<Item = &'a Revisions>,
) -> Option<&'a Revision> {
    let earlier = nodes.into_iter().filter_map(Revisions::rollback_target);
    let usable = |it: &&Revision| it.workload != accepted && !quarantine.contains_key(&it.workload);
    last_converged.into_iter().chain(earlier).find(usable)
}

/// Whether the site can execute `action`.
pub fn check(action: &Action, state: &impl OrderState) -> Result<(), Refusal> {
    let deployment = action.deployment();
    let found = deployment.and_then(|it| state.deployment(it));
    let note = action.note().len();
    let checked = match (deployment, &found) {
        _ if note > NOTE_LIMIT => Err(OrderReason::LongNote(note)),
        // A hold can outlive its deployment.
        (Some(_), None) if is_held_release(action, state) => Ok(()),
        (Some(id), None) => Err(OrderReason::UnknownDeployment(id.clone())),
        (Some(_) | None, found) => check_known(action, found.as_ref(), state),
    };
    checked.map_err(|reason| Refusal {
        site: state.site().clone(),
        deployment: found.map(|it| it.name),
        reason,
    })
}

/// Why no order about a deployment can be executed that the site does not run:
/// its file in Git is refused. `None` if the site does not know the name.
pub fn refused_file(name: &DeploymentName, state: &impl OrderState) -> Option<Refusal> {
    let reason = OrderReason::FileRefused(name.clone());
    let refusal = || Refusal { site: state.site().clone(), deployment: None, reason };
    state.refuses_file(name).then(refusal)
}

fn is_held_release(action: &Action, state: &impl OrderState) -> bool {
    matches!(action, Action::ReleaseHold { scope } if state.is_held(scope))
}

/// Applies the rules. If the order names a deployment, it is at the site.
fn check_known(
    action: &Action,
    found: Option<&DeploymentState>,
    state: &impl OrderState,
) -> Result<(), OrderReason> {
    let Some(it) = found else { return check_site(action, state) };
    if let Some(node) = action.placement_node() {
        // A placement can outlive its node.
        let known = state.has_node(node) || it.placements.iter().any(|at| at.0 == *node);
        ensure(known, OrderReason::UnknownNode(node.clone()))?;
    }
    match action {
        Action::ReleaseHold { scope } => ensure(state.is_held(scope), OrderReason::NotHeld),
        Action::ReleaseQuarantine { .. } => ensure(it.releasable, OrderReason::NothingQuarantined),
        Action::Retry { node, .. } => it.check_retry(node.as_ref()),
        Action::Rollback { .. } => it.check_rollback(),
        Action::Promote { .. } => it.check_promote(),
        Action::Pause { .. } => it.check_pause(),
        Action::Resume { .. } => ensure(it.paused_by.is_some(), OrderReason::NotPaused),
        Action::Abort { .. } => it.check_rollout(),
        Action::Force { node, .. } => it.check_force(node.as_ref()),
        Action::Hold { scope, .. } => ensure(!state.is_held(scope), OrderReason::AlreadyHeld),
        Action::ReleaseRemoval
        | Action::AcceptHistory { .. }
        | Action::Cordon { .. }
        | Action::Uncordon { .. }
        | Action::Retire { .. } => Ok(()),
    }
}

fn check_site(action: &Action, state: &impl OrderState) -> Result<(), OrderReason> {
    match action {
        Action::ReleaseHold { scope } => ensure(state.is_held(scope), OrderReason::NotHeld),
        Action::ReleaseRemoval => ensure(state.holds_removal(), OrderReason::NoRemovalHeld),
        Action::AcceptHistory { commit } => {
            let held = state.held_history() == Some(commit);
            ensure(held, OrderReason::NoHistoryHeld(commit.clone()))
        }
        Action::Cordon { node } | Action::Uncordon { node } | Action::Retire { node } => {
            ensure(state.has_node(node), OrderReason::UnknownNode(node.clone()))
        }
        Action::Hold { scope, .. } => ensure(!state.is_held(scope), OrderReason::AlreadyHeld),
        Action::ReleaseQuarantine { .. }
        | Action::Retry { .. }
        | Action::Rollback { .. }
        | Action::Promote { .. }
        | Action::Pause { .. }
        | Action::Resume { .. }
        | Action::Abort { .. }
        | Action::Force { .. } => Ok(()),
    }
}

fn ensure(holds: bool, reason: OrderReason) -> Result<(), OrderReason> {
    if holds { Ok(()) } else { Err(reason) }
}

impl DeploymentState {
    fn any(&self, node: Option<&NodeName>, is: impl Fn(State) -> bool) -> bool {
        let chosen = self.placements.iter().filter(|it| node.is_none_or(|node| *node == it.0));
        chosen.map(|it| it.1).any(is)
    }

    fn check_retry(&self, node: Option<&NodeName>) -> Result<(), OrderReason> {
        let failed = self.any(node, |it| matches!(it, State::Failed(_)));
        failed.then_some(()).ok_or_else(|| OrderReason::NothingFailed(node.cloned()))
    }

    fn check_force(&self, node: Option<&NodeName>) -> Result<(), OrderReason> {
        let found = self.any(node, State::is_leaving);
        found.then_some(()).ok_or_else(|| OrderReason::NothingLeaving(node.cloned()))
    }

    fn check_rollback(&self) -> Result<(), OrderReason> {
        if self.quarantined {
            return Err(OrderReason::AlreadyRolledBack);
        }
        if self.has_rollback_target { Ok(()) } else { Err(OrderReason::NoRollbackTarget) }
    }

    /// Requires a rollout in progress.
    fn check_rollout(&self) -> Result<(), OrderReason> {
        if self.withdrawn {
            return Err(OrderReason::BeingRemoved);
        }
        if self.quarantined {
            return Err(OrderReason::AlreadyRolledBack);
        }
        if self.converged { Err(OrderReason::NoRollout) } else { Ok(()) }
    }

    fn check_pause(&self) -> Result<(), OrderReason> {
        self.check_rollout()?;
        let paused = self.paused_by.clone();
        paused.map_or(Ok(()), |by| Err(OrderReason::AlreadyPaused { by }))
    }

    fn check_promote(&self) -> Result<(), OrderReason> {
        self.check_rollout()?;
        if self.step.is_last {
            return Err(OrderReason::NoStepLeft);
        }
        if let Some(by) = self.paused_by.clone() {
            return Err(OrderReason::Paused { by });
        }
        match self.step.is_done {
            true => Ok(()),
            false => Err(OrderReason::StepNotDone(self.step.progress)),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let site = &self.site;
        let name = self.deployment.as_ref().map_or("it", |it| it.as_str());
        let place = |node: &Option<NodeName>| match node {
            Some(node) => format!("on node {node} of {site}"),
            None => format!("at {site}"),
        };
        match &self.reason {
            OrderReason::LongNote(bytes) => {
                write!(
                    f,
                    "the note has {bytes} bytes, more than the {NOTE_LIMIT} that are accepted"
                )
            }
            OrderReason::UnknownDeployment(id) => write!(f, "deployment {id} is not at {site}"),
            OrderReason::UnknownNode(node) => write!(f, "node {node} has not joined {site}"),
            OrderReason::FileRefused(name) => {
                write!(f, "{name} is not deployed at {site}: its file in Git is refused")
            }
            OrderReason::BeingRemoved => write!(f, "{name} is being removed at {site}"),
            OrderReason::AlreadyRolledBack => write!(
                f,
                "{name} is already rolled back at {site}: the version in Git is quarantined"
            ),
            OrderReason::NoRollout => write!(f, "no rollout of {name} is in progress at {site}"),
            OrderReason::NoStepLeft => {
                write!(f, "nothing to promote: the last step of {name} at {site} is already open")
            }
            OrderReason::StepNotDone(None) => {
                write!(f, "the current step of {name} at {site} is not done yet")
            }
            OrderReason::StepNotDone(Some((done, of))) => write!(
                f,
                "the current step of {name} at {site} is not done: {done} of {of} nodes run it"
            ),
            OrderReason::Paused { by } => {
                write!(f, "{by} paused the rollout of {name} at {site}; resume it first")
            }
            OrderReason::AlreadyPaused { by } => {
                write!(f, "{by} already paused the rollout of {name} at {site}")
            }
            OrderReason::NotPaused => write!(f, "the rollout of {name} at {site} is not paused"),
            OrderReason::NothingFailed(node) => {
                write!(f, "nothing to retry: {name} has not failed {}", place(node))
            }
            OrderReason::NothingQuarantined => {
                write!(f, "nothing to release: no version of {name} is quarantined at {site}")
            }
            OrderReason::NotHeld if self.deployment.is_none() => {
                write!(f, "nothing to release: {site} is not on hold")
            }
            OrderReason::NotHeld => {
                write!(f, "nothing to release: {name} is not on hold at {site}")
            }
            OrderReason::AlreadyHeld if self.deployment.is_none() => {
                write!(f, "{site} is already on hold; release it first")
            }
            OrderReason::AlreadyHeld => {
                write!(f, "{name} is already on hold at {site}; release it first")
            }
            OrderReason::NoRemovalHeld => {
                write!(f, "nothing to release: no removal is held at {site}")
            }
            OrderReason::NoHistoryHeld(commit) => write!(
                f,
                "nothing to accept: no rewritten history at {} is held at {site}",
                commit.short()
            ),
            OrderReason::NoRollbackTarget => {
                write!(
                    f,
                    "{site} keeps no earlier revision of {name} to roll back to; choose a version \
                     with `--to`"
                )
            }
            OrderReason::NothingLeaving(node) => {
                write!(f, "nothing of {name} is being removed {}", place(node))
            }
        }
    }
}

/// Whether an operator may delete a placement in `state`. In DELETING the order
/// is always accepted.
pub fn check_delete(state: State, force: bool) -> Result<(), transition::Refusal> {
    if state == State::Deleting {
        return Ok(());
    }
    transition(Some(state), Trigger::Remove, &DeleteFacts { state, force }).map(|_| ())
}

/// The facts about a placement that do not depend on its site. Holds are not
/// checked: a hold delays the removal at the site but does not forbid the
/// order.
struct DeleteFacts {
    state: State,
    force: bool,
}

impl Facts for DeleteFacts {
    fn check(&self, guard: Guard) -> Result<(), Reason> {
        let unknown = matches!(self.state, State::Unknown(_));
        if guard == Guard::ForcedIfUnknown && unknown && !self.force {
            return Err(Reason::UnknownNeedsForce);
        }
        Ok(())
    }
}
