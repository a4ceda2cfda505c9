//! The Engine API, as Docker and Podman serve it.

pub(crate) mod api;
mod body;
mod client;
pub(crate) mod connect;
mod error;
mod events;
pub(crate) mod image;
mod place;
mod probe;
