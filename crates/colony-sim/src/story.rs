//! One seed, one story: chaos for a while, then calm, then the final checks.

use crate::coverage::Coverage;
use crate::network::Happening;
use crate::world::World;

const MINUTE: u64 = 60_000;

/// The options of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Keep the whole trace, also of a story that passes; otherwise only the
    /// end of one that fails.
    pub trace: bool,
}

/// A story that passed.
#[derive(Debug)]
pub struct Report {
    pub seed: u64,
    pub steps: u64,
    pub faults: u64,
    pub events: u64,
    /// Virtual seconds from the end of the faults to convergence.
    pub converged_after: u64,
    pub coverage: Coverage,
    pub trace: Vec<String>,
}

/// A story that failed.
#[derive(Debug)]
pub struct Violation {
    pub seed: u64,
    pub what: String,
    pub trace: Vec<String>,
}

/// Runs the story of `seed`.
pub fn run(seed: u64, options: Options) -> Result<Report, Box<Violation>> {
    let mut world = World::new(seed);
    world.whole = options.trace;
    world.after(1_000, Happening::Chaos);
    let half = world.rng.range(5..25) * MINUTE;
    world.run_until(half);
    world.month();
    let chaos = world.now + half;
    world.run_until(chaos);
    world.calm_down();
    let end = world.converge(chaos);
    match world.violation.take() {
        None => Ok(world.into_report(seed, end - chaos, options)),
        Some(what) => Err(Box::new(Violation { seed, what, trace: world.trace.into() })),
    }
}

impl World {
    fn into_report(self, seed: u64, converged_after: u64, options: Options) -> Report {
        let events = self.roles.sites.iter().map(|it| it.log.len() as u64).sum();
        Report {
            seed,
            steps: self.steps,
            faults: self.faults,
            events,
            converged_after: converged_after / 1_000,
            coverage: self.coverage,
            trace: if options.trace { self.trace.into() } else { Vec::new() },
        }
    }
}
