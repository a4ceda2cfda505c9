//! A device boots without a network: it has only its disk.

use std::collections::BTreeSet;

use colony_core::id::DeploymentId;

use crate::network::Happening;
use crate::world::World;

/// After this time everything must run again: the longest delay of a restart,
/// and a slow engine.
const PATIENCE: u64 = 600_000;

impl World {
    /// Power and network fail at the same time; only power returns.
    pub(crate) fn reboot_alone(&mut self, node: usize) {
        let down = self.rng.range(1_000..90_000);
        let device = &mut *self.roles.nodes[node];
        if !device.process.up || device.retired {
            return;
        }
        let ran = device.installed_ids();
        let ran = ran.into_iter().filter(|it| device.engine.is_good(it)).collect();
        device.process.die();
        device.engine.power_cycle();
        device.cut_until = device.cut_until.max(self.now + down + PATIENCE + 60_000);
        self.note(|w| format!("{} boots without a network", w.roles.nodes[node].name));
        self.after(down, Happening::NodeUp { node });
        let device = &self.roles.nodes[node];
        let (life, version) = (device.process.life + 1, device.core.version().map(|it| it.get()));
        self.after(down + PATIENCE, Happening::NodeBooted { node, life, version, ran });
    }

    /// The workloads that ran before the power failed run again, if nothing
    /// else happened.
    pub(crate) fn node_booted(
        &mut self,
        node: usize,
        (life, version): (u64, Option<u64>),
        ran: &BTreeSet<DeploymentId>,
    ) {
        let device = &self.roles.nodes[node];
        let since = self.now.saturating_sub(PATIENCE);
        let told = device.core.version().map(|it| it.get()) != version;
        let lived = device.process.up && device.process.life == life;
        let disturbed = told || !lived || !device.engine.sound_since(since);
        if disturbed
            || self.now >= device.cut_until
            || self.now < device.engine.killed_at + PATIENCE
        {
            return;
        }
        let running = device.engine.running(self.now);
        let missing = ran.iter().find(|it| !running.contains_key(*it));
        if let Some(missing) = missing {
            let name = device.name.clone();
            self.violate(format!("{name} booted alone and does not run {missing} again"));
        }
    }
}
