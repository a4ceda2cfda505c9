//! Simulated fleets: one central orchestrator, several sites, dozens of nodes.
//!
//! Everything runs the same `step` functions the roles call; only the world
//! around them is simulated: time, network, engines, Git, disks and operators.
//! A seed decides everything, so a failing story can be repeated. Invariants
//! are checked after every step; when the faults stop, the fleet must converge.
//!
//! CO is the central orchestrator, LO a local orchestrator, EN an execution
//! node. A story is the run of one seed.

mod calm;
mod chaos;
mod check;
mod coverage;
mod host;
mod network;
mod regressions;
mod rng;
mod round;
mod story;
mod world;

pub use coverage::Coverage;
pub use regressions::{REGRESSIONS, Regression};
pub use story::{Options, Report, Violation, run};
