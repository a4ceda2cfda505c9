//! All faults, and all actions of operators and other people.

pub(crate) mod backup;
mod boot;
mod device;
mod edit;
mod fault;
mod full;
mod operate;
pub(crate) mod season;
mod succession;
pub(crate) mod torn;

use colony_core::id::{DeploymentId, SiteName};
use colony_world::deployment_id;

use crate::network::Happening;
use crate::world::World;

/// The applications of the simulated world.
pub(crate) const APPS: [&str; 5] = ["pump", "press", "oven", "robot", "scale"];

impl World {
    /// Executes one random action and schedules the next.
    pub(crate) fn chaos(&mut self) {
        if self.calm {
            return;
        }
        self.faults += 1;
        match self.rng.range(0..100) {
            _ if self.season.nodes_off() => self.edit(),
            0..25 => self.edit(),
            25..32 => self.edit_badly(),
            32..50 => self.disturb_line(),
            50..65 => self.disturb_engine(),
            65..69 => self.fill_disk(),
            69..79 => self.kill_somebody(),
            79..91 => self.operate(),
            91..95 => self.back_up_or_restore(),
            95..97 => self.relabel_somebody(),
            _ => self.disaster(),
        }
        let next = self.rng.range(1_000..45_000) * self.season.slowness();
        self.after(next, Happening::Chaos);
    }

    fn relabel_somebody(&mut self) {
        let node = self.any_node();
        self.relabel(node);
    }

    pub(crate) fn any_site(&mut self) -> usize {
        usize::try_from(self.rng.range(0..self.founded as u64)).unwrap_or(0)
    }

    fn any_node(&mut self) -> usize {
        usize::try_from(self.rng.range(0..self.roles.nodes.len() as u64)).unwrap_or(0)
    }

    fn any_app(&mut self, site: usize) -> (String, DeploymentId) {
        let app = self.rng.pick(&APPS).copied().unwrap_or("pump");
        let name = app_name(&self.roles.sites[site].name, app);
        let id = deployment_id(&name);
        (name, id)
    }

    fn for_a_while(&mut self) -> u64 {
        let longest = if self.rng.chance(10) { 1_500_000 } else { 120_000 };
        self.now + self.rng.range(2_000..longest)
    }
}

/// Deployment names are fleet-wide, so each site has its own.
pub(crate) fn app_name(site: &SiteName, app: &str) -> String {
    format!("{app}-{site}")
}
