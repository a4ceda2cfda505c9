//! `why` under faults: at random moments every role answers about every
//! subject.
//!
//! Every subject that is not final must have an answer, at its site and at CO,
//! and the answer must contain information.

use std::time::Duration;

use colony_core::time::Now;
use colony_world::Inquiry;

use crate::network::Happening;
use crate::world::World;

impl World {
    pub(crate) fn ask(&mut self) {
        let next = self.rng.range(15_000..90_000) * self.season.slowness();
        self.after(next, Happening::Ask);
        for site in 0..self.roles.sites.len() {
            if self.roles.sites[site].process.up {
                self.ask_site(site);
            }
        }
        if self.roles.central.process.up {
            self.ask_central();
        }
    }

    fn ask_site(&mut self, site: usize) {
        let now = self.roles.sites[site].process.now(self.now, self.rng.next());
        let now = if self.rng.chance(20) { self.later(now) } else { now };
        let local = &self.roles.sites[site];
        let Inquiry { answers, problem } = Inquiry::of_site(&local.core, now);
        let name = local.name.clone();
        answers.iter().chain(local.answers.current()).for_each(|it| self.coverage.why(it));
        if let Some(what) = problem {
            self.violate(format!("{name}: {what}"));
        }
    }

    /// The timers of a busy LO may be late when a question arrives.
    fn later(&mut self, now: Now) -> Now {
        let behind = Duration::from_millis(self.rng.range(1_000..600_000));
        Now { mono: now.mono.after(behind), wall: now.wall.after(behind), ..now }
    }

    fn ask_central(&mut self) {
        let now = self.roles.central.process.now(self.now, self.rng.next()).wall;
        let Inquiry { answers, problem } = Inquiry::of_central(&self.roles.central.core, now);
        answers.iter().for_each(|it| self.coverage.why(it));
        if let Some(what) = problem {
            self.violate(format!("CO: {what}"));
        }
    }
}
