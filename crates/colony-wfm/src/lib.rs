//! The Margo interface: identity, TLS, the client and (feature `server`) the
//! server.
//!
//! Who calls is told by the certificate of the connection, never by a path or
//! a body. The documents themselves are `colony-margo`'s; what a manager does
//! with them is the business of the roles. Time is an argument, but for the
//! validity of certificates in a handshake, which the TLS library checks.
//!
//! The client side runs in the smallest node, so it has no axum, no connection
//! pool but its own, and no session cache.

#[cfg(feature = "server")]
mod address;
pub mod asks;
pub mod authority;
pub mod client;
pub mod credentials;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod health;
pub mod identity;
pub mod join;
pub mod key;
#[cfg(feature = "server")]
mod limit;
pub mod link;
pub mod login;
#[cfg(feature = "server")]
pub mod server;
mod svid;
pub mod tls;
pub mod token;

pub mod file;

#[cfg(feature = "server")]
pub use address::host_of;
pub use asks::{Asks, LogAnswer, LogLine, LogRequest};
pub use authority::{Authority, requested_key};
pub use client::{Client, ClientError, Poll};
pub use credentials::Credentials;
pub use health::{NodeReport, PullView, Readiness};
pub use identity::{IdentityError, SpiffeError, SpiffeId};
pub use join::{JoinError, JoinRequest, Joined};
pub use key::PrivateKey;
#[cfg(feature = "server")]
pub use limit::open_files_raise;
pub use link::{Answer, Link, LinkError};
#[cfg(feature = "server")]
pub use server::{Have, Held, Manager, Refusal, cap_age, finish, read_body, router, serve};
pub use tls::{ClientAuth, Trust};
#[cfg(feature = "server")]
pub use tls::{Peer, Reloader, TlsListener};
pub use token::{Claims, TokenError, TokenKind, TokenSigner};
