//! Both sides of the Margo interface over real TLS sockets.

mod identity;
mod join;
mod link;
mod margo;
mod poll;
mod support;
mod tls;
