//! An event, with a sentence for people.

use colony_api::view::EventView;
use colony_core::attempt::Revision;
use colony_core::event::{CentralContext, CentralEvent, Event, Names};
use colony_core::id::DeploymentId;
use colony_store::StoredEvent;
use serde::Deserialize;

use super::event_id;
use crate::app::App;

pub(crate) fn event(app: &App, stored: StoredEvent) -> EventView {
    let sentence = sentence(&stored);
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

/// What happened, in a few words: a site's event as the site would tell it.
fn sentence(stored: &StoredEvent) -> String {
    if stored.seq.is_none() {
        return own(stored);
    }
    let event = Event::deserialize(&stored.body);
    // Another release may know kinds of events that this one does not.
    event.map_or_else(|_| spoken(&stored.kind), |it| it.sentence(&Called(stored)))
}

/// Names as they were when the event came; the files are not at hand.
struct Called<'a>(&'a StoredEvent);

impl Names for Called<'_> {
    fn deployment(&self, id: &DeploymentId) -> String {
        self.0.deployment.clone().unwrap_or_else(|| id.to_string())
    }

    fn version(&self, _: &DeploymentId, _: &Revision) -> Option<String> {
        None
    }
}

/// What central did itself, or an operator did through it.
fn own(stored: &StoredEvent) -> String {
    let context = CentralContext {
        actor: &stored.actor,
        site: stored.site.as_ref(),
        deployment: stored.deployment.as_deref(),
    };
    let event = CentralEvent::read(&stored.kind, &stored.body);
    event.map_or_else(|| spoken(&stored.kind), |it| it.sentence(context))
}

fn spoken(kind: &str) -> String {
    kind.replace('_', " ")
}
