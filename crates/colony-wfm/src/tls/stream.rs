//! An accepted connection that ends when nothing moves on it.
//!
//! A machine that lost its power says no goodbye, and a stranger may connect
//! and stay silent; neither may hold a connection for ever.

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
    patience: Duration,
    idle: Pin<Box<Sleep>>,
    since: Instant,
    /// One of the listener's places, free again when the connection ends.
    _place: OwnedSemaphorePermit,
}

impl Connection {
    pub(super) fn new(
        stream: TlsStream<TcpStream>,
        patience: Duration,
        place: OwnedSemaphorePermit,
    ) -> Connection {
        let idle = Box::pin(sleep(patience));
        Connection { stream, patience, idle, since: Instant::now(), _place: place }
    }

    /// The certificate that the client showed.
    pub(super) fn certificate(&self) -> Option<&[u8]> {
        let chain = self.stream.get_ref().1.peer_certificates()?;
        chain.first().map(|it| it.as_ref())
    }

    pub(super) fn since(&self) -> Instant {
        self.since
    }

    /// Passes on what happened, or ends the connection when nothing did.
    fn moved<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            let until = Instant::now() + self.patience;
            self.idle.as_mut().reset(until);
            return polled;
        }
        ready!(self.idle.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
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

    #[tokio::test]
    async fn silent_connection_ends_and_frees_its_place() {
        let places = Arc::new(Semaphore::new(1));
        let place = places.clone().acquire_owned().await.unwrap();
        let (mut client, server) = pair().await;
        let mut server = Connection::new(server, Duration::from_millis(100), place);
        client.write_all(b"x").await.unwrap();
        assert_eq!(server.read_u8().await.unwrap(), b'x');
        let error = server.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
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
