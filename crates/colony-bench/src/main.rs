//! What the pure cores cost: `make bench`.
//!
//! Every speed is also shown as a ratio to a baseline of the same run, because
//! a time alone says more about the machine than about the code. Nothing is
//! asserted: `docs/performance.md` holds what was measured, and a test runs
//! `--quick` so that the programs cannot rot.

mod chain;
mod clock;
mod fleet;
mod manifest;
mod plan;
mod project;
mod step;
mod table;

use std::process::ExitCode;

use table::Table;

/// How large a run is.
#[derive(Debug, Clone)]
struct Scale {
    /// Placements of the site, column by column.
    placements: [usize; 3],
    /// Samples behind a median of a step.
    samples: usize,
    /// Repetitions of what takes long.
    rounds: usize,
    plan_deployments: usize,
    plan_nodes: usize,
    /// Placements of one deployment, column by column.
    wide: [usize; 3],
    manifest: usize,
    events: usize,
}

const FULL: Scale = Scale {
    placements: [1_000, 10_000, 50_000],
    samples: 400,
    rounds: 3,
    plan_deployments: 10_000,
    plan_nodes: 1_000,
    wide: [10, 100, 1_000],
    manifest: 50,
    events: 100_000,
};

const QUICK: Scale = Scale {
    placements: [250, 300, 500],
    samples: 5,
    rounds: 1,
    plan_deployments: 20,
    plan_nodes: 20,
    wide: [4, 8, 16],
    manifest: 5,
    events: 200,
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let scale = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => FULL,
        ["--quick"] => QUICK,
        _ => return ExitCode::from(2),
    };
    for run in [step::fleet, step::wide, plan::run, manifest::run, chain::run, project::run] {
        print(&run(&scale));
    }
    ExitCode::SUCCESS
}

#[expect(clippy::print_stdout, reason = "the tables are what this program is for")]
fn print(table: &Table) {
    println!("{table}");
}
