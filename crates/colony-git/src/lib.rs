//! The deployments repository: what Git is to colony.
//!
//! `Deployments` writes it (the central orchestrator), `Watch` reads one site's
//! part of it (a local orchestrator), `serve` lends the hosted one to both and
//! to people, `registry` reads application packages. All but `serve` blocks:
//! callers run it where blocking is allowed. Nothing here decides what to
//! deploy; files and their rules are the core's.

pub mod bundle;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod registry;
pub mod serve;

mod advice;
mod cache;
mod durable;
mod error;
mod fetch;
mod git;
mod http;
mod limit;
mod origin;
mod pack;
mod path;
mod reader;
mod remote;
mod repo;
mod walk;
mod writer;

pub use error::Error;
pub use limit::FetchLimits;
pub use reader::{Stats, Watch, files};
pub use remote::{Auth, Remote, Secret};
pub use writer::{Batch, Commit, Conflict, Deployments, Edit, SiteParts, Written, unified_diff};
