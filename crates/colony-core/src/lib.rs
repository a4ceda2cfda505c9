//! The decisions of colony, as pure functions of (state, input, time).
//!
//! `transition` is the one way a placement changes its state; `site` is the
//! brain of a local orchestrator, `node` of an execution node, `fleet` of the
//! central orchestrator's projection. No clock, no I/O, no randomness: the
//! caller says what it observed, what time it is and which random number to use.

pub mod attempt;
pub mod choice;
pub mod code;
pub mod document;
pub mod event;
pub mod fleet;
pub mod id;
pub mod node;
pub mod orders;
pub mod plan;
pub mod rollup;
pub mod site;
pub mod state;
pub mod time;
pub mod transition;
pub mod why;
