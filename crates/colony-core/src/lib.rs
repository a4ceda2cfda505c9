//! The decision logic of colony, as pure functions of (state, input, time).
//!
//! A placement changes its state only through `transition`. `site` is the core
//! of a local orchestrator, `node` the core of an execution node and `fleet`
//! the projection of the central orchestrator. The crate has no clock, no I/O
//! and no randomness: the caller passes observations, the time and a random
//! number.

/// The Margo documents that the types here are made of.
pub use colony_margo as margo;

pub mod attempt;
pub mod choice;
pub mod code;
pub mod document;
pub mod event;
pub mod fleet;
pub mod id;
pub mod node;
pub mod order_rules;
pub mod plan;
pub mod purge;
pub mod rollup;
pub mod site;
pub mod state;
pub mod time;
pub mod transition;
pub mod why;
