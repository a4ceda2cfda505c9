//! What happened, as a sentence for people: the same at the site and at
//! central.

use colony_margo::Finding;

use crate::attempt::{Failure, Revision};
use crate::event::{Actor, Body, Event, HoldScope, Presence, StepStanding, Transition};
use crate::id::{DeploymentId, GitRevision, NodeName};

/// The names of things, as known to the orchestrator that prints the event.
pub trait Names {
    /// The name of the deployment; its id if the deployment is gone.
    fn deployment(&self, id: &DeploymentId) -> String;

    /// The version of the application; `None` if its file is not available
    /// here.
    fn version(&self, id: &DeploymentId, revision: &Revision) -> Option<String>;
}

impl Event {
    pub fn sentence(&self, names: &impl Names) -> String {
        SentenceWriter { event: self, names }.sentence()
    }
}

struct SentenceWriter<'a, N> {
    event: &'a Event,
    names: &'a N,
}

impl<N: Names> SentenceWriter<'_, N> {
    fn sentence(&self) -> String {
        let Event { site, actor, body, .. } = self.event;
        match body {
            Body::Ready => format!("site {site} has read Git and serves its nodes"),
            Body::StateTransition(it) => self.transition(it),
            Body::StaleReport { deployment, node, state, .. } => {
                self.stale_report(deployment, node, state)
            }
            Body::RunningHealth { deployment, node, revision, failure } => {
                self.running_health(deployment, node, revision, failure.as_ref())
            }
            Body::DeploymentAccepted { deployment, revision, .. } => {
                format!("site {site} took {} from Git", self.revision_text(deployment, revision))
            }
            Body::DeploymentWithdrawn { name, purge, .. } => {
                let purge = if *purge { "; its volumes are removed as well" } else { "" };
                format!("{name} is gone from Git at {site}{purge}")
            }
            Body::DeploymentConverged { deployment, revision } => {
                self.converged(deployment, revision)
            }
            Body::Quarantined { deployment, bad, failure, .. } => {
                self.quarantined(deployment, bad, failure)
            }
            Body::QuarantineReleased { deployment, .. } => self.quarantine_released(deployment),
            Body::RolledBack { deployment, bad, good } => {
                self.rolled_back(deployment, bad, good.as_ref())
            }
            Body::RolloutStopped { deployment, revision, node, failure } => {
                self.rollout_stopped(deployment, revision, node, failure)
            }
            Body::RolloutStep { deployment, step, of, standing, .. } => {
                self.rollout_step(deployment, (*step, *of), *standing)
            }
            Body::RolloutPaused { deployment, note } => {
                let (by, name) = (by(actor), self.name(deployment));
                format!("{by} paused the rollout of {name} at {site}{}", noted(note))
            }
            Body::RolloutUnpaused { deployment } | Body::RolloutResumed { deployment } => {
                format!("the rollout of {} goes on at {site}", self.name(deployment))
            }
            Body::RolloutReleased { deployment } => {
                format!("{} may be tried again at {site}", self.name(deployment))
            }
            Body::RevisionRejected { deployment, node, failure, .. } => {
                let (name, node) = (self.name(deployment), self.node(node));
                format!("{node} rolled back from {name}: {}", because(failure))
            }
            Body::FileRefused { path, findings } => {
                format!("site {site} rejects {path}{}", first(findings))
            }
            Body::FileAccepted { path } => format!("{path} is usable again at {site}, or gone"),
            Body::RemovalHeld { commit, deployments } => {
                self.removal_held(commit, deployments.len())
            }
            Body::RemovalReleased => format!("the removals at {site} may happen"),
            Body::HistoryHeld { commit } => {
                format!("site {site} holds the rewritten history at {}", commit.short())
            }
            Body::HistoryAccepted { commit } => {
                format!("site {site} takes the rewritten history at {}", commit.short())
            }
            Body::Held { scope, note } => {
                format!("{} holds {}{}", by(actor), self.scope(scope), noted(note))
            }
            Body::HoldReleased { scope } => {
                format!("{} released the hold of {}", by(actor), self.scope(scope))
            }
            Body::NodeJoined { node } => format!("node {} joined", self.node(node)),
            Body::NodeCapable { node, .. } => {
                format!("node {} reported its capabilities", self.node(node))
            }
            Body::NodePresence { node, presence } => {
                format!("node {} {}", self.node(node), presence_text(*presence))
            }
            Body::NodeCordoned { node, cordoned } => self.node_cordoned(node, *cordoned),
            Body::NodeRetired { node } => format!("node {} is gone for good", self.node(node)),
            Body::VersionRaised { node, version } => self.version_raised(node, *version),
            Body::CommandDone { command, refusal, .. } => {
                self.command_done(command, refusal.as_deref())
            }
        }
    }
}

/// Deployments, and what nodes report of them.
impl<N: Names> SentenceWriter<'_, N> {
    fn stale_report(&self, deployment: &DeploymentId, node: &NodeName, state: &str) -> String {
        let (name, node) = (self.name(deployment), self.node(node));
        format!("{node} reported {state} of an older attempt of {name}")
    }

    fn running_health(
        &self,
        deployment: &DeploymentId,
        node: &NodeName,
        revision: &Revision,
        failure: Option<&Failure>,
    ) -> String {
        let (what, node) = (self.revision_text(deployment, revision), self.node(node));
        format!("{what}, which {node} runs meanwhile, is {}", health_text(failure))
    }

    fn converged(&self, deployment: &DeploymentId, revision: &Revision) -> String {
        let what = self.revision_text(deployment, revision);
        format!("{what} is installed on every reachable node of {}", self.event.site)
    }

    fn transition(&self, it: &Transition) -> String {
        let Transition { deployment, from, to, .. } = it;
        let target = it.revisions.target.as_ref();
        let what = target.map(|it| self.revision_text(deployment, it));
        let (what, node) = (what.unwrap_or_else(|| self.name(deployment)), self.node(&it.node));
        let from = from.map(|it| format!("{it} → ")).unwrap_or_default();
        let failure = it.failure.as_ref().map(|it| format!(": {}", because(it)));
        let purged = it.removal.is_some_and(|it| it.purged);
        let volumes = if purged { ", with its volumes" } else { "" };
        format!("{what} on {node}: {from}{to}{volumes}{}", failure.unwrap_or_default())
    }
}

