//! How events are stored: a site's as it told them, CO's own with their actor.

use std::collections::BTreeMap;

use colony_core::event::{Body, Event};
use colony_core::fleet::SiteView;
use colony_core::id::{DeploymentId, DeploymentName, SiteName};
use colony_core::time::Wall;
use colony_margo::Digest;
use colony_store::NewEvent;
use serde_json::Value;

/// The names of the deployments a batch speaks of.
///
/// A deployment may come and go within the batch, so the view is asked before
/// and after it was folded, and the batch itself in between.
#[derive(Debug, Default)]
pub(crate) struct Told(BTreeMap<DeploymentId, DeploymentName>);

impl Told {
    pub(crate) fn note(&mut self, view: Option<&SiteView>, batch: &[Event]) {
        for event in batch {
            let Some(id) = deployment_of(&event.body) else { continue };
            if let Some(name) = name_of(view, &event.body, id) {
                self.0.insert(id.clone(), name.clone());
            }
        }
    }
}

fn name_of<'a>(
    view: Option<&'a SiteView>,
    body: &'a Body,
    id: &DeploymentId,
) -> Option<&'a DeploymentName> {
    if let Body::DeploymentAccepted { name, .. } | Body::DeploymentWithdrawn { name, .. } = body {
        return Some(name);
    }
    let view = view?;
    let known = view.deployments.get(id).map(|it| &it.name);
    known.or_else(|| view.archives.get(id)?.name.as_ref())
}

/// A site's events as they are stored.
pub(crate) fn batch_events(fresh: &[Event], hashes: &[Digest], told: &Told) -> Vec<NewEvent> {
    fresh.iter().zip(hashes).map(|(event, hash)| batch_event(event, *hash, told)).collect()
}

fn batch_event(event: &Event, hash: Digest, told: &Told) -> NewEvent {
    let body = serde_json::to_value(event).unwrap_or_default();
    let kind = body.pointer("/body/kind").and_then(Value::as_str).unwrap_or("unknown");
    NewEvent {
        site: Some(event.site.clone()),
        incarnation: Some(event.incarnation),
        seq: Some(event.seq),
        at: event.at,
        kind: kind.to_owned(),
        deployment: deployment_of(&event.body)
            .and_then(|it| told.0.get(it))
            .map(ToString::to_string),
        node: node_of(&body),
        actor: event.actor.to_string(),
        hash: Some(hash),
        body,
    }
}

fn node_of(event: &Value) -> Option<String> {
    event.pointer("/body/node").and_then(Value::as_str).map(str::to_owned)
}

fn deployment_of(body: &Body) -> Option<&DeploymentId> {
    match body {
        Body::StateTransition(it) => Some(&it.deployment),
        Body::StaleReport { deployment, .. }
        | Body::RunningHealth { deployment, .. }
        | Body::DeploymentAccepted { deployment, .. }
        | Body::DeploymentWithdrawn { deployment, .. }
        | Body::DeploymentConverged { deployment, .. }
        | Body::Quarantined { deployment, .. }
        | Body::QuarantineReleased { deployment, .. }
        | Body::RolloutReleased { deployment }
        | Body::RolloutResumed { deployment }
        | Body::RolloutStep { deployment, .. }
        | Body::RolloutPaused { deployment, .. }
        | Body::RolloutUnpaused { deployment }
        | Body::RolledBack { deployment, .. }
        | Body::RolloutStopped { deployment, .. }
        | Body::RevisionRejected { deployment, .. } => Some(deployment),
        Body::Ready
        | Body::FileRefused { .. }
        | Body::FileAccepted { .. }
        | Body::RemovalHeld { .. }
        | Body::RemovalReleased
        | Body::HistoryHeld { .. }
        | Body::HistoryAccepted { .. }
        | Body::Held { .. }
        | Body::HoldReleased { .. }
        | Body::NodeJoined { .. }
        | Body::NodeCapable { .. }
        | Body::NodePresence { .. }
        | Body::NodeCordoned { .. }
        | Body::NodeRetired { .. }
        | Body::VersionRaised { .. }
        | Body::CommandDone { .. } => None,
    }
}

/// Something CO did itself, or somebody did through it.
pub(crate) fn own_event(
    kind: &str,
    actor: &str,
    at: Wall,
    (site, deployment): (Option<&SiteName>, Option<&DeploymentName>),
    body: Value,
) -> NewEvent {
    NewEvent {
        site: site.cloned(),
        incarnation: None,
        seq: None,
        at,
        kind: kind.to_owned(),
        deployment: deployment.map(ToString::to_string),
        node: body.get("node").and_then(Value::as_str).map(str::to_owned),
        actor: actor.to_owned(),
        hash: None,
        body,
    }
}
