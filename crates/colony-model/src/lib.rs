//! Every interleaving of a small fleet.
//!
//! The simulator tells random stories of large fleets; this crate tells all
//! stories of small ones. `table` asks the transition function for every state,
//! trigger and set of facts. `explore` walks through a bounded world: the very
//! `step`, `restore` and `apply` the roles call, with a network that loses,
//! doubles and reorders, and processes that die within any step.

mod act;
mod calm;
mod central;
mod check;
mod edge;
mod engine;
mod explore;
mod git;
mod local;
mod message;
mod model;
mod plan;
mod print;
mod table;
mod time;
mod words;
mod world;

pub use explore::{Finding, Findings, explore};
pub use plan::{Bounds, Flaw, Plan, centre, plans, replacement};
pub use table::{Asked, table};
