//! The site's own log: pages, and a stream that resumes.
//!
//! A position is the number of an event within its incarnation, which is the
//! epoch. Events of earlier incarnations are available from central only.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::convert::Infallible;

use axum::Json;
use axum::http::{HeaderMap, header};
use axum::response::sse::{Event as Message, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};

use colony_api::path::{EVENT_NAME, EVENT_STREAM, LAST_EVENT_ID, RESET_NAME};
use colony_api::request::EventQuery;
use colony_api::view::{EventPage, EventView};
use colony_core::event::{Event, Incarnation, Names, Seq};
use colony_core::id::BlobId;
use colony_core::margo::{Problem, ProblemType};
use colony_core::site::Site;
use colony_wfm::Refusal;

use super::ApiState;
use super::names::SiteNames;
use crate::problem;

const PAGE: u32 = 100;
const LARGEST: u32 = 1_000;

/// The id of an event: `<epoch>-<position>`.
pub(super) fn id(incarnation: Incarnation, seq: Seq) -> String {
    format!("{}-{seq}", epoch(incarnation))
}

fn epoch(incarnation: Incarnation) -> String {
    format!("lo{incarnation}")
}

/// A page, or a stream with `Accept: text/event-stream`.
pub(super) async fn read(
    desk: &ApiState,
    query: EventQuery,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    let accept = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok()).unwrap_or_default();
    if accept.contains(EVENT_STREAM) {
        let last = headers.get(LAST_EVENT_ID).and_then(|it| it.to_str().ok());
        let follow = Follow::new(desk.clone(), query, last)?;
        return Ok(Sse::new(follow.stream()).keep_alive(KeepAlive::default()).into_response());
    }
    Ok(Json(page(desk, &query).await?).into_response())
}

async fn page(desk: &ApiState, query: &EventQuery) -> Result<EventPage, Problem> {
    let head = *desk.brain.notifiers().head().borrow();
    let (events, next) = match query.last {
        Some(last) => {
            (last_events(desk, query, head, last.clamp(1, LARGEST)).await?, head.saturating_sub(1))
        }
        None => {
            let after = u64::try_from(query.after.unwrap_or(0)).unwrap_or(0);
            let after = after.min(head);
            let limit = query.limit.unwrap_or(PAGE).clamp(1, LARGEST);
            let read = desk.read(after + 1, limit).await?;
            let next = read.last().map_or(after, |it| it.seq);
            (desk.views(read, query).await?, next)
        }
    };
    Ok(EventPage {
        events,
        epoch: epoch(desk.site_node.incarnation),
        next: i64::try_from(next).unwrap_or(i64::MAX),
        more: next + 1 < head,
    })
}

/// The last events that match, oldest first: read backwards, a page at a time.
async fn last_events(
    desk: &ApiState,
    query: &EventQuery,
    head: Seq,
    limit: u32,
) -> Result<Vec<EventView>, Problem> {
    let (mut found, mut to) = (VecDeque::new(), head);
    while to > 1 && found.len() < limit as usize {
        let from = to.saturating_sub(u64::from(LARGEST)).max(1);
        let mut read = desk.read(from, LARGEST).await?;
        read.retain(|it| it.seq < to);
        let matching = desk.views(read, query).await?.into_iter().rev();
        for view in matching.take(limit as usize - found.len()) {
            found.push_front(view);
        }
        to = from;
    }
    Ok(found.into())
}

impl ApiState {
    async fn read(&self, from: Seq, limit: u32) -> Result<Vec<Event>, Problem> {
        let read = self.store.events_from(self.site_node.incarnation, from, limit).await;
        read.map_err(|it| problem::internal("read the events", &it))
    }

    /// The events that match the query.
    async fn views(
        &self,
        events: Vec<Event>,
        query: &EventQuery,
    ) -> Result<Vec<EventView>, Problem> {
        self.find_names(&events).await?;
        let (views, missing) = self.render(&events, query).await?;
        if missing.is_empty() {
            return Ok(views);
        }
        self.versions.read(missing).await;
        Ok(self.render(&events, query).await?.0)
    }

    /// Renders the events as text; also returns the files whose version is
    /// missing.
    async fn render(
        &self,
        events: &[Event],
        query: &EventQuery,
    ) -> Result<(Vec<EventView>, BTreeSet<BlobId>), Problem> {
        let all = |site: &Site, _| {
            let (former, versions) = (&*self.names, &*self.versions);
            let (mut views, mut missing) = (Vec::new(), BTreeSet::new());
            for event in events {
                let names = SiteNames { site, former, versions, missing: RefCell::default() };
                let view = view(&names, event);
                if matches(&view, query) {
                    views.push(view);
                    missing.append(&mut names.missing.into_inner());
                }
            }
            (views, missing)
        };
        self.brain.read(all).await.map_err(problem::of_brain)
    }

