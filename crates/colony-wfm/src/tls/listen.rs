//! todo
use crate::identity::SpiffeId;
use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// A listener for `axum::serve`.
#[derive(Debug)]
pub struct TlsListener {}

/// Replaces the configuration of a listener.
#[derive(Debug, Clone)]
pub struct Reloader {}

/// Who is at the other end.
#[derive(Debug, Clone)]
pub struct Peer {
    pub id: Option<SpiffeId>,
    pub addr: SocketAddr,
    /// When the connection was made.
    pub since: tokio::time::Instant,
}

impl TlsListener {
    pub async fn bind(
        _addr: SocketAddr,
        _config: Arc<rustls::ServerConfig>,
    ) -> io::Result<TlsListener> {
        todo!()
    }
    pub fn local_addr(&self) -> SocketAddr {
        todo!()
    }
    pub fn reloader(&self) -> Reloader {
        todo!()
    }
}

impl Reloader {
    pub fn set(&self, _config: Arc<rustls::ServerConfig>) {
        todo!()
    }
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;
    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        todo!()
    }
    fn local_addr(&self) -> io::Result<SocketAddr> {
        todo!()
    }
}

impl Connected<IncomingStream<'_, TlsListener>> for Peer {
    fn connect_info(_stream: IncomingStream<'_, TlsListener>) -> Peer {
        todo!()
    }
}
