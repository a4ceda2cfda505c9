//! The Margo interface: identity, TLS, the client and (feature `server`) the
//! server.
//!
//! A caller is identified by the certificate of its connection, never by a path
//! or a body. The documents themselves belong to `colony-margo`; what a manager
//! does with them is up to the roles. Time is an argument, except for the
//! validity of certificates in a handshake, which the TLS library checks.
//!
//! The client side runs in the smallest node, so it has no axum, no connection
//! pool but its own, and no session cache.

pub mod client;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod health;
pub mod identity;
pub mod join;
pub mod link;
pub mod login;
pub mod manager_request;
#[cfg(feature = "server")]
pub mod server;
pub mod tls;

pub mod file;

/// The Margo documents that this interface carries.
pub use colony_margo as margo;

pub use client::{Client, ClientError, Poll};
pub use health::{NodeReport, PullView, Readiness};
pub use identity::authority::{Authority, requested_key};
pub use identity::credentials::Credentials;
pub use identity::key::PrivateKey;
pub use identity::token::{Claims, TokenError, TokenKind, TokenSigner};
pub use identity::{IdentityError, SpiffeError, SpiffeId, authority, credentials, key, token};
pub use join::{JoinError, JoinRequest, Joined};
pub use link::{Answer, Link, LinkError};
pub use manager_request::{LogAnswer, LogLine, LogRequest, ManagerRequests};
#[cfg(feature = "server")]
pub use server::address::host_of;
#[cfg(feature = "server")]
pub use server::limit::open_files_raise;
#[cfg(feature = "server")]
pub use server::{
    CurrentManifest, Have, Manager, Refusal, cap_age, finish, read_body, router, serve,
};
pub use tls::{ClientAuth, Trust};
#[cfg(feature = "server")]
pub use tls::{Peer, Reloader, TlsListener};
