//! Both sides of the Margo interface over real TLS sockets.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod identity;
mod join;
mod link;
mod margo;
mod poll;
mod support;
mod tls;
