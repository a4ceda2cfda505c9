//! Events as sentences, with whom they concern.

use colony_core::attempt::{Failure, Revision};
use colony_core::event::{Body, HoldScope, Presence, StepStanding, Transition};
use colony_core::id::{DeploymentId, NodeName};
use colony_core::site::Site;

use super::outcome;

pub(super) struct Told {
    pub deployment: Option<String>,
    pub node: Option<String>,
    pub sentence: String,
}

pub(super) fn of(site: &Site, body: &Body) -> Told {
    let (deployment, node) = concerns(body);
    let named = deployment.map(|it| name(site, it));
    let sentence = sentence(site, body);
    Told { deployment: named, node: node.map(ToString::to_string), sentence }
}

/// What left the site is known by its id only.
fn name(site: &Site, id: &DeploymentId) -> String {
    site.deployment(id).map_or_else(|| id.to_string(), |it| it.name.to_string())
}

fn version(site: &Site, id: &DeploymentId, revision: &Revision) -> String {
    let deployment = site.deployment(id);
    let version = deployment.and_then(|it| outcome::version_of(it, revision));
    version.unwrap_or_else(|| revision.blob.as_str()[..7].to_owned())
}

fn concerns(body: &Body) -> (Option<&DeploymentId>, Option<&NodeName>) {
    match body {
        Body::StateTransition(it) => (Some(&it.deployment), Some(&it.node)),
        Body::StaleReport { deployment, node, .. }
        | Body::RunningHealth { deployment, node, .. }
        | Body::RolloutStopped { deployment, node, .. }
        | Body::RevisionRejected { deployment, node, .. } => (Some(deployment), Some(node)),
        Body::Quarantined { deployment, node, .. } => (Some(deployment), node.as_ref()),
        Body::DeploymentAccepted { deployment, .. }
        | Body::DeploymentWithdrawn { deployment, .. }
        | Body::DeploymentConverged { deployment, .. }
        | Body::QuarantineReleased { deployment, .. }
        | Body::RolloutReleased { deployment }
        | Body::RolloutResumed { deployment }
        | Body::RolloutStep { deployment, .. }
        | Body::RolloutPaused { deployment, .. }
        | Body::RolloutUnpaused { deployment }
        | Body::RolledBack { deployment, .. } => (Some(deployment), None),
        Body::Held { scope, .. } | Body::HoldReleased { scope } => (scoped(scope), None),
        Body::NodeJoined { node }
        | Body::NodeCapable { node, .. }
        | Body::NodePresence { node, .. }
        | Body::NodeCordoned { node, .. }
        | Body::NodeRetired { node }
        | Body::VersionRaised { node, .. } => (None, Some(node)),
        Body::Ready
        | Body::FileRefused { .. }
        | Body::FileAccepted { .. }
        | Body::RemovalHeld { .. }
        | Body::RemovalReleased
        | Body::HistoryHeld { .. }
        | Body::HistoryAccepted { .. }
        | Body::CommandDone { .. } => (None, None),
    }
}

fn scoped(scope: &HoldScope) -> Option<&DeploymentId> {
    match scope {
        HoldScope::Site => None,
        HoldScope::Deployment(id) => Some(id),
    }
}

