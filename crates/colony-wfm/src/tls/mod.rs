//! TLS for both sides, on ring.
//!
//! Both sides are identified by the SPIFFE id in their certificate; a host name
//! is only used to connect. Sessions are never resumed: a resumed session would
//! keep an identity without checking its certificate again, and connections are
//! kept alive anyway.

#[cfg(feature = "server")]
mod listen;
#[cfg(feature = "server")]
mod stream;
pub(crate) mod verify;

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::identity::credentials::Credentials;
use crate::identity::{IdentityError, SpiffeId, svid};
#[cfg(feature = "server")]
pub use listen::{Peer, Reloader, TlsListener};
#[cfg(feature = "server")]
pub use stream::Connection;
use verify::{Anchor, ClientVerifier, ServerVerifier};

const HTTP_1_1: &[u8] = b"http/1.1";

/// The cryptography of every connection.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Whether clients must send a certificate. A certificate that is sent must be
/// valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAuth {
    Optional,
    Required,
}

/// How a client verifies a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust<'a> {
    /// The certificate chains to these roots and has the id `expect`.
    Roots { pem: &'a str, expect: SpiffeId },
    /// The certificate chains to these roots, which are private to the fleet.
    RootsAnyHost { pem: &'a str },
    /// The certificate chains to the authority with this fingerprint, which the
    /// server sends along.
    Pin { fingerprint: &'a str },
}

/// The server side. Clients must be of the server's own trust domain.
pub fn server_config(
    own: &Credentials,
    clients: ClientAuth,
) -> Result<Arc<ServerConfig>, IdentityError> {
    let builder = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(IdentityError::Tls)?
        .with_client_cert_verifier(client_verifier(own, clients)?);
    let mut config = builder
        .with_single_cert(svid::certificates(&own.chain_pem)?, key(own)?)
        .map_err(IdentityError::Tls)?;
    config.alpn_protocols = vec![HTTP_1_1.to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// The client side, with or without a client certificate.
pub fn client_config(
    own: Option<&Credentials>,
    trust: Trust<'_>,
) -> Result<Arc<ClientConfig>, IdentityError> {
    let verifier = ServerVerifier::new(anchor(trust)?, &provider());
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(IdentityError::Tls)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match own {
        Some(own) => builder
            .with_client_auth_cert(svid::certificates(&own.chain_pem)?, key(own)?)
            .map_err(IdentityError::Tls)?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![HTTP_1_1.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

fn client_verifier(
    own: &Credentials,
    clients: ClientAuth,
) -> Result<Arc<ClientVerifier>, IdentityError> {
    let roots = Arc::new(roots(&own.roots_pem)?);
    let builder = WebPkiClientVerifier::builder_with_provider(roots, provider());
    let builder = match clients {
        ClientAuth::Optional => builder.allow_unauthenticated(),
        ClientAuth::Required => builder,
    };
    let chain = builder.build().map_err(|error| IdentityError::Certificate(error.to_string()))?;
    Ok(Arc::new(ClientVerifier::new(chain, own.id()?.trust_domain())))
}

fn anchor(trust: Trust<'_>) -> Result<Anchor, IdentityError> {
    match trust {
        Trust::Roots { pem, expect } => {
            Ok(Anchor::Roots { roots: roots(pem)?, expect: Some(expect) })
        }
        Trust::RootsAnyHost { pem } => Ok(Anchor::Roots { roots: roots(pem)?, expect: None }),
        Trust::Pin { fingerprint } => fingerprint
            .parse()
            .map(Anchor::Pin)
            .map_err(|error| IdentityError::Certificate(format!("fingerprint: {error}"))),
    }
}

fn roots(pem: &str) -> Result<RootCertStore, IdentityError> {
    let mut store = RootCertStore::empty();
    for root in svid::certificates(pem)? {
        store.add(root).map_err(IdentityError::Tls)?;
    }
    Ok(store)
}

fn key(own: &Credentials) -> Result<PrivateKeyDer<'static>, IdentityError> {
    PrivateKeyDer::from_pem_slice(own.key_pem.as_bytes()).map_err(|_| IdentityError::Key)
}
