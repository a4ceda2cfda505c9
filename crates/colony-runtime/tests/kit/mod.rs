//! Real container engines and a real registry for tests, each test with its
//! own, in a temporary folder, ended when dropped.
//!
//! Std and files only, so that the tests of other crates can take it in by its
//! path. A program that is missing fails the test with the command that
//! installs it.

mod engine;
mod http;
mod image;
mod program;
mod registry;

pub(crate) use engine::Engine;
pub(crate) use registry::Registry;
