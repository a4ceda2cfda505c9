//! Server-sent events: the event log from the reader's position on.
//!
//! The id of a message is `<epoch>-<position>`. A reader that resumes with an
//! id of another epoch gets the event `reset` and has to read everything again.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use colony_api::path::{EVENT_NAME, RESET_NAME};
use colony_store::StoredEvent;
use futures_util::{Stream, stream};
use tokio::sync::watch;

use crate::api::event::SelectedEvents;
use crate::app::App;
use crate::auth::Operator;
use crate::fault::Fault;
use crate::view;

/// How many events are read at once.
const CHUNK: u32 = 256;
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Where a stream begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// After this position.
    After(i64),
    /// The reader's position is not valid in this epoch: it starts over from
    /// the head.
    Reset(i64),
}

impl Start {
    /// `Last-Event-ID` overrides `after`; without both the stream begins at the
    /// head.
    pub(super) fn read(app: &App, last: Option<&str>, after: Option<i64>) -> Result<Start, Fault> {
        let head = *app.brain.head().borrow();
        let Some(last) = last else { return Ok(Start::After(after.unwrap_or(head))) };
        let parts = last.rsplit_once('-').and_then(|(epoch, it)| Some((epoch, it.parse().ok()?)));
        let Some((epoch, position)) = parts else {
            return Err(Fault::invalid(format!("`{last}` is not the id of an event")));
        };
        let known = epoch == app.brain.store().epoch() && position <= head;
        Ok(if known { Start::After(position) } else { Start::Reset(head) })
    }
}

/// Follows the log until the reader disconnects, its token ends or this role
/// stops.
pub(super) fn stream(app: App, wanted: SelectedEvents, start: Start) -> Response {
    let events = follow(app, wanted, start);
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

struct Reader {
    app: App,
    wanted: SelectedEvents,
    head: watch::Receiver<i64>,
    position: i64,
    reset: bool,
    ready: std::vec::IntoIter<StoredEvent>,
}

fn follow(
    app: App,
    wanted: SelectedEvents,
    start: Start,
) -> impl Stream<Item = Result<Event, Infallible>> {
    let head = app.brain.head();
    let (position, reset) = match start {
        Start::After(position) => (position, false),
        Start::Reset(position) => (position, true),
    };
    let reader = Reader { app, wanted, head, position, reset, ready: Vec::new().into_iter() };
    stream::unfold(reader, |mut reader| async {
        let event = reader.next().await?;
        Some((Ok(event), reader))
    })
}

impl Reader {
    /// The next message; `None` ends the stream.
    async fn next(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.reset) {
            let id = view::event_id(&self.app, self.position);
            return Some(Event::default().event(RESET_NAME).id(id).data("{}"));
        }
        loop {
            for stored in self.ready.by_ref() {
                self.position = stored.position;
                if self.wanted.takes(&stored) {
                    return message(&self.app, &self.wanted.operator, stored).await;
                }
            }
            self.fill().await?;
        }
    }

    /// Reads the events after the position, or waits for the head to move.
    async fn fill(&mut self) -> Option<()> {
        let head = *self.head.borrow_and_update();
        if self.position < head {
            // Removing a token is an event: it moves the head, so the streams
            // of the token end here.
            if !self.wanted.operator.is_still_known(&self.app).await {
                return None;
            }
            let store = self.app.brain.store();
            let read = store.events(&self.wanted.filter, self.position, CHUNK).await;
            // The stream ends on an error; the reader reconnects with its
            // position.
            let found = read.inspect_err(|it| tracing::warn!("a stream ends: {it}")).ok()?;
            if found.is_empty() {
                self.position = head;
            }
            self.ready = found.into_iter();
            return Some(());
        }
        tokio::select! {
            moved = self.head.changed() => moved.ok(),
            () = self.wanted.operator.expired() => None,
            () = self.app.stop.cancelled() => None,
        }
    }
}

async fn message(app: &App, operator: &Operator, stored: StoredEvent) -> Option<Event> {
    let event = view::events(app, operator, vec![stored]).await.pop()?;
    let data = serde_json::to_string(&event).unwrap_or_default();
    Some(Event::default().event(EVENT_NAME).id(event.id).data(data))
}
