//! Components of compose files as containers, on any container engine.
//!
//! `api` is the calls that an engine must offer; everything else is the same
//! for all engines: a project becomes containers, networks and volumes, and
//! what is on the engine becomes an observation.

pub(crate) mod api;
mod collect;
mod component;
pub(crate) mod engine;
pub(crate) mod engine_error;
pub(crate) mod health;
pub(crate) mod image;
pub(crate) mod label;
mod logs;
mod network;
pub(crate) mod pulls;
pub(crate) mod redirect;
pub(crate) mod scope;
pub(crate) mod survey;
mod volume;
