//! The central orchestrator (CO): catalog, plans, Git, and what every site said.
//!
//! A thin shell around `colony_core::fleet`: it persists what the core decides
//! in one transaction, and only then answers, writes to Git or wakes somebody.
//! `start` opens everything and returns a handle; `Central::run` serves until
//! it is told to stop and joins every task. Left out on purpose: placement and
//! strategy inside a site, which are its local orchestrator's.

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
mod extract;
mod fault;
mod force;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod health;
mod identity;
mod link;
mod metrics;
mod place;
mod plan;
mod relay;
mod repo;
mod view;
mod writer;

pub use backup::{About, Restored, backup, restore};
pub use central::{Central, start};
pub use colony_git::{Auth, FetchLimits, Secret};
pub use config::{Config, GitConfig};

/// The OpenAPI document of what this role serves, as JSON for people.
pub fn openapi() -> String {
    let text = serde_json::to_string_pretty(&api::document());
    text.map_or_else(|_| String::new(), |it| it + "\n")
}
