//! Connections break, engines fail, machines crash, clocks jump.

use crate::world::World;

const HOUR: i64 = 3_600_000;

impl World {
    pub(super) fn disturb_line(&mut self) {
        let until = self.for_a_while();
        let (site, node) = (self.any_site(), self.any_node());
        let local = &mut *self.roles.sites[site];
        let what = match self.rng.range(0..4) {
            0 => {
                local.wan_until = local.wan_until.max(until);
                format!("{} loses CO", local.name)
            }
            1 => {
                local.git_until = local.git_until.max(until);
                format!("{} loses Git", local.name)
            }
            2 => {
                local.cut_until = local.cut_until.max(until);
                format!("{} loses all its nodes", local.name)
            }
            _ => {
                // The network between the two may let polls through before
                // reports.
                let unheard = if self.rng.chance(30) { until + 60_000 } else { until };
                let device = &mut *self.roles.nodes[node];
                let until = device.cut_until.max(until);
                (device.cut_until, device.unheard_until) = (until, until.max(unheard));
                format!("{} is cut off", device.name)
            }
        };
        self.note(|w| format!("{what} for {} s", (until - w.now) / 1_000));
    }

    pub(super) fn disturb_engine(&mut self) {
        let until = self.for_a_while();
        let node = self.any_node();
        self.engine_speaks(node);
        let (index, kind) = (self.rng.next(), self.rng.range(0..12));
        let now = self.now;
        let device = &mut *self.roles.nodes[node];
        let (name, engine) = (&device.name, &mut device.engine);
        let what = match kind {
            0 => {
                engine.down_until = until;
                format!("engine of {name} is down")
            }
            1 => {
                engine.power_cycle();
                (engine.killed_at, engine.down_until) = (now, now + 10_000);
                format!("engine of {name} restarts with all its containers, and is slow")
            }
            2 => {
                engine.disk_full_until = until;
                format!("disk of {name} is full")
            }
            3 => {
                engine.stubborn_until = until;
                format!("engine of {name} removes nothing")
            }
            4 => {
                engine.kill(index, now);
                format!("a container of {name} is killed, others are slow")
            }
            5 => {
                engine.port_taken_until = until;
                format!("another process on {name} holds the port")
            }
            6 => {
                engine.flaps_until = until;
                format!("health checks on {name} come and go")
            }
            7..9 => return self.disturb_stage(until),
            _ => return self.disturb_registry(until),
        };
        self.note(|w| format!("{what} for {} s", (until - w.now) / 1_000));
    }

    /// The active version fails while another revision is staged beside it.
    fn disturb_stage(&mut self, until: u64) {
        let staging = (0..self.roles.nodes.len())
            .filter(|it| !self.roles.nodes[*it].engine.staged().is_empty());
        let staging: Vec<usize> = staging.collect();
        let Some(node) = self.rng.pick(&staging).copied() else {
            return self.disturb_registry(until);
        };
        self.engine_speaks(node);
        self.roles.nodes[node].engine.ails_until = until;
        self.note(|w| format!("what {} runs beside a stage ails", w.roles.nodes[node].name));
    }

    fn disturb_registry(&mut self, until: u64) {
        let site = self.any_site();
        let denies = self.rng.chance(30);
        let local = &mut *self.roles.sites[site];
        let what = if denies { "denies the site" } else { "is down" };
        *(if denies { &mut local.denied_until } else { &mut local.registry_until }) = until;
        self.note(|w| {
            let seconds = (until - w.now) / 1_000;
            format!("registry of {} {what} for {seconds} s", w.roles.sites[site].name)
        });
    }

    pub(super) fn kill_somebody(&mut self) {
        let (site, node) = (self.any_site(), self.any_node());
        match self.rng.range(0..12) {
            0..2 => self.central_crash("by a power cut"),
            2..5 if self.roles.sites[site].process.up => self.local_crash(site, "by a power cut"),
            5..8 if self.roles.nodes[node].process.up => self.node_crash(node, "by a power cut"),
            8..10 => self.reboot_alone(node),
            _ => self.jump_clock(site, node),
        }
    }

    /// Some hours, more than a month, or back to 1970 as after an empty
    /// battery.
    fn jump_clock(&mut self, site: usize, node: usize) {
        let hours = match self.rng.range(0..10) {
            0 => -1_000,
            1 => 1_000,
            2 => -600_000,
            _ => i64::try_from(self.rng.range(0..20)).unwrap_or(0) - 10,
        };
        let who = match self.rng.range(0..5) {
            0..2 => {
                self.roles.sites[site].process.skew = hours * HOUR;
                format!("LO {}", self.roles.sites[site].name)
            }
            2 => {
                self.roles.central.process.skew = hours * HOUR;
                "CO".to_owned()
            }
            _ => {
                self.roles.nodes[node].process.skew = hours * HOUR;
                format!("EN {}", self.roles.nodes[node].name)
            }
        };
        self.note(|_| format!("the clock of {who} jumps by {hours} h"));
    }
}
