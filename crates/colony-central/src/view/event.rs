//! An event, with a sentence for people.

use std::cell::RefCell;
use std::collections::BTreeSet;

use colony_api::render::Versions;
use colony_api::view::EventView;
use colony_core::attempt::Revision;
use colony_core::event::{CentralContext, CentralEvent, Event, Names};
use colony_core::id::{BlobId, DeploymentId};
use colony_store::StoredEvent;
use serde::Deserialize;

use super::event_id;
use crate::app::App;
use crate::auth::{Operator, Redaction};

pub(crate) async fn events(
    app: &App,
    operator: &Operator,
    stored: Vec<StoredEvent>,
) -> Vec<EventView> {
    let versions = versions(app, &stored).await;
    let redaction = Redaction::new(&app.brain.snapshot(), operator);
    let shown = |it| {
        let mut view = event(app, &versions, it);
        view.sentence = redaction.text(&view.sentence);
        redaction.json(&mut view.body);
        view
    };
    stored.into_iter().map(shown).collect()
}

fn event(app: &App, versions: &Versions, stored: StoredEvent) -> EventView {
    let sentence = sentence(&stored, versions);
    EventView {
        id: event_id(app, stored.position),
        position: stored.position,
        at: stored.at,
        kind: stored.kind,
        site: stored.site.map(|it| it.to_string()),
        deployment: stored.deployment,
        node: stored.node,
        actor: stored.actor,
        sentence,
        body: stored.body,
    }
}

/// The versions that the sentences of these events need; none if Git cannot be
/// read.
async fn versions(app: &App, stored: &[StoredEvent]) -> Versions {
    let mut blobs = BTreeSet::new();
    for it in stored {
        let named = NamedBlobs::default();
        if let Some(event) = of_site(it) {
            event.sentence(&named);
        }
        blobs.extend(named.0.into_inner());
    }
    let found = app.repo.facts(blobs).await;
    found.inspect_err(|it| tracing::debug!("events name no versions: {it}")).unwrap_or_default()
}

/// Collects the blobs whose version a sentence needs.
#[derive(Default)]
struct NamedBlobs(RefCell<BTreeSet<BlobId>>);

impl Names for NamedBlobs {
    fn deployment(&self, _: &DeploymentId) -> String {
        String::new()
    }

    fn version(&self, _: &DeploymentId, revision: &Revision) -> Option<String> {
        self.0.borrow_mut().insert(revision.blob.clone());
        None
    }
}

/// What happened, in a few words; an event of a site has the same sentence
/// there.
fn sentence(stored: &StoredEvent, versions: &Versions) -> String {
    if stored.seq.is_none() {
        return own(stored);
    }
    // Another release may know kinds of events that this one does not.
    let event = of_site(stored);
    event
        .map_or_else(|| readable_kind(&stored.kind), |it| it.sentence(&Called { stored, versions }))
}

fn of_site(stored: &StoredEvent) -> Option<Event> {
    stored.seq.and_then(|_| Event::deserialize(&stored.body).ok())
}

/// Names as they were when the event was stored.
struct Called<'a> {
    stored: &'a StoredEvent,
    versions: &'a Versions,
}

impl Names for Called<'_> {
    fn deployment(&self, id: &DeploymentId) -> String {
        self.stored.deployment.clone().unwrap_or_else(|| id.to_string())
    }

    fn version(&self, _: &DeploymentId, revision: &Revision) -> Option<String> {
        self.versions.get(&revision.blob).map(|it| it.version.clone())
    }
}

/// The sentence of an event that central recorded itself.
fn own(stored: &StoredEvent) -> String {
    let context = CentralContext {
        actor: &stored.actor,
        site: stored.site.as_ref(),
        deployment: stored.deployment.as_deref(),
    };
    let event = CentralEvent::read(&stored.kind, &stored.body);
    event.map_or_else(|| readable_kind(&stored.kind), |it| it.sentence(context))
}

fn readable_kind(kind: &str) -> String {
    kind.replace('_', " ")
}
