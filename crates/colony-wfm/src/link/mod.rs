//! A small HTTP/1.1 client over TLS for one server, with connections that are
//! kept alive.
//!
//! It runs in the smallest node: at most two idle connections, none that was
//! not used lately, no resolver thread for an address, no session cache. A
//! request on a kept connection that dies before the answer began is sent once
//! more on a fresh one; servers close idle connections at any time, and every
//! request of colony can be repeated. A request on a fresh connection is sent
//! once. Redirects are not followed and proxies not used.

mod connection;
pub(crate) mod url;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use parking_lot::Mutex;
use rustls::ClientConfig;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use connection::{Connection, Failed};
use url::Base;

const MAX_IDLE: usize = 2;
/// A connection that was idle for this long is closed with the next answer on
/// another one: it costs both ends its buffers. A poll reuses its own at once.
const STALE: Duration = Duration::from_secs(60);
const USER_AGENT: &str = concat!("colony/", env!("CARGO_PKG_VERSION"));

/// Connections to one server. Clones share them.
#[derive(Clone)]
pub struct Link {
    shared: Arc<Shared>,
}

struct Shared {
    base: Base,
    connector: TlsConnector,
    /// With the time of their last answer; the most recently used one is last.
    idle: Mutex<Vec<(Instant, Connection)>>,
}

/// The answer of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("`{0}` is not a URL such as `https://host:port`")]
    Url(String),
    #[error("could not build a request for `{path}`")]
    Request {
        path: String,
        #[source]
        source: http::Error,
    },
    #[error("could not connect to {to}")]
    Connect {
        to: String,
        #[source]
        source: std::io::Error,
    },
    #[error("could not set up a TLS connection to {to}")]
    Tls {
        to: String,
        #[source]
        source: std::io::Error,
    },
    #[error("connection to {to} failed")]
    Http {
        to: String,
        #[source]
        source: hyper::Error,
    },
    #[error("{to} did not answer within {} s", after.as_secs_f32())]
    Timeout { to: String, after: Duration },
    #[error("answer from {to} has more than {limit} bytes")]
    TooLarge { to: String, limit: usize },
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("base", &self.shared.base.url).finish_non_exhaustive()
    }
}

impl Link {
    /// A link to the server at `base_url`; nothing is connected yet.
    pub fn new(base_url: &str, tls: Arc<ClientConfig>) -> Result<Link, LinkError> {
        let base = Base::parse(base_url).ok_or_else(|| LinkError::Url(base_url.to_owned()))?;
        let (connector, idle) = (TlsConnector::from(tls), Mutex::new(Vec::new()));
        Ok(Link { shared: Arc::new(Shared { base, connector, idle }) })
    }

    /// The URL that paths are added to.
    pub fn base_url(&self) -> &str {
        &self.shared.base.url
    }

    /// Sends a request and reads the whole answer, of `limit` bytes at most,
    /// all within `timeout`.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
        limit: usize,
        timeout: Duration,
    ) -> Result<Answer, LinkError> {
        let request = self.request(method, path, headers, body)?;
        self.within(timeout, self.exchange(request, limit)).await
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, LinkError> {
        let base = &self.shared.base;
        let mut builder = Request::builder()
            .method(method)
            .uri(format!("{}{path}", base.prefix))
            .header(header::HOST, &base.authority)
            .header(header::USER_AGENT, USER_AGENT);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let request = builder.body(Full::new(body));
        request.map_err(|source| LinkError::Request { path: path.to_owned(), source })
    }

    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        limit: usize,
    ) -> Result<Answer, LinkError> {
        let (connection, response) = self.begin(request).await?;
        let (head, body) = response.into_parts();
        let body = self.collect(body, limit).await?;
        self.shared.keep(connection);
        Ok(Answer { status: head.status, headers: head.headers, body })
    }

    /// Sends a request and waits for the head of the answer.
    async fn begin(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<(Connection, Response<Incoming>), LinkError> {
        while let Some(mut connection) = self.shared.take() {
            match connection.send(request.clone()).await {
                Ok(response) => return Ok((connection, response)),
                Err(Failed::NotSent) => {}
                Err(Failed::Died(_)) => break,
                Err(Failed::Refused(source)) => return Err(self.broke(source)),
            }
        }
        let mut connection = Connection::open(&self.shared.base, &self.shared.connector).await?;
        match connection.send(request).await {
            Ok(response) => Ok((connection, response)),
            Err(Failed::NotSent) => Err(self.closed_at_once()),
            Err(Failed::Died(source) | Failed::Refused(source)) => Err(self.broke(source)),
        }
    }

    async fn collect(&self, mut body: Incoming, limit: usize) -> Result<Bytes, LinkError> {
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|it| self.broke(it))?.into_data() else { continue };
            if data.len() > limit.saturating_sub(whole.len()) {
                return Err(LinkError::TooLarge { to: self.to(), limit });
            }
            whole.extend_from_slice(&data);
        }
        Ok(whole.freeze())
    }

    async fn within<T>(
        &self,
        after: Duration,
        work: impl Future<Output = Result<T, LinkError>>,
    ) -> Result<T, LinkError> {
        match timeout(after, work).await {
            Ok(result) => result,
            Err(_) => {
                // The network path to the server may be gone, which affects all
                // connections.
                self.shared.forget();
                Err(LinkError::Timeout { to: self.to(), after })
            }
        }
    }

    fn to(&self) -> String {
        self.shared.base.authority.clone()
    }

    fn broke(&self, source: hyper::Error) -> LinkError {
        LinkError::Http { to: self.to(), source }
    }

    fn closed_at_once(&self) -> LinkError {
        let source = std::io::ErrorKind::ConnectionReset.into();
        LinkError::Connect { to: self.to(), source }
    }
}

impl Shared {
    fn take(&self) -> Option<Connection> {
        self.idle.lock().pop().map(|it| it.1)
    }

    fn keep(&self, connection: Connection) {
        let (mut idle, now) = (self.idle.lock(), Instant::now());
        idle.retain(|(used, it)| !it.is_closed() && now.duration_since(*used) < STALE);
        if idle.len() < MAX_IDLE && !connection.is_closed() {
            idle.push((now, connection));
        }
    }

    fn forget(&self) {
        self.idle.lock().clear();
    }
}
