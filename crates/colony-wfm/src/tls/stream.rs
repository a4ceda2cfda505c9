//! An accepted connection that is closed when it is idle for too long.
//!
//! A machine that lost its power does not close its connections, and any client
//! may connect and stay silent; neither may hold a connection forever. The head
//! of the first request must arrive within a short time, however slowly its
//! bytes come.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep};
use tokio_rustls::server::TlsStream;

/// A TLS connection that was accepted.
#[derive(Debug)]
pub struct Connection {
    stream: TlsStream<TcpStream>,
    patience: Patience,
    /// When it is closed.
    end: Pin<Box<Sleep>>,
    head: Head,
    since: Instant,
    /// A permit of the listener, released when the connection ends.
    _place: OwnedSemaphorePermit,
}

/// Time limits of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// Until the head of the first request is complete.
    pub first: Duration,
    /// After that, while no bytes are transferred.
    pub idle: Duration,
}

impl Connection {
    pub(super) fn new(
        stream: TlsStream<TcpStream>,
        patience: Patience,
        place: OwnedSemaphorePermit,
    ) -> Connection {
        let (end, head) = (Box::pin(sleep(patience.first)), Head::default());
        Connection { stream, patience, end, head, since: Instant::now(), _place: place }
    }

    /// The certificate of the client.
    pub(super) fn certificate(&self) -> Option<&[u8]> {
        let chain = self.stream.get_ref().1.peer_certificates()?;
        chain.first().map(|it| it.as_ref())
    }

    pub(super) fn since(&self) -> Instant {
        self.since
    }

    /// Passes a result on and restarts the idle time; closes the connection
    /// when the time is over.
    fn moved<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            if self.head.whole {
                let until = Instant::now() + self.patience.idle;
                self.end.as_mut().reset(until);
            }
            return polled;
        }
        ready!(self.end.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.head.read(&buf.filled()[before..]);
        self.moved(cx, polled)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.moved(cx, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.moved(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// How much of the first request's head was read: it ends with an empty line.
#[derive(Debug, Default)]
struct Head {
    begun: bool,
    /// The current line is empty so far.
    fresh: bool,
    whole: bool,
}

impl Head {
    fn read(&mut self, bytes: &[u8]) {
        if self.whole {
            return;
        }
        for byte in bytes {
            match byte {
                b'\r' => {}
                // Empty lines before the first one are ignored.
                b'\n' if !self.begun => {}
                b'\n' if self.fresh => self.whole = true,
                b'\n' => self.fresh = true,
                _ => (self.begun, self.fresh) = (true, false),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::pki_types::{ServerName, UnixTime};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::sync::Semaphore;
    use tokio_rustls::{TlsAcceptor, TlsConnector};

    use super::*;
    use crate::{Authority, ClientAuth, Credentials, PrivateKey, SpiffeId, Trust, tls};

    const SHORT: Duration = Duration::from_millis(100);
    const LONG: Duration = Duration::from_secs(600);

    #[tokio::test]
    async fn silent_connection_ends_and_frees_its_place() {
        check("", Patience { first: SHORT, idle: LONG }).await;
        check("GET / HTTP/1.1\r\nHost: a\r\n", Patience { first: SHORT, idle: LONG }).await;
        check("GET / HTTP/1.1\r\n\r\n", Patience { first: LONG, idle: SHORT }).await;
    }

    #[test]
    fn a_head_ends_with_an_empty_line() {
        check_head("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true);
        check_head("GET / HTTP/1.1\n\n", true);
        check_head("GET / HTTP/1.1\r\nHost: a\r\n", false);
        check_head("\r\n\r\n\r\n", false);
        check_head("\r\nGET / HTTP/1.1\r\n\r\n", true);
    }

    #[track_caller]
    fn check_head(text: &str, whole: bool) {
        let mut head = Head::default();
        // As slowly as it can come.
        text.as_bytes().chunks(1).for_each(|it| head.read(it));
        assert_eq!(head.whole, whole, "{text:?}");
    }

    /// The client sends `said` and nothing more.
    async fn check(said: &str, patience: Patience) {
        let places = Arc::new(Semaphore::new(1));
        let place = places.clone().acquire_owned().await.unwrap();
        let (mut client, server) = pair().await;
        let mut server = Connection::new(server, patience, place);
        client.write_all(said.as_bytes()).await.unwrap();
        let mut read = vec![0; said.len()];
        server.read_exact(&mut read).await.unwrap();
        let error = server.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{said:?}");
        assert_eq!(places.available_permits(), 0);
        drop(server);
        assert_eq!(places.available_permits(), 1);
    }

    async fn pair() -> (tokio_rustls::client::TlsStream<TcpStream>, TlsStream<TcpStream>) {
        let own = credentials();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let server = tls::server_config(&own, ClientAuth::Optional).unwrap();
        let accept = async {
            let (stream, _) = listener.accept().await.unwrap();
            TlsAcceptor::from(server).accept(stream).await.unwrap()
        };
        let trust = Trust::RootsAnyHost { pem: &own.roots_pem };
        let client = TlsConnector::from(tls::client_config(None, trust).unwrap());
        let connect = async {
            let stream = TcpStream::connect(addr).await.unwrap();
            client.connect(ServerName::from(addr.ip()), stream).await.unwrap()
        };
        tokio::join!(connect, accept)
    }

    fn credentials() -> Credentials {
        let now = UnixTime::now().as_secs().try_into().unwrap();
        let authority = Authority::create("d", now).unwrap();
        let key = PrivateKey::generate().unwrap();
        let (csr, id) = (key.csr().unwrap(), SpiffeId::wfm("d", "a").unwrap());
        let chain_pem = authority.sign(&csr, &id, &[], now, Duration::from_secs(60)).unwrap();
        let roots_pem = authority.root_pem().to_owned();
        Credentials { chain_pem, key_pem: key.to_pem(), roots_pem }
    }
}
