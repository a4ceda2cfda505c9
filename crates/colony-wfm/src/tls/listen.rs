//! The TLS listener, and the peer of a connection.
//!
//! Handshakes run in their own tasks with a time limit, so that a slow one does
//! not delay the others; they end with the listener. The number of connections
//! is limited, below the number of files the process may open; further clients
//! wait.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use colony_margo::Digest;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tracing::{info, warn};

use super::stream::{Connection, Patience};
use super::verify::plain;
use crate::identity::{SpiffeId, svid};
use crate::server::limit;

const HANDSHAKE: Duration = Duration::from_secs(10);
const PATIENCE: Patience =
    Patience { first: Duration::from_secs(30), idle: Duration::from_secs(600) };
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Listens for TLS connections.
#[derive(Debug)]
pub struct TlsListener {
    ready: mpsc::Receiver<(Connection, SocketAddr)>,
    addr: SocketAddr,
    config: watch::Sender<Arc<ServerConfig>>,
    accepting: AbortHandle,
}

/// Replaces the configuration of a listener, for later connections.
#[derive(Debug, Clone)]
pub struct Reloader {
    config: watch::Sender<Arc<ServerConfig>>,
}

/// The peer of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// From the certificate, if the client sent one.
    pub id: Option<SpiffeId>,
    /// The digest of the public key in it, as `requested_key` gives it.
    pub key: Option<Digest>,
    /// The end of the certificate's validity, in unix seconds.
    pub not_after: Option<i64>,
    pub addr: SocketAddr,
    /// When the connection was made.
    pub since: Instant,
}

impl TlsListener {
    /// Listens at `addr`; port 0 takes a free one.
    pub async fn bind(addr: SocketAddr, config: Arc<ServerConfig>) -> io::Result<TlsListener> {
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        let (config, current) = watch::channel(config);
        let (done, ready) = mpsc::channel(64);
        let accepting = tokio::spawn(accept_all(listener, current, done)).abort_handle();
        Ok(TlsListener { ready, addr, config, accepting })
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.addr
    }

    /// A handle to replace the configuration, as after a renewal.
    pub fn reloader(&self) -> Reloader {
        Reloader { config: self.config.clone() }
    }
}

impl Drop for TlsListener {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Reloader {
    /// Uses `config` for all later connections.
    pub fn set(&self, config: Arc<ServerConfig>) {
        self.config.send_replace(config);
    }
}

impl axum::serve::Listener for TlsListener {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        match self.ready.recv().await {
            Some(accepted) => accepted,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.addr)
    }
}

impl Peer {
    /// A peer whose connection begins at this moment, with an unknown key.
    pub fn new(id: Option<SpiffeId>, addr: SocketAddr) -> Peer {
        Peer { id, key: None, not_after: None, addr, since: Instant::now() }
    }

    /// The peer of a connection.
    pub fn of(connection: &Connection, addr: &SocketAddr) -> Peer {
        let certificate = connection.certificate();
        let id = certificate.and_then(|it| svid::id(it).ok());
        let key = certificate.and_then(|it| svid::key(it).ok());
        let not_after = certificate.and_then(|it| svid::validity(it).ok()).map(|it| it.1);
        Peer { id, key, not_after, addr: *addr, since: connection.since() }
    }

    /// Whether the certificate, valid when the connection began, has expired
    /// since.
    pub fn has_expired(&self, unix: i64) -> bool {
        self.not_after.is_some_and(|it| it < unix)
    }
}

async fn accept_all(
    listener: TcpListener,
    config: watch::Receiver<Arc<ServerConfig>>,
    done: mpsc::Sender<(Connection, SocketAddr)>,
) {
    let places = Arc::new(Semaphore::new(limit::connections()));
    let mut handshakes = JoinSet::new();
    while let Ok(place) = places.clone().acquire_owned().await {
        while handshakes.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, addr)) => {
                let acceptor = TlsAcceptor::from(config.borrow().clone());
                handshakes.spawn(handshake(acceptor, stream, addr, place, done.clone()));
            }
            Err(error) => {
                warn!("could not accept a connection: {error}");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn handshake(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    addr: SocketAddr,
    place: OwnedSemaphorePermit,
    done: mpsc::Sender<(Connection, SocketAddr)>,
) {
    // Answers are small; without this they would wait for an acknowledgement.
    let _ = stream.set_nodelay(true);
    match timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => {
            // A closed channel means that the listener was dropped.
            let _ = done.send((Connection::new(stream, PATIENCE, place), addr)).await;
        }
        Ok(Err(error)) => info!(peer.addr = %addr, "handshake failed: {}", plain(error)),
        Err(_) => info!(peer.addr = %addr, "handshake took too long"),
    }
}
