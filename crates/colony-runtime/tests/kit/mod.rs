//! Real container engines and a real registry for tests, each test with its
//! own, in a temporary folder, ended when dropped.
//!
//! Std and files only, so that the tests of other crates can take it in by its
//! path. A program that is missing fails the test with the command that
//! installs it.

pub(crate) mod cluster;
mod engine;
mod http;
pub(crate) mod image;
mod listing;
pub(crate) mod program;
mod registry;

pub(crate) use engine::Engine;
pub(crate) use registry::Registry;

/// The id of the deployment that tests call `name`.
pub(crate) fn deployment(name: &str) -> colony_core::margo::DeploymentId {
    let mut bytes = [0; 16];
    let digest = colony_core::margo::Digest::of(name.as_bytes());
    bytes.copy_from_slice(&digest.as_bytes()[..16]);
    colony_core::margo::DeploymentId::from_bytes(bytes)
}
