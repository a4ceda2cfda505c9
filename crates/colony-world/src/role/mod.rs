//! The shells of the roles: each persists a step and then acts on it, as the
//! role itself does.
//!
//! Nothing is decided here. Decisions are those of `colony-core`; faults, time
//! and delivery are those of the front end (`Host`).

mod central;
mod join;
mod local;
mod node;
mod uplink;
mod writer;

pub use central::{Central, CentralShell, FleetDisk, Stored};
pub use join::{JoinShell, knows_its_site};
pub use local::{Local, LocalShell, SiteDisk};
pub use node::{Device, NodeShell};
pub use uplink::{Uplink, UplinkShell};
pub use writer::{Change, WriterShell};
