//! A device boots without a network: its disk is all it has.

use std::collections::BTreeSet;

use colony_core::id::DeploymentId;

use crate::network::Happening;
use crate::world::World;

/// By then everything must run again: the restarts' longest wait, and a slow
/// engine.
const PATIENCE: u64 = 600_000;

impl World {
    /// Power and network fail at once; power comes back alone.
    pub(crate) fn reboot_alone(&mut self, node: usize) {
        let down = self.rng.range(1_000..90_000);
        let edge = &mut self.nodes[node];
        if !edge.process.up || edge.retired {
            return;
        }
        let ran = edge.installed_ids();
        let ran = ran.into_iter().filter(|it| edge.engine.is_good(it)).collect();
        edge.process.die();
        edge.engine.power_cycle();
        edge.cut_until = edge.cut_until.max(self.now + down + PATIENCE + 60_000);
        self.note(|w| format!("{} boots without a network", w.nodes[node].name));
        self.after(down, Happening::EdgeUp { node });
        let edge = &self.nodes[node];
        let (life, version) = (edge.process.life + 1, edge.core.version().map(|it| it.get()));
        self.after(down + PATIENCE, Happening::EdgeBooted { node, life, version, ran });
    }

    /// What ran before the power failed runs again, if nothing else happened.
    pub(crate) fn edge_booted(
        &mut self,
        node: usize,
        (life, version): (u64, Option<u64>),
        ran: &BTreeSet<DeploymentId>,
    ) {
        let edge = &self.nodes[node];
        let since = self.now.saturating_sub(PATIENCE);
        let told = edge.core.version().map(|it| it.get()) != version;
        let lived = edge.process.up && edge.process.life == life;
        let disturbed = told || !lived || !edge.engine.sound_since(since);
        if disturbed || self.now >= edge.cut_until || self.now < edge.engine.killed_at + PATIENCE {
            return;
        }
        let running = edge.engine.running(self.now);
        let missing = ran.iter().find(|it| !running.contains_key(*it));
        if let Some(missing) = missing {
            let name = edge.name.clone();
            self.violate(format!("{name} booted alone and does not run {missing} again"));
        }
    }
}
