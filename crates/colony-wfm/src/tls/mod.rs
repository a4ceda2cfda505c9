//! todo
use crate::credentials::Credentials;
use crate::identity::{IdentityError, SpiffeId};
use std::sync::Arc;

#[cfg(feature = "server")]
mod listen;
#[cfg(feature = "server")]
pub use listen::{Peer, Reloader, TlsListener};

/// The cryptography of every connection.
pub fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Whether clients must show a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAuth {
    Optional,
    Required,
}

/// What a client trusts a server by.
#[derive(Debug)]
pub enum Trust<'a> {
    Roots { pem: &'a str, expect: SpiffeId },
    RootsAnyHost { pem: &'a str },
    Pin { fingerprint: &'a str },
}

pub fn server_config(
    _own: &Credentials,
    _clients: ClientAuth,
) -> Result<Arc<rustls::ServerConfig>, IdentityError> {
    todo!()
}

pub fn client_config(
    _own: Option<&Credentials>,
    _trust: Trust<'_>,
) -> Result<Arc<rustls::ClientConfig>, IdentityError> {
    todo!()
}