    /// Reads the log for the names of removed deployments, if the events refer
    /// to any.
    async fn find_names(&self, events: &[Event]) -> Result<(), Problem> {
        let known = |site: &Site, _| self.names.suffice(site, events);
        if self.brain.read(known).await.map_err(problem::of_brain)? {
            return Ok(());
        }
        loop {
            let read = self.read(self.names.next(), LARGEST).await?;
            self.names.read(&read);
            if read.len() < LARGEST as usize {
                return Ok(());
            }
        }
    }
}

fn view(names: &SiteNames<'_>, event: &Event) -> EventView {
    // The whole event, as the central orchestrator shows it.
    let body = serde_json::to_value(event).unwrap_or_default();
    EventView {
        id: id(event.incarnation, event.seq),
        position: i64::try_from(event.seq).unwrap_or(i64::MAX),
        at: event.at,
        kind: body["body"]["kind"].as_str().unwrap_or_default().to_owned(),
        site: Some(event.site.to_string()),
        deployment: event.body.deployment().map(|it| names.deployment(it)),
        node: event.body.node().map(ToString::to_string),
        actor: event.actor.to_string(),
        sentence: event.sentence(names),
        body,
    }
}

fn matches(event: &EventView, query: &EventQuery) -> bool {
    let fits = |wanted: &Option<String>, found: Option<&str>| {
        wanted.as_deref().is_none_or(|it| found == Some(it))
    };
    fits(&query.site, event.site.as_deref())
        && fits(&query.deployment, event.deployment.as_deref())
        && fits(&query.node, event.node.as_deref())
        && fits(&query.kind, Some(&event.kind))
}

/// A reader of the stream.
struct Follow {
    desk: ApiState,
    query: EventQuery,
    next: Seq,
    ready: VecDeque<EventView>,
    reset: bool,
}

impl Follow {
    /// `Last-Event-ID` takes precedence over `after`; without both the stream
    /// begins at the head.
    fn new(desk: ApiState, query: EventQuery, last: Option<&str>) -> Result<Follow, Problem> {
        let head = *desk.brain.notifiers().head().borrow();
        let after = query.after.and_then(|it| Seq::try_from(it).ok());
        let (next, reset) = match last {
            Some(last) => resume(last, &epoch(desk.site_node.incarnation), head)?,
            None => (after.map_or(head, |it| it.saturating_add(1)), false),
        };
        Ok(Follow { desk, query, next, ready: VecDeque::new(), reset })
    }

    fn stream(self) -> impl Stream<Item = Result<Message, Infallible>> {
        stream::unfold(self, |mut it| async move { Some((Ok(it.message().await?), it)) })
    }

    /// The next message; `None` ends the stream.
    async fn message(&mut self) -> Option<Message> {
        if std::mem::take(&mut self.reset) {
            let id = id(self.desk.site_node.incarnation, self.next.saturating_sub(1));
            return Some(Message::default().event(RESET_NAME).id(id).data("{}"));
        }
        loop {
            if let Some(event) = self.ready.pop_front() {
                let message = Message::default().event(EVENT_NAME).id(&event.id);
                return message.json_data(&event).ok();
            }
            self.wait().await?;
            let events = self.desk.read(self.next, PAGE).await.ok()?;
            self.next = events.last().map_or(self.next, |it| it.seq + 1);
            self.ready.extend(self.desk.views(events, &self.query).await.ok()?);
        }
    }

    async fn wait(&self) -> Option<()> {
        let mut head = self.desk.brain.notifiers().head();
        tokio::select! {
            () = self.desk.stop.cancelled() => None,
            moved = head.wait_for(|it| *it > self.next) => moved.ok().map(|_| ()),
        }
    }
}

/// The position at which a reader that saw `last` continues. True if `last` is
/// not a position of this log, so that the reader has to start over.
fn resume(last: &str, epoch: &str, head: Seq) -> Result<(Seq, bool), Problem> {
    let parts = last.rsplit_once('-').and_then(|(at, seq)| Some((at, seq.parse::<Seq>().ok()?)));
    let Some((at, seq)) = parts else {
        let said = format!("`{last}` is not the id of an event");
        return Err(Problem::new(ProblemType::InvalidRequest).detail(said));
    };
    let known = at == epoch && seq < head;
    Ok(if known { (seq + 1, false) } else { (head, true) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reader_goes_on_where_it_was_unless_the_log_is_another() {
        check("lo2-6", "from 7");
        check("lo2-8", "from 9");
        check("lo2-9", "reset");
        check("lo2-18446744073709551615", "reset");
        check("lo1-6", "reset");
        check("lo2-x", "`lo2-x` is not the id of an event");
        check("7", "`7` is not the id of an event");
    }

    /// The next event has the number 9.
    #[track_caller]
    fn check(last: &str, expected: &str) {
        let found = match resume(last, "lo2", 9) {
            Ok((_, true)) => "reset".to_owned(),
            Ok((next, false)) => format!("from {next}"),
            Err(problem) => problem.detail.unwrap_or_default(),
        };
        assert_eq!(found, expected, "{last}");
    }
}
