//! Every interleaving of a small fleet.
//!
//! The simulator tells random stories of large fleets; this crate tells all
//! stories of small ones. `table` asks the transition function for every state,
//! trigger and set of facts. `explore` walks through a bounded world, from every
//! state of the story in which nothing goes wrong: the very
//! `step`, `restore` and `apply` the roles call, with a network that loses,
//! doubles and reorders, and processes that die within any step.

mod act;
mod calm;
mod central;
mod check;
mod digest;
mod edge;
mod engine;
mod explore;
mod former;
mod git;
mod local;
mod look;
mod message;
mod model;
mod plan;
mod print;
mod step;
mod story;
mod table;
mod time;
mod words;
mod world;
mod worlds;

pub use explore::{Finding, Findings, explore};
pub use plan::{Bounds, Flaw, Plan};
pub use table::{Asked, table};
pub use worlds::{centre, plans, replacement};
