//! An answer whose body is read piece by piece, for what is too large for
//! memory.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::{Link, LinkError};
use crate::link::connection::Connection;

/// What a server answered, with a body yet to be read.
pub struct Streamed {
    pub status: StatusCode,
    pub headers: HeaderMap,
    body: Incoming,
    link: Link,
    /// Gone once the body was read to its end.
    connection: Option<Connection>,
    idle: Duration,
}

impl fmt::Debug for Streamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Streamed");
        shown.field("status", &self.status).finish_non_exhaustive()
    }
}

impl Streamed {
    pub(super) fn new(
        link: Link,
        connection: Connection,
        response: Response<Incoming>,
        idle: Duration,
    ) -> Streamed {
        let (head, body) = response.into_parts();
        let connection = Some(connection);
        Streamed { status: head.status, headers: head.headers, body, link, connection, idle }
    }

    /// The next piece; none at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, LinkError> {
        let Streamed { link, body, idle, .. } = self;
        let read = async {
            while let Some(frame) = body.frame().await {
                if let Ok(data) = frame.map_err(|it| link.broke(it))?.into_data() {
                    return Ok(Some(data));
                }
            }
            Ok(None)
        };
        let piece = link.within(*idle, read).await?;
        if piece.is_none()
            && let Some(connection) = self.connection.take()
        {
            self.link.shared.keep(connection);
        }
        Ok(piece)
    }
}
