//! Disks that have no room: a role's own commit is refused, for a while.
//!
//! What the shells do then: nothing of the step counts, nobody is answered,
//! nothing is begun, and what is in memory is taken from the disk again. The
//! process lives on, with its clock and with whatever its engine is doing.
//! What a step changes nothing by costs no write, and goes on all the time.

use std::collections::BTreeSet;

use colony_core::fleet::Changed;
use colony_core::id::SiteName;
use colony_core::node::Input;
use colony_testkit::capabilities;

use crate::coverage::Trial;
use crate::network::Happening;
use crate::world::World;

/// How long the shell of an EN waits before it begins anew.
const EDGE_AGAIN: u64 = 2_000;
/// How long the one of an LO does.
const LOCAL_AGAIN: u64 = 1_000;

impl World {
    /// Whether a write is refused: most are while there is no room, and some
    /// find a little.
    pub(crate) fn refuses(&mut self, full_until: u64) -> bool {
        self.now < full_until && self.rng.chance(80)
    }

    /// The node goes back to what its journal says.
    pub(crate) fn edge_falls_back(&mut self, node: usize) {
        self.coverage.trial(Trial::EdgeRefused);
        self.edge_restore(node);
        let process = &mut self.nodes[node].process;
        process.forget_tick();
        let life = process.life;
        self.after(EDGE_AGAIN, Happening::EdgeReborn { node, life });
    }

    /// The core is told again what it can do and what there is.
    pub(crate) fn edge_reborn(&mut self, node: usize, life: u64) {
        let edge = &self.nodes[node];
        if !edge.process.up || edge.process.life != life {
            return;
        }
        let own = capabilities(edge.name.as_str(), &edge.architecture, edge.labels());
        self.edge_step(node, Input::Capabilities(Box::new(own)));
        self.edge_look(node, false);
    }

    /// The site is put together again from what is stored.
    pub(crate) fn local_falls_back(&mut self, site: usize) {
        self.coverage.trial(Trial::LocalRefused);
        let local = &mut self.sites[site];
        local.core = local.restored();
        local.answers.restart(local.process.life);
        let (life, at) = (local.process.life, self.now + LOCAL_AGAIN);
        local.process.tick_at(at);
        self.at(at, Happening::LocalWake { site, life, at });
    }

    /// Writes what changed; false if it was refused, and then nothing of it counts.
    pub(crate) fn central_store(&mut self) -> bool {
        let changed = self.central.core.take_changed();
        self.central_commit(&[changed])
    }

    pub(crate) fn central_commit(&mut self, changed: &[Changed]) -> bool {
        if self.refuses(self.central.full_until) {
            self.coverage.trial(Trial::CentralRefused);
            let keys = changed.iter().flat_map(Changed::keys);
            let sites: BTreeSet<SiteName> = keys.map(|it| it.site().clone()).collect();
            sites.iter().for_each(|it| self.central.retreat(it));
            return false;
        }
        self.central.commit(changed);
        true
    }
}
