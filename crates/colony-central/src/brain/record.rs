//! How events are stored: those of a site as it sent them, those of central
//! with their actor.

use std::collections::BTreeMap;

use colony_core::event::{Body, CentralEvent, Event};
use colony_core::fleet::SiteView;
use colony_core::id::{DeploymentId, DeploymentName, SiteName};
use colony_core::margo::Digest;
use colony_core::time::Timestamp;
use colony_store::NewEvent;
use serde_json::Value;

/// The names of the deployments in a batch.
///
/// A deployment may come and go within the batch, so its name is looked up in
/// the view before and after the batch was folded, and in the batch itself.
#[derive(Debug, Default)]
pub(crate) struct BatchNames(BTreeMap<DeploymentId, DeploymentName>);

impl BatchNames {
    pub(crate) fn note(&mut self, view: Option<&SiteView>, batch: &[Event]) {
        for event in batch {
            let Some(id) = event.body.deployment() else { continue };
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
pub(crate) fn batch_events(
    fresh: &[Event],
    hashes: &[Digest],
    names: &BatchNames,
) -> Vec<NewEvent> {
    fresh.iter().zip(hashes).map(|(event, hash)| batch_event(event, *hash, names)).collect()
}

fn batch_event(event: &Event, hash: Digest, names: &BatchNames) -> NewEvent {
    let body = serde_json::to_value(event).unwrap_or_default();
    let kind = body.pointer("/body/kind").and_then(Value::as_str).unwrap_or("unknown");
    let name = event.body.deployment().and_then(|it| names.0.get(it));
    NewEvent {
        site: Some(event.site.clone()),
        incarnation: Some(event.incarnation),
        seq: Some(event.seq),
        at: event.at,
        kind: kind.to_owned(),
        deployment: name.map(ToString::to_string),
        node: event.body.node().map(ToString::to_string),
        actor: event.actor.to_string(),
        hash: Some(hash),
        body,
    }
}

/// An event of something that central did itself, or an operator did through
/// it.
pub(crate) fn own_event(
    event: &CentralEvent,
    actor: &str,
    at: Timestamp,
    (site, deployment): (Option<&SiteName>, Option<&DeploymentName>),
) -> NewEvent {
    let (kind, body) = event.parts();
    NewEvent {
        site: site.cloned(),
        incarnation: None,
        seq: None,
        at,
        kind,
        deployment: deployment.map(ToString::to_string),
        node: event.node().map(ToString::to_string),
        actor: actor.to_owned(),
        hash: None,
        body,
    }
}
