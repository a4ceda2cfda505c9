//! The whole product as people meet it: one binary, its roles as processes of
//! their own, a real engine, registry, Git and database. What is wrong ends in
//! the right state with a sentence, and holds up nothing else.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests")]

// Engines and a registry as the runtime's own tests start them.
#[path = "../../../colony-runtime/tests/kit/mod.rs"]
#[expect(dead_code, reason = "the runtime's stories need more of it than these")]
mod engines;
#[expect(dead_code, unused_imports, reason = "tests of faults need more of it than these")]
mod kit;

use std::path::PathBuf;

mod agreement;
mod backup;
mod mistake;
mod outage;
mod purge;
mod relay;
mod replay;
mod steps;
mod token;

/// The binary whose roles and commands are tested.
fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_colony"))
}
