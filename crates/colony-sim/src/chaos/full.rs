//! Full disks: commits of a role are refused for a while.
//!
//! The shell then discards the step: it sends no answer, starts no action, and
//! reloads its memory from the disk. The process continues, with its clock and
//! with the actions its engine is executing. Steps without changes need no
//! write and continue all the time.

use colony_world::{NodeShell, Outcome};

use crate::coverage::Trial;
use crate::network::Happening;
use crate::world::World;

/// How long the shell of an EN waits before it starts over.
const EDGE_AGAIN: u64 = 2_000;
/// The same for an LO.
const LOCAL_AGAIN: u64 = 1_000;

impl World {
    /// Whether a write is refused: most are while the disk is full, some
    /// succeed.
    fn refuses(&mut self, full_until: u64) -> bool {
        self.now < full_until && self.rng.chance(80)
    }

    /// The outcome of the write of a step: refused, or the process dies.
    pub(crate) fn commit_step(&mut self, writes: bool, full_until: u64, trial: Trial) -> Outcome {
        match self.refuse(if writes { full_until } else { 0 }, trial) {
            Outcome::Stored if self.dies() => Outcome::Dies,
            outcome @ (Outcome::Stored | Outcome::Refused | Outcome::Dies) => outcome,
        }
    }

    pub(crate) fn refuse(&mut self, full_until: u64, trial: Trial) -> Outcome {
        if !self.refuses(full_until) {
            return Outcome::Stored;
        }
        self.coverage.trial(trial);
        Outcome::Refused
    }

    /// Restores the node from its journal.
    pub(crate) fn node_falls_back(&mut self, node: usize) {
        self.node_restore(node);
        let process = &mut self.roles.nodes[node].process;
        process.forget_tick();
        let life = process.life;
        self.after(EDGE_AGAIN, Happening::NodeReborn { node, life });
    }

    /// Sends the core its capabilities and the present containers again.
    pub(crate) fn node_reborn(&mut self, node: usize, life: u64) {
        let device = &self.roles.nodes[node];
        if !device.process.up || device.process.life != life {
            return;
        }
        self.node_begin(node);
    }

    /// Restores the site from its database.
    pub(crate) fn local_falls_back(&mut self, site: usize) {
        let local = &mut *self.roles.sites[site];
        local.restore();
        local.answers.restart(local.process.life);
        let (life, at) = (local.process.life, self.now + LOCAL_AGAIN);
        local.process.tick_at(at);
        self.at(at, Happening::LocalWake { site, life, at });
    }
}
