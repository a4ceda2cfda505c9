//! The central orchestrator (CO): catalog, plans, Git, and the reported state
//! of every site.
//!
//! A thin shell around `colony_core::fleet`: it persists the decisions of the
//! core in one transaction, and only then replies, writes to Git or wakes
//! tasks. `start` opens everything and returns a handle; `Central::run` serves
//! until it is stopped and joins every task. Left out on purpose: placement and
//! strategy inside a site, which belong to its local orchestrator.

mod api;
mod app;
mod auth;
mod backup;
mod brain;
mod catalog;
mod central;
mod clock;
mod command;
mod config;
mod fault;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod health;
mod identity;
mod link;
mod place;
mod plan;
mod repo;
mod view;
mod writer;

pub use backup::{About, Restored, backup, restore};
pub use central::{Central, start};
pub use colony_git::{Auth, FetchLimits, Secret};
pub use config::{Config, GitConfig};

/// The OpenAPI document of this role, as indented JSON.
pub fn openapi() -> String {
    let text = serde_json::to_string_pretty(&api::document());
    text.map_or_else(|_| String::new(), |it| it + "\n")
}