fn sentence(site: &Site, body: &Body) -> String {
    let name = |it: &DeploymentId| name(site, it);
    match body {
        Body::Ready => "the site is ready".to_owned(),
        Body::StateTransition(it) => transition(site, it),
        Body::StaleReport { deployment, node, state, .. } => {
            format!("{node} reported {state} of an older attempt of {}", name(deployment))
        }
        Body::RunningHealth { deployment, node, revision, failure } => {
            let version = version(site, deployment, revision);
            let is = failure.as_ref().map(|it| format!("not well: {}", because(it)));
            let is = is.unwrap_or_else(|| "well again".to_owned());
            format!("{} {version}, which {node} runs meanwhile, is {is}", name(deployment))
        }
        Body::DeploymentAccepted { deployment, name, revision } => {
            format!("Git wants {name} {}", version(site, deployment, revision))
        }
        Body::DeploymentWithdrawn { name, .. } => format!("Git no longer wants {name}"),
        Body::DeploymentConverged { deployment, revision } => {
            let version = version(site, deployment, revision);
            format!("{} {version} is on every node that can be reached", name(deployment))
        }
        Body::Quarantined { deployment, bad, failure, .. } => {
            let bad = version(site, deployment, bad);
            format!("{} {bad} is quarantined: {}", name(deployment), because(failure))
        }
        Body::QuarantineReleased { deployment, .. } => {
            format!("the quarantine of {} is lifted", name(deployment))
        }
        Body::RolloutReleased { deployment } => format!("{} may try again", name(deployment)),
        Body::RolloutStep { deployment, step, of, standing, .. } => {
            let stands = match standing {
                StepStanding::Open => "is open",
                StepStanding::Soaking { .. } => "soaks",
                StepStanding::AwaitsPromotion => "waits to be promoted",
            };
            format!("step {step} of {of} of {} {stands}", name(deployment))
        }
        Body::RolloutPaused { deployment, note } => {
            format!("the rollout of {} is paused: {note}", name(deployment))
        }
        Body::RolloutUnpaused { deployment } => {
            format!("the rollout of {} goes on", name(deployment))
        }
        Body::RolloutResumed { deployment } => format!("{} goes on", name(deployment)),
        Body::RolledBack { deployment, bad, .. } => {
            format!("{} left {}", name(deployment), version(site, deployment, bad))
        }
        Body::RolloutStopped { deployment, node, failure, .. } => {
            format!("{} stopped at {node}: {}", name(deployment), because(failure))
        }
        Body::RevisionRejected { deployment, node, failure, .. } => {
            format!("{node} went back from {}: {}", name(deployment), because(failure))
        }
        Body::FileRefused { path, findings } => {
            let first = findings.first().map(ToString::to_string).unwrap_or_default();
            format!("{path} cannot be used: {first}")
        }
        Body::FileAccepted { path } => format!("{path} is usable again, or gone"),
        Body::RemovalHeld { commit, deployments } => {
            let count = deployments.len();
            format!("commit {} removes {count} deployments at once and is held", commit.short())
        }
        Body::RemovalReleased => "the removal is released".to_owned(),
        Body::HistoryHeld { commit } => {
            format!("Git's history was rewritten at {} and is held", commit.short())
        }
        Body::HistoryAccepted { commit } => format!("the history at {} is taken", commit.short()),
        Body::Held { scope, note } => held(&place(site, scope), note),
        Body::HoldReleased { scope } => format!("{} is released", place(site, scope)),
        Body::NodeJoined { node } => format!("{node} joined"),
        Body::NodeCapable { node, .. } => format!("{node} said what it can do"),
        Body::NodePresence { node, presence } => format!("{node} {}", said(*presence)),
        Body::NodeCordoned { node, cordoned: true } => format!("{node} gets nothing new"),
        Body::NodeCordoned { node, cordoned: false } => format!("{node} gets deployments again"),
        Body::NodeRetired { node } => format!("{node} is retired"),
        Body::VersionRaised { node, version } => {
            format!("{node} had seen later manifests; its version goes on at {version}")
        }
        Body::CommandDone { command, refusal: None, .. } => format!("{command} was executed"),
        Body::CommandDone { command, refusal: Some(reason), .. } => {
            format!("{command} was refused: {reason}")
        }
    }
}

fn transition(site: &Site, it: &Transition) -> String {
    let target = it.revisions.target.as_ref();
    let version = target.map(|revision| format!(" {}", version(site, &it.deployment, revision)));
    let failure = it.failure.as_ref().map(|it| format!(": {}", because(it)));
    format!(
        "{} on {} is {}{}{}",
        name(site, &it.deployment),
        it.node,
        it.to,
        version.unwrap_or_default(),
        failure.unwrap_or_default()
    )
}

fn because(failure: &Failure) -> String {
    match failure.message.as_str() {
        "" => failure.code.meaning().to_owned(),
        message => format!("{} ({message})", failure.code.as_str()),
    }
}

fn place(site: &Site, scope: &HoldScope) -> String {
    scoped(scope).map_or_else(|| site.name().to_string(), |it| name(site, it))
}

fn held(place: &str, note: &str) -> String {
    match note {
        "" => format!("{place} is held"),
        note => format!("{place} is held: {note}"),
    }
}

fn said(presence: Presence) -> &'static str {
    match presence {
        Presence::Joined => "has joined",
        Presence::Online => "is online",
        Presence::Suspect => "is late",
        Presence::Offline => "is offline",
    }
}
