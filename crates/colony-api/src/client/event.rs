//! The event log: pages, and a stream that survives lost connections.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use reqwest::Method;

use super::sse::{self, Message, Reader};
use super::{Client, Error};
use crate::path;
use crate::request::EventQuery;
use crate::view::{EventPage, EventView};

/// A stream without data for so long is dead; servers send comments.
const SILENCE: Duration = Duration::from_secs(60);
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// An item of the stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    Event(Box<EventView>),
    /// The store is another one: everything has to be read again.
    Reset,
    /// The connection broke; the next call opens another one. No event is
    /// missed.
    Lost(String),
    /// The connection is back.
    Resumed,
}

impl Client {
    pub async fn event_list(&self, query: &EventQuery) -> Result<EventPage, Error> {
        self.get(&["events"], query).await
    }

    /// Follows the log: after the event `after`, or from the moment the server
    /// accepts the request.
    pub async fn event_follow(
        &self,
        query: EventQuery,
        after: Option<String>,
    ) -> Result<EventStream, Error> {
        let mut stream = EventStream {
            client: self.clone(),
            query,
            last_id: after,
            reader: Reader::default(),
            body: None,
            wait: FIRST_WAIT,
        };
        stream.connect().await?;
        Ok(stream)
    }
}

/// The events of a server, in order. Dropping it ends the connection.
pub struct EventStream {
    client: Client,
    query: EventQuery,
    last_id: Option<String>,
    reader: Reader,
    body: Option<BoxStream<'static, reqwest::Result<Bytes>>>,
    wait: Duration,
}

impl EventStream {
    /// The next event. An error is permanent: retrying does not help.
    pub async fn next(&mut self) -> Result<Signal, Error> {
        loop {
            if let Some(signal) = self.pop()? {
                return Ok(signal);
            }
            let Some(body) = self.body.as_mut() else { return self.reconnect().await };
            match tokio::time::timeout(SILENCE, body.next()).await {
                Ok(Some(Ok(bytes))) => self.push(&bytes)?,
                Ok(Some(Err(error))) => return Ok(self.lost(error.without_url().to_string())),
                Ok(None) => return Ok(self.lost("the server closed the stream".to_owned())),
                Err(_) => return Ok(self.lost("the server fell silent".to_owned())),
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.wait = FIRST_WAIT;
        self.reader.push(bytes).map_err(|sse::TooLarge| Error::EventTooLarge {
            server: self.client.name.clone(),
            limit: sse::MESSAGE_LIMIT,
        })
    }

    fn pop(&mut self) -> Result<Option<Signal>, Error> {
        let Some(Message { event, id, data }) = self.reader.pop() else { return Ok(None) };
        if event.as_deref() == Some(path::RESET_NAME) {
            self.last_id = id;
            return Ok(Some(Signal::Reset));
        }
        let server = || self.client.name.clone();
        let event = serde_json::from_str::<EventView>(&data)
            .map_err(|source| Error::Answer { server: server(), source })?;
        self.last_id = id.or_else(|| Some(event.id.clone()));
        Ok(Some(Signal::Event(Box::new(event))))
    }

    fn lost(&mut self, why: String) -> Signal {
        self.body = None;
        self.reader = Reader::default();
        Signal::Lost(why)
    }

    async fn reconnect(&mut self) -> Result<Signal, Error> {
        loop {
            tokio::time::sleep(self.wait).await;
            self.wait = (self.wait * 2).min(LONGEST_WAIT);
            match self.connect().await {
                Ok(()) => return Ok(Signal::Resumed),
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    async fn connect(&mut self) -> Result<(), Error> {
        let mut request = self.client.request(Method::GET, &["events"]).query(&self.query);
        request = request.header("accept", path::EVENT_STREAM);
        if let Some(id) = &self.last_id {
            request = request.header(path::LAST_EVENT_ID, id);
        }
        let response = self.client.send(request).await?;
        self.body = Some(response.bytes_stream().boxed());
        Ok(())
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut it = f.debug_struct("EventStream");
        it.field("server", &self.client.name).field("last_id", &self.last_id);
        it.finish_non_exhaustive()
    }
}

/// Errors that pass, such as a restart of the server, are waited for.
fn is_passing(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. } => true,
        Error::Problem(problem) => problem.may_retry(),
        Error::Url(_)
        | Error::Setup { .. }
        | Error::NoCertificate
        | Error::Answer { .. }
        | Error::TooLarge { .. }
        | Error::EventTooLarge { .. } => false,
    }
}
