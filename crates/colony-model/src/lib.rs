//! What can happen to a small fleet, in every order, as far as a bound goes.
//!
//! The simulator tells random stories of large fleets; this crate walks through
//! small ones in breadth, some to their end. `table` asks the transition function
//! for every state, trigger and set of facts. `explore` walks through a bounded
//! world, from every state of the story in which nothing goes wrong: the very
//! `step`, `restore` and `apply` the roles call, with a network that loses,
//! doubles and reorders, and processes that die within any step.

mod act;
mod ask;
mod belief;
mod calm;
mod central;
mod check;
mod digest;
mod disk;
mod edge;
mod engine;
mod explore;
mod fate;
mod former;
mod git;
mod happen;
mod local;
mod look;
mod message;
mod model;
mod plan;
mod print;
mod revert;
mod step;
mod story;
mod swap;
mod table;
mod takeover;
mod time;
mod uplink;
mod words;
mod world;
mod worlds;

pub use explore::{Finding, Findings, explore};
pub use plan::{Bounds, Flaw, Plan};
pub use table::{Asked, table};
pub use worlds::{blue_green, centre, plans, replacement};
