//! The engine's events about containers.

use std::collections::HashMap;

use bollard::models::EventMessage;
use bollard::query_parameters::EventsOptions;
use futures_util::StreamExt;

use crate::containers::api::{Answer, Event};
use crate::docker::client::DockerClient;

impl DockerClient {
    pub(super) async fn listen(
        &self,
        labels: &[String],
        on_event: &(dyn Fn(Event) + Sync),
    ) -> Answer<()> {
        let filters = HashMap::from([
            ("type".to_owned(), vec!["container".to_owned()]),
            ("label".to_owned(), labels.to_vec()),
        ]);
        let options = EventsOptions { filters: Some(filters), ..EventsOptions::default() };
        let mut events = Box::pin(self.docker.events(Some(options)));
        while let Some(event) = events.next().await {
            on_event(read(event?));
        }
        Ok(())
    }
}

/// Engines put the labels of the container among the attributes.
fn read(message: EventMessage) -> Event {
    let actor = message.actor.unwrap_or_default();
    let mut labels = actor.attributes.unwrap_or_default();
    Event {
        id: actor.id.unwrap_or_default(),
        action: message.action.unwrap_or_default(),
        signal: labels.remove("signal"),
        labels: labels.into_iter().collect(),
    }
}
