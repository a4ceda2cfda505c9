//! Real processes, real engines, real faults. Each test does one thing to one
//! part of a fleet and shows what was left of it: no acknowledged event lost,
//! no workload restarted without need, a cause named while it lasts, and
//! everything as it should be after it.
//!
//! A few run with all other tests; the rest is ignored there and run by
//! `make chaos`.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests")]

// Engines, registries and fleets as the tests of other crates start them.
#[path = "../../../colony-runtime/tests/kit/mod.rs"]
#[expect(dead_code, reason = "the runtime's stories need more of it than these")]
mod engines;
#[path = "../../../colony/tests/fleet/kit/mod.rs"]
#[expect(dead_code, reason = "the stories of fleets need more of it than these")]
mod kit;

mod ask;
mod bed;
mod clock;
mod cut;
mod deletion;
mod disk;
mod hang;
mod journal;
mod kill;
mod kubernetes;
mod ledger;
mod net;
mod operation;
mod outside;
mod reboot;
mod repository;
mod rollout;
mod stop;
mod story;
mod strategy;
mod swap;
mod workload;

use std::path::PathBuf;

/// The binary the faults are done to: the one that was built with this suite.
fn program() -> PathBuf {
    let built = || std::env::current_exe().unwrap().parent().unwrap().with_file_name("colony");
    std::env::var_os("COLONY_CHAOS_BINARY").map_or_else(built, PathBuf::from)
}
