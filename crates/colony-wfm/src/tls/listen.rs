//! The TLS listener, and who is at the other end of a connection.
//!
//! Handshakes run in tasks of their own with a time limit, so that a slow one
//! holds up nobody; they end with the listener. The number of connections is
//! limited, below the number of files the process may open; beyond it clients wait.

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
use crate::identity::SpiffeId;
use crate::{limit, svid};

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

/// Replaces the configuration of a listener, for connections to come.
#[derive(Debug, Clone)]
pub struct Reloader {
    config: watch::Sender<Arc<ServerConfig>>,
}

/// Who is at the other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// From the certificate, if one was shown.
    pub id: Option<SpiffeId>,
    /// The digest of the public key in it, as `requested_key` gives it.
    pub key: Option<Digest>,
    /// When the certificate ends, in unix seconds.
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

    /// Where it listens.
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
    /// Uses `config` for all connections to come.
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
    /// Somebody whose connection begins at this moment, and whose key is not known.
    pub fn new(id: Option<SpiffeId>, addr: SocketAddr) -> Peer {
        Peer { id, key: None, not_after: None, addr, since: Instant::now() }
    }

    /// Who made the connection.
    pub fn of(connection: &Connection, addr: &SocketAddr) -> Peer {
        let certificate = connection.certificate();
        let id = certificate.and_then(|it| svid::id(it).ok());
        let key = certificate.and_then(|it| svid::key(it).ok());
        let not_after = certificate.and_then(|it| svid::validity(it).ok()).map(|it| it.1);
        Peer { id, key, not_after, addr: *addr, since: connection.since() }
    }

    /// Whether the certificate was good when the connection began and is not now.
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
    // Answers are small; held back they would wait for an acknowledgement.
    let _ = stream.set_nodelay(true);
    match timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => {
            // A closed channel means that nobody serves any more.
            let _ = done.send((Connection::new(stream, PATIENCE, place), addr)).await;
        }
        Ok(Err(error)) => info!(peer.addr = %addr, "handshake failed: {}", plain(error)),
        Err(_) => info!(peer.addr = %addr, "handshake took too long"),
    }
}
