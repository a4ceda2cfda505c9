//! Simulated fleets: one central orchestrator, several sites, dozens of nodes.
//!
//! Everything runs the same `step` functions the roles call; what is simulated
//! is only the world around them: time, network, engines, Git, disks and
//! operators. A seed decides everything, so a failing story can be told again.
//! Invariants are checked after every step; when the faults stop, the fleet
//! must converge.

mod answers;
mod ask;
mod backup;
mod boot;
mod calm;
mod central;
mod chaos;
mod check;
mod coverage;
mod disk;
mod edge;
mod engine;
mod excuse;
mod full;
mod git;
mod journal;
mod label;
mod local;
mod network;
mod process;
mod reckoning;
mod regressions;
mod rng;
mod season;
mod story;
mod strategy;
mod succession;
mod uplink;
mod world;
mod writer;

pub use coverage::Coverage;
pub use regressions::{REGRESSIONS, Regression};
pub use story::{Options, Report, Violation, run};
