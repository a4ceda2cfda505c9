//! Devices come, change and start over; their disks, and others', fill up.

use colony_core::site::Input;

use crate::network::Happening;
use crate::world::World;

impl World {
    /// A device is set up anew or is new, or a site's LO is replaced.
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
        let local = &self.sites[site];
        let reachable = self.now >= local.cut_until && self.now >= local.full_until;
        local.process.up && reachable && local.core.is_ready()
    }

    /// One more device joins; it says a little later what it can do.
    fn welcome(&mut self, site: usize) {
        if self.nodes.len() >= 24 || !self.can_join_node(site) {
            return;
        }
        let node = self.found_node(site);
        self.nodes[node].mute_until = self.now + self.rng.range(1_000..120_000);
        self.note(|w| format!("{} joins {}", w.nodes[node].name, w.sites[site].name));
    }

    /// Somebody gives a device the label, or takes it away.
    pub(crate) fn relabel(&mut self, node: usize) {
        let edge = &mut self.nodes[node];
        edge.labelled = !edge.labelled;
        let verb = if edge.labelled { "gains" } else { "loses" };
        self.note(|w| format!("{} {verb} the label", w.nodes[node].name));
        self.note_label(node);
        self.take_settings(node);
    }

    /// Somebody overrides what the device says it can do.
    fn change_architecture(&mut self, node: usize) {
        self.nodes[node].change_architecture();
        self.note(|w| format!("{} says otherwise what it is", w.nodes[node].name));
        self.take_settings(node);
    }

    fn take_settings(&mut self, node: usize) {
        if self.nodes[node].process.up {
            self.edge_crash(node, "to take its settings");
        }
    }

    fn set_up_anew(&mut self, node: usize) {
        let owner = self.nodes[node].site;
        if !self.can_join_node(owner) || owner >= self.founded {
            return;
        }
        self.note(|w| format!("{} is set up anew", w.nodes[node].name));
        let other = self.rng.chance(50);
        let edge = &mut self.nodes[node];
        edge.process.die();
        edge.wipe();
        edge.retired = false;
        if other {
            edge.change_architecture();
        }
        self.checker.forget_node(node);
        let name = self.nodes[node].name.clone();
        self.local_step(owner, Input::Joined(name));
        self.after(5_000, Happening::EdgeUp { node });
    }

    /// Somebody's own database or journal has no room.
    pub(super) fn fill_disk(&mut self) {
        let until = self.for_a_while();
        let (site, node) = (self.any_site(), self.any_node());
        let whose = match self.rng.range(0..4) {
            0 => {
                self.central.full_until = until;
                "CO".to_owned()
            }
            1 => {
                self.sites[site].full_until = until;
                format!("LO {}", self.sites[site].name)
            }
            _ => {
                self.nodes[node].full_until = until;
                format!("EN {}", self.nodes[node].name)
            }
        };
        self.note(|w| {
            format!("there is no room to write for {whose} for {} s", (until - w.now) / 1_000)
        });
    }
}
