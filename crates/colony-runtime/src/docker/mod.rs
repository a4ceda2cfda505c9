//! The Engine API, as Docker and Podman serve it: a project becomes containers,
//! networks and volumes, and what is on the engine becomes an observation.

pub(crate) mod api;
mod collect;
pub(crate) mod connect;
mod container;
pub(crate) mod engine;
pub(crate) mod engine_error;
pub(crate) mod health;
pub(crate) mod image;
pub(crate) mod label;
pub(crate) mod logs;
mod network;
pub(crate) mod pulls;
pub(crate) mod scope;
pub(crate) mod survey;
mod volume;
