//! The log of a site at the central orchestrator: what is accepted, and the view it makes.

mod answers;
mod change;
mod memory;
mod names;
mod order;
mod projection;
pub(crate) mod projection_steps;
mod untrusted;
