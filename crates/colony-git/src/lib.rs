//! The deployments repository.
//!
//! `Deployments` writes it (the central orchestrator), `Watch` reads one site's
//! part of it (a local orchestrator), `serve` serves the hosted one to both and
//! to people, `registry` reads application packages. All but `serve` blocks:
//! callers run it where blocking is allowed. Nothing here decides what to
//! deploy; the files and their rules belong to the core.

pub mod bundle;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod registry;
pub mod serve;

mod cache;
mod error;
mod git;
mod path;
mod reader;
mod repo;
mod transport;
mod writer;

pub use error::Error;
pub use reader::{Stats, Watch, files};
pub use transport::limit::FetchLimits;
pub use transport::remote::{Auth, Remote, Secret};
pub use writer::{Batch, Commit, Conflict, Deployments, Edit, SiteParts, Written, unified_diff};
