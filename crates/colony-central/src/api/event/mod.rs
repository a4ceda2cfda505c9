//! The event log: a page of it, or a stream.

mod stream;

use std::collections::BTreeSet;

use axum::Json;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use colony_api::path::{EVENT_STREAM, LAST_EVENT_ID};
use colony_api::render::{self, Context, Page};
use colony_api::request::EventQuery;
use colony_api::server::{ReadApi, Scope};
use colony_api::view::EventPage;
use colony_core::fleet::Fleet;
use colony_core::id::DeploymentName;
use colony_store::{EventFilter, StoredEvent};

use crate::api::event::stream::Start;
use crate::app::App;
use crate::auth::Operator;
use crate::fault::Fault;
use crate::view;

const LIMIT: u32 = 100;
const MOST: u32 = 1_000;
/// The most reads of the store for one page.
const READS: u32 = 100;

/// A page, or a stream with `Accept: text/event-stream`.
pub(crate) async fn read(
    app: &App,
    operator: &Operator,
    query: EventQuery,
    headers: &HeaderMap,
) -> Result<Response, Fault> {
    let wanted = SelectedEvents::read(app, operator, &query).await?;
    let accept = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok()).unwrap_or_default();
    if accept.contains(EVENT_STREAM) {
        let last = headers.get(LAST_EVENT_ID).and_then(|it| it.to_str().ok());
        let start = Start::read(app, last, query.after)?;
        return Ok(stream::stream(app.clone(), wanted, start));
    }
    Ok(Json(page(app, &wanted, &query).await?).into_response())
}

/// The events that a request selects.
#[derive(Debug)]
pub(super) struct SelectedEvents {
    pub filter: EventFilter,
    /// With a filter by application: the names of its deployments.
    deployments: Option<BTreeSet<String>>,
    pub operator: Operator,
}

impl SelectedEvents {
    async fn read(
        app: &App,
        operator: &Operator,
        query: &EventQuery,
    ) -> Result<SelectedEvents, Fault> {
        // A token for a single site only reads the events of that site.
        let only = operator.only_site().map(str::to_owned);
        let filter = EventFilter {
            site: query.site.clone().or(only),
            deployment: query.deployment.clone(),
            node: query.node.clone(),
            kind: query.kind.clone(),
        };
        let deployments = match &query.app {
            Some(application) => Some(of_application(app, operator, application).await?),
            None => None,
        };
        Ok(SelectedEvents { filter, deployments, operator: operator.clone() })
    }

    /// The store applies every filter; none is left for `takes`.
    fn takes_all(&self) -> bool {
        self.operator.sees_all() && self.deployments.is_none()
    }

    /// The filters that the store cannot apply. Events without a site concern
    /// the whole fleet: only tokens for all sites see them.
    pub(super) fn takes(&self, event: &StoredEvent) -> bool {
        let whole = self.operator.sees_all();
        let site = event.site.as_ref().map_or(whole, |it| self.operator.sees(it));
        let known = self.deployments.as_ref();
        site && known.is_none_or(|it| event.deployment.as_ref().is_some_and(|d| it.contains(d)))
    }
}

async fn of_application(
    app: &App,
    operator: &Operator,
    application: &str,
) -> Result<BTreeSet<String>, Fault> {
    let render = |fleet: &Fleet, it: &Context<'_>| render::deployments(fleet, None, Page::ALL, it);
    let views = app.look(operator, Scope::Fleet, render).await?;
    let own = views.into_iter().filter(|it| it.application == application);
    let mut names: BTreeSet<String> = own.map(|it| it.name.to_string()).collect();
    // By default a deployment has the name of its application.
    if application.parse::<DeploymentName>().is_ok() {
        names.insert(application.to_owned());
    }
    Ok(names)
}

async fn page(app: &App, wanted: &SelectedEvents, query: &EventQuery) -> Result<EventPage, Fault> {
    let store = app.brain.store();
    let limit = query.last.or(query.limit).unwrap_or(LIMIT).clamp(1, MOST);
    // The head is read first: events after it belong to the next page.
    let head = *app.brain.head().borrow();
    let PageOfEvents { events, next, more } = match query.last {
        Some(_) => {
            let mut events = store.events_last(&wanted.filter, limit).await?;
            let last = events.last().map_or(0, |it| it.position);
            events.retain(|it| wanted.takes(it));
            PageOfEvents { events, next: head.max(last), more: false }
        }
        None => events_behind(app, wanted, query.after.unwrap_or(0), limit, head).await?,
    };
    let events = view::events(app, &wanted.operator, events).await;
    Ok(EventPage { events, epoch: store.epoch().to_owned(), next, more })
}

/// The events of a page, and where the next one begins.
struct PageOfEvents {
    events: Vec<StoredEvent>,
    next: i64,
    more: bool,
}

/// Reads on until the page is full: a short page would reveal that there are
/// events its reader may not see.
async fn events_behind(
    app: &App,
    wanted: &SelectedEvents,
    mut after: i64,
    limit: u32,
    head: i64,
) -> Result<PageOfEvents, Fault> {
    let mut events = Vec::new();
    let chunk = if wanted.takes_all() { limit + 1 } else { MOST };
    for _ in 0..READS {
        let stored = app.brain.store().events(&wanted.filter, after, chunk).await?;
        let is_end = stored.len() < chunk as usize;
        for event in stored {
            after = event.position;
            if wanted.takes(&event) {
                events.push(event);
            }
            if events.len() > limit as usize {
                // There is one more event: the next page begins with it.
                events.pop();
                let next = events.last().map_or(after, |it| it.position);
                return Ok(PageOfEvents { events, next, more: true });
            }
        }
        if is_end {
            return Ok(PageOfEvents { events, next: head.max(after), more: false });
        }
    }
    Ok(PageOfEvents { events, next: after, more: true })
}