/// Rollouts and quarantines.
impl<N: Names> SentenceWriter<'_, N> {
    fn quarantined(&self, deployment: &DeploymentId, bad: &Revision, failure: &Failure) -> String {
        let (site, what) = (&self.event.site, self.revision_text(deployment, bad));
        format!("site {site} quarantined {what}: {}", because(failure))
    }

    fn quarantine_released(&self, deployment: &DeploymentId) -> String {
        let (site, name) = (&self.event.site, self.name(deployment));
        format!("a quarantined revision of {name} may run at {site} again")
    }

    fn rolled_back(&self, id: &DeploymentId, bad: &Revision, good: Option<&Revision>) -> String {
        let (site, what) = (&self.event.site, self.revision_text(id, bad));
        let to = match good {
            Some(good) => self.names.version(id, good).map(|it| format!(" to {it}")),
            None => Some("; nothing ran before".to_owned()),
        };
        format!("site {site} rolled back from {what}{}", to.unwrap_or_default())
    }

    fn rollout_stopped(
        &self,
        deployment: &DeploymentId,
        revision: &Revision,
        node: &NodeName,
        failure: &Failure,
    ) -> String {
        let (what, node) = (self.revision_text(deployment, revision), self.node(node));
        format!("the rollout of {what} stopped at {node}: {}", because(failure))
    }

    fn rollout_step(
        &self,
        deployment: &DeploymentId,
        (step, of): (u32, u32),
        standing: StepStanding,
    ) -> String {
        let (site, name) = (&self.event.site, self.name(deployment));
        format!("step {step} of {of} of {name} {} at {site}", standing_text(standing))
    }
}

/// Nodes, the site and its commands.
impl<N: Names> SentenceWriter<'_, N> {
    fn removal_held(&self, commit: &GitRevision, count: usize) -> String {
        let removes = format!("which removes {count} deployments at once");
        format!("site {} holds commit {}, {removes}", self.event.site, commit.short())
    }

    fn node_cordoned(&self, node: &NodeName, cordoned: bool) -> String {
        let gets = if cordoned { "nothing new" } else { "deployments again" };
        format!("node {} gets {gets}", self.node(node))
    }

    fn version_raised(&self, node: &NodeName, version: u64) -> String {
        let node = self.node(node);
        format!("node {node} had seen later manifests; its version goes on at {version}")
    }

    fn command_done(&self, command: &str, refusal: Option<&str>) -> String {
        let site = &self.event.site;
        match refusal {
            None => format!("site {site} carried out: {command}"),
            Some(reason) => format!("site {site} refused {command}: {reason}"),
        }
    }
}

/// Names in sentences.
impl<N: Names> SentenceWriter<'_, N> {
    /// `plant-a/press-2`
    fn node(&self, node: &NodeName) -> String {
        format!("{}/{node}", self.event.site)
    }

    fn name(&self, id: &DeploymentId) -> String {
        self.names.deployment(id)
    }

    /// `hello 1.2.0`, or just `hello`.
    fn revision_text(&self, id: &DeploymentId, revision: &Revision) -> String {
        let version = self.names.version(id, revision).map(|it| format!(" {it}"));
        self.name(id) + &version.unwrap_or_default()
    }

    fn scope(&self, scope: &HoldScope) -> String {
        let site = &self.event.site;
        let own = scope.deployment().map(|it| format!("{} at {site}", self.name(it)));
        own.unwrap_or_else(|| format!("site {site}"))
    }
}

fn by(actor: &Actor) -> String {
    match actor {
        Actor::Operator(name) => name.clone(),
        Actor::Local | Actor::Node(_) => actor.to_string(),
    }
}

fn standing_text(standing: StepStanding) -> &'static str {
    match standing {
        StepStanding::Open => "is open",
        StepStanding::Soaking { .. } => "soaks",
        StepStanding::AwaitsPromotion => "waits to be promoted",
    }
}

fn health_text(failure: Option<&Failure>) -> String {
    failure.map_or_else(|| "healthy again".to_owned(), |it| format!("unhealthy: {}", because(it)))
}

fn presence_text(presence: Presence) -> &'static str {
    match presence {
        Presence::Joined => "has joined",
        Presence::Online => "is online",
        Presence::Suspect => "is late",
        Presence::Offline => "is offline",
    }
}

/// The code with the message of the failure, or the meaning of the code.
fn because(failure: &Failure) -> String {
    match failure.message.lines().next() {
        None | Some("") => failure.code.meaning().to_owned(),
        Some(line) => format!("{} ({line})", failure.code),
    }
}

fn noted(note: &str) -> String {
    if note.is_empty() { String::new() } else { format!(": {note}") }
}

/// `:3:5: spec: is missing (and 2 more)`
fn first(findings: &[Finding]) -> String {
    let Some(it) = findings.first() else { return String::new() };
    let more = match findings.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    format!(":{}:{}: {}{more}", it.line, it.column, it.subject_and_problem())
}
