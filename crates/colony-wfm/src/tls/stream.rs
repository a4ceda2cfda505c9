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
