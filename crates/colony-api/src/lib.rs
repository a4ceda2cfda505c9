//! The operator API of colony: wire types, and a thin client for them.
//!
//! `request` holds the requests of operators, `view` the responses to them,
//! `site` the protocol between a local orchestrator and the central one. Both
//! orchestrators serve the same views, the local one on a Unix socket and for
//! its own site. `render` builds the views from a fleet's projection, and
//! `server` serves them for both orchestrators. Left out on purpose: the effect
//! of an order (up to the roles) and how a response is printed (up to the
//! command line).

#![expect(clippy::result_large_err, reason = "a problem is an answer, made once for each request")]

pub mod client;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod path;
pub mod problem;
pub mod render;
pub mod request;
pub mod schema;
#[cfg(feature = "server")]
pub mod server;
pub mod site;
pub mod view;

pub use client::{Client, EventStream, Server, Signal};
pub use colony_core::margo::Problem;
