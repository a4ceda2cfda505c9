//! The operator API of colony: wire types, and a thin client for them.
//!
//! `request` is what people ask for, `view` what they are shown, `site` what a
//! local orchestrator and the central one say to each other. Both orchestrators
//! serve the same views, the local one on a Unix socket and of its own site.
//! `render` makes the views of a fleet's projection, and `server` answers
//! questions with them, for both orchestrators alike. Left out on purpose: what
//! an order does (the roles know) and how an answer is printed (the command
//! line does).

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
pub use colony_margo::Problem;
