//! Explores what can happen to a small fleet, in every order, within bounds.
//!
//! The simulator runs random stories of large fleets; this crate explores small
//! ones breadth-first, some to their end. `table` calls the transition function
//! for every state, trigger and set of facts. `explore` walks through a bounded
//! world, from every state of the story without faults. It runs the same
//! `step`, `restore` and `apply` that the roles call, with a network that
//! loses, duplicates and reorders messages, and processes that die within any
//! step.

mod check;
mod digest;
mod explore;
mod model;
mod plan;
mod story;
mod table;
mod world;
mod worlds;

pub use colony_world::Flaw;
pub use explore::{Finding, Findings, explore};
pub use plan::{Bounds, Plan};
pub use table::{TableFindings, table};
pub use worlds::{blue_green, centre, plans, replacement};
