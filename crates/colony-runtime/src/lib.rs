//! Container engines: turns the archive of a component into containers.
//!
//! The node's core decides what should be there; this crate does it and shows
//! what is there. It owns the containers, networks and volumes with the labels
//! `colony.node` and `colony.identity` of the node, and the files below
//! [`Config::dir`].
//!
//! `engine` is what a node needs of any engine, and [`Runtime`] sends each
//! document to the engine that runs its profile. `containers` is the engine for
//! compose files; it calls `docker` (Docker and Podman, through the Engine API)
//! or `containerd` (through the Container Runtime Interface). `helm` is the
//! engine for charts on Kubernetes. `compose` reads the files of packages and is
//! pure, `oci` fetches from registries, `logs` is what all engines answer about
//! logs.
//!
//! Invariants:
//! - an action describes a goal: interrupted between any two calls to the
//!   engine and repeated, it reaches the same state;
//! - objects with another node's identity are never touched, so several nodes
//!   may share one engine, even with the same name in different sites;
//! - nothing fetched is used before its digest was verified;
//! - volumes outlive everything.
//!
//! Left out: when to act, and when to give up.

mod acting;
pub mod compose;
mod config;
#[cfg(feature = "containerd")]
mod containerd;
mod containers;
mod docker;
mod engine;
mod error;
mod file;
#[cfg(feature = "fuzz")]
pub mod fuzz;
#[cfg(feature = "kubernetes")]
mod helm;
mod job;
mod logs;
mod messages;
mod news;
mod oci;
mod runtime;
mod url;

pub use config::{
    Choice, Config, Credential, DocumentPolicy, EngineInfo, EngineKind, Facts, PullProgress,
    Registries, Subject,
};
#[cfg(feature = "bench")]
pub use containerd::bare::{BareContainer, BareContainerd, BareError, BarePod};
pub use error::Error;
pub use logs::{LogEntry, LogPage, LogQuery};
pub use oci::credentials::{CredentialStore, usual_credential_files};
pub use oci::registry::push::{PushError, Pushed, push_component, push_image};
pub use oci::source::{BUILTIN, Fetched, Source};
pub use runtime::{Observation, Runtime};
