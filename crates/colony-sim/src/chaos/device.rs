//! Devices join, change and are reinstalled; disks fill up.

use colony_core::site::Input;
use colony_world::LocalShell;

use crate::network::Happening;
use crate::world::World;

impl World {
    /// A device is reinstalled or added, or a site's LO is replaced.
    pub(super) fn disaster(&mut self) {
        let (site, node) = (self.any_site(), self.any_node());
        match self.rng.range(0..10) {
            0..4 => self.replace_local(site),
            4..5 => self.welcome(site),
            5..7 => self.change_architecture(node),
            _ => self.set_up_anew(node),
        }
    }

    fn can_join_node(&self, site: usize) -> bool {
        let local = &self.roles.sites[site];
        let reachable = self.now >= local.cut_until && self.now >= local.full_until;
        local.process.up && reachable && local.core.is_ready()
    }

    /// One more device joins; it reports its capabilities a little later.
    fn welcome(&mut self, site: usize) {
        if self.roles.nodes.len() >= 24 || !self.can_join_node(site) {
            return;
        }
        let node = self.found_node(site);
        self.roles.nodes[node].mute_until = self.now + self.rng.range(1_000..120_000);
        self.note(|w| format!("{} joins {}", w.roles.nodes[node].name, w.roles.sites[site].name));
    }

    /// An operator adds the label to a device, or removes it.
    pub(crate) fn relabel(&mut self, node: usize) {
        let device = &mut *self.roles.nodes[node];
        device.labelled = !device.labelled;
        let verb = if device.labelled { "gains" } else { "loses" };
        self.note(|w| format!("{} {verb} the label", w.roles.nodes[node].name));
        self.note_label(node);
        self.take_settings(node);
    }

    /// An operator overrides the reported capabilities of the device.
    fn change_architecture(&mut self, node: usize) {
        self.roles.nodes[node].change_architecture();
        self.note(|w| format!("{} says otherwise what it is", w.roles.nodes[node].name));
        self.take_settings(node);
    }

    fn take_settings(&mut self, node: usize) {
        if self.roles.nodes[node].process.up {
            self.node_crash(node, "to take its settings");
        }
    }

    fn set_up_anew(&mut self, node: usize) {
        let owner = self.roles.nodes[node].site;
        if !self.can_join_node(owner) || owner >= self.founded {
            return;
        }
        self.note(|w| format!("{} is set up again", w.roles.nodes[node].name));
        let other = self.rng.chance(50);
        let device = &mut *self.roles.nodes[node];
        device.process.die();
        device.wipe();
        device.retired = false;
        if other {
            device.change_architecture();
        }
        self.checker.forget_node(node);
        let name = self.roles.nodes[node].name.clone();
        self.local_step(owner, Input::Joined(name));
        self.after(5_000, Happening::NodeUp { node });
    }

    /// The disk of a role's database or journal is full.
    pub(super) fn fill_disk(&mut self) {
        let until = self.for_a_while();
        let (site, node) = (self.any_site(), self.any_node());
        let whose = match self.rng.range(0..4) {
            0 => {
                self.roles.central.full_until = until;
                "CO".to_owned()
            }
            1 => {
                self.roles.sites[site].full_until = until;
                format!("LO {}", self.roles.sites[site].name)
            }
            _ => {
                self.roles.nodes[node].full_until = until;
                format!("EN {}", self.roles.nodes[node].name)
            }
        };
        self.note(|w| {
            format!("there is no room to write for {whose} for {} s", (until - w.now) / 1_000)
        });
    }
}
