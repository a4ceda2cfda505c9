//! Container engines: what a component's archive says becomes containers.
//!
//! One adapter for Docker and Podman, both through the Engine API on a Unix
//! socket. The node's core decides what should be there; this crate does it
//! and shows what is there. It owns the containers, networks and volumes with
//! the labels `colony.node` and `colony.identity` of the node, and the files
//! below [`Config::dir`].
//!
//! Invariants:
//! - an action stands for a goal: cut off between any two calls to the engine
//!   and done again, it ends in the same place;
//! - what carries another node's identity is never touched, so several nodes
//!   may share one engine, also such that have one name in different sites;
//! - nothing fetched is used before its digest was verified;
//! - volumes outlive everything.
//!
//! Left out: when to act, and when to give up. Helm charts.

mod acting;
mod archive;
mod ask;
mod body;
mod check;
mod collect;
pub mod compose;
mod config;
mod configs;
mod connect;
mod engine;
mod error;
mod fate;
mod file;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod health;
mod image;
mod interference;
mod job;
mod label;
mod load;
mod log_line;
mod logs;
mod make;
mod network;
mod news;
mod order;
mod outdated;
mod plain_pull;
mod pulls;
mod registry;
mod remove;
mod runtime;
mod scope;
mod source;
mod stage;
mod start;
mod survey;
mod trouble;
mod twice;
mod volume;
mod wait;
mod watch;
mod watched;
mod work;

pub use config::{
    Choice, Config, Credential, EngineInfo, Facts, PullProgress, Registries, Subject,
};
pub use error::Error;
pub use logs::{LogEntry, LogPage, LogQuery};
pub use registry::push::{PushError, Pushed, push_component};
pub use runtime::Runtime;
pub use source::{BUILTIN, Fetched, Source};
