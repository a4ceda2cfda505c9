//! The simulated world: the shells of the roles, and what is around them.
//!
//! One central orchestrator, sites and nodes run the functions of `colony-core`
//! that the shipped roles call, and persist and act in the same order. Engines,
//! disks, Git and processes are simulated. Two front ends implement `Host`:
//! `colony-sim` draws time, faults and delivery from a seed, `colony-model`
//! explores them. A world can be cloned cheaply (`Shared`), because the model
//! keeps many states of it.
//!
//! CO is the central orchestrator, LO a local orchestrator, EN a node.

mod answers;
mod disk;
mod engine;
mod git;
mod host;
mod journal;
mod limit;
mod message;
mod process;
mod role;
mod shared;
mod why;
pub mod words;

pub use answers::Answers;
/// The builders of the documents that the front ends deploy.
pub use colony_testkit::{App, Plant, deployment_id, projection_difference};
pub use disk::{Disk, Write, through_bytes};
pub use engine::{Behaviour, Engine, Pace, Registry};
pub use git::{Git, is_of, path};
pub use host::{Breach, Flaw, Host, Outcome, Role, Roles, Transaction};
pub use journal::Journal;
pub use limit::{deployments_taken_down, excess, paused_start, transitions};
pub use message::{AnswersReply, ToCentral, ToLocal, ToNode};
pub use process::Process;
pub use role::*;
pub use shared::Shared;
pub use why::Inquiry;
