//! Thirty days in which nodes, or whole sites, are switched off.

use crate::network::Happening;
use crate::world::World;

const DAY: u64 = 86_400_000;

/// Who is switched off.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asleep {
    pub nodes: bool,
    pub locals: bool,
}

impl Asleep {
    /// Whoever still runs does its rounds more rarely, or a month would be long.
    pub(crate) fn slowness(self) -> u64 {
        if self.nodes { 900 } else { 1 }
    }
}

impl World {
    /// A month passes; only CO, operators and maybe the LOs are awake.
    pub(crate) fn winter(&mut self) {
        self.asleep = Asleep { nodes: true, locals: self.rng.chance(50) };
        let who = if self.asleep.locals { "all sites are" } else { "all nodes are" };
        self.note(|_| format!("{who} switched off for 30 days"));
        for edge in &mut self.nodes {
            edge.process.die();
            edge.engine.power_cycle();
        }
        for site in 0..self.sites.len() {
            if self.asleep.locals {
                self.sites[site].process.die();
            }
        }
        self.run_until(self.now + 30 * DAY);
        self.asleep = Asleep::default();
        self.note(|_| "everything is switched on again".to_owned());
        self.wake_all();
    }

    /// Whoever is down starts within a minute.
    pub(crate) fn wake_all(&mut self) {
        self.after(1, Happening::CentralUp);
        for site in 0..self.sites.len() {
            let soon = self.rng.range(1..30_000);
            self.after(soon, Happening::LocalUp { site });
        }
        for node in 0..self.nodes.len() {
            let soon = self.rng.range(1..60_000);
            self.after(soon, Happening::EdgeUp { node });
        }
    }
}
