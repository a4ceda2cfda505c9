//! One connection of a link, driven by a task that ends with it.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::LinkError;
use super::url::Base;
use crate::tls::verify::plain;

/// The largest head of an answer, and what a connection buffers at most.
const MAX_BUFFER: usize = 64 * 1024;

/// An open connection.
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: AbortHandle,
}

/// Why a request got no answer on a connection.
pub(super) enum Failed {
    /// The connection was closed before.
    NotSent,
    /// The connection ended before the answer began.
    Died(hyper::Error),
    /// The bytes received are not an HTTP answer.
    Refused(hyper::Error),
}

impl Connection {
    pub(super) async fn open(
        base: &Base,
        connector: &TlsConnector,
    ) -> Result<Connection, LinkError> {
        let stream = connect(base, connector).await?;
        let mut builder = Builder::new();
        builder.max_buf_size(MAX_BUFFER);
        let handshake = builder.handshake(TokioIo::new(stream)).await;
        let (sender, connection) =
            handshake.map_err(|source| LinkError::Http { to: base.authority.clone(), source })?;
        // The request in progress reports how the connection ended.
        let driver = tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(Connection { sender, driver: driver.abort_handle() })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Failed> {
        self.sender.ready().await.map_err(|_| Failed::NotSent)?;
        self.sender.send_request(request).await.map_err(|error| {
            if error.is_parse() || error.is_user() {
                Failed::Refused(error)
            } else {
                Failed::Died(error)
            }
        })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

async fn connect(base: &Base, connector: &TlsConnector) -> Result<TlsStream<TcpStream>, LinkError> {
    let to = || base.authority.clone();
    let stream = TcpStream::connect((base.host.as_str(), base.port)).await;
    let stream = stream.map_err(|source| LinkError::Connect { to: to(), source })?;
    // Requests are small; without this they would wait for an acknowledgement.
    let _ = stream.set_nodelay(true);
    let stream = connector.connect(base.name.clone(), stream).await;
    stream.map_err(|source| LinkError::Tls { to: to(), source: plain(source) })
}
