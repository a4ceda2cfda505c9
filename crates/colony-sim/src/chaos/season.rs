//! Thirty days in which everything is switched off, or runs without
//! connections.
//!
//! A month of rounds every few seconds would take long to simulate, so periodic
//! rounds are nine hundred times less frequent, and sites wait that much longer
//! before they miss a node. Immediate events stay immediate: a long poll is
//! answered on a change, a report is sent when it is due, an engine reports its
//! events. So work continues at its pace, and only the idle time between is
//! shorter.

use colony_core::node::Step;
use colony_core::site::{self, Timing};

use crate::coverage::Trial;
use crate::network::Happening;
use crate::world::World;

const DAY: u64 = 86_400_000;
/// How much less frequent rounds are in such a month.
const RARE: u32 = 900;

/// The season of the story.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Season {
    #[default]
    Usual,
    /// The nodes are switched off, and maybe their LOs.
    Off { locals: bool },
    /// Everything runs, and some connections are down.
    Cut,
}

impl Season {
    pub(crate) fn slowness(self) -> u64 {
        if self == Season::Usual { 1 } else { u64::from(RARE) }
    }

    pub(crate) fn nodes_off(self) -> bool {
        matches!(self, Season::Off { .. })
    }

    pub(crate) fn locals_off(self) -> bool {
        self == Season::Off { locals: true }
    }

    /// How long a site waits for a node.
    pub(crate) fn timing(self) -> Timing {
        let usual = Timing::default();
        match self {
            Season::Usual | Season::Off { .. } => usual,
            Season::Cut => Timing {
                suspect: usual.suspect * RARE,
                lease: usual.lease * RARE,
                silence: usual.silence * RARE,
                ..usual
            },
        }
    }
}

impl World {
    /// In some stories a month passes.
    pub(crate) fn month(&mut self) {
        match self.rng.range(0..100) {
            0..7 => self.switch_off(),
            7..11 => self.cut_sites_off(),
            11..15 => self.cut_nodes_off(),
            _ => {}
        }
    }

    /// Only CO, operators and possibly the LOs run.
    fn switch_off(&mut self) {
        let locals = self.rng.chance(50);
        let who = if locals { "all sites are" } else { "all nodes are" };
        self.coverage.trial(if locals { Trial::SitesOff } else { Trial::NodesOff });
        self.note(|_| format!("{who} switched off for 30 days"));
        self.season = Season::Off { locals };
        for device in &mut self.roles.nodes {
            device.process.die();
            device.engine.power_cycle();
        }
        for local in self.roles.sites.iter_mut().filter(|_| locals) {
            local.process.die();
        }
        self.run_until(self.now + 30 * DAY);
        self.season = Season::Usual;
        self.note(|_| "everything is switched on again".to_owned());
        self.hasten();
        self.wake_all();
    }

    /// Sites lose CO, and some of them Git, and continue on their own.
    fn cut_sites_off(&mut self) {
        self.coverage.trial(Trial::SitesCut);
        let until = self.now + 30 * DAY;
        for site in 0..self.roles.sites.len() {
            let (lost, git) = (site == 0 || self.rng.chance(70), self.rng.chance(50));
            let local = &mut *self.roles.sites[site];
            if lost {
                local.wan_until = until;
                local.git_until = if git { until } else { local.git_until };
                self.note(|w| format!("{} loses CO for 30 days", w.roles.sites[site].name));
            }
        }
        self.run_cut_off(until);
    }

    /// All or some nodes lose their site and run their last manifest.
    fn cut_nodes_off(&mut self) {
        self.coverage.trial(Trial::NodesCut);
        let until = self.now + 30 * DAY;
        let all = self.rng.chance(50);
        for node in 0..self.roles.nodes.len() {
            if all || self.rng.chance(50) {
                self.roles.nodes[node].cut_until = until;
                self.note(|w| format!("{} loses its site for 30 days", w.roles.nodes[node].name));
            }
        }
        self.run_cut_off(until);
    }

    fn run_cut_off(&mut self, until: u64) {
        self.season = Season::Cut;
        self.restart_locals();
        self.run_until(until);
        self.season = Season::Usual;
        self.note(|_| "the lines are mended".to_owned());
        self.hasten();
        self.restart_locals();
    }

    /// Restarts the LOs with the timing of the season.
    fn restart_locals(&mut self) {
        for site in 0..self.roles.sites.len() {
            self.roles.sites[site].process.die();
            let soon = self.rng.range(500..5_000);
            self.after(soon, Happening::LocalUp { site });
        }
    }

    /// Every process that is down starts within a minute.
    pub(crate) fn wake_all(&mut self) {
        self.after(1, Happening::CentralUp);
        for site in 0..self.roles.sites.len() {
            let soon = self.rng.range(1..30_000);
            self.after(soon, Happening::LocalUp { site });
        }
        for node in 0..self.roles.nodes.len() {
            let soon = self.rng.range(1..60_000);
            self.after(soon, Happening::NodeUp { node });
        }
    }

    /// A report is due: it does not wait for the next round.
    pub(crate) fn node_hurries(&mut self, node: usize, step: &Step) {
        let owes = !step.changed.is_empty() && !self.roles.nodes[node].core.reports().is_empty();
        if self.season == Season::Cut && owes {
            self.poll_soon(node);
        }
    }

    /// Answers the long polls of nodes whose manifest changed.
    pub(crate) fn local_hurries(&mut self, site: usize, step: &site::Step) {
        if self.season != Season::Cut {
            return;
        }
        for node in 0..self.roles.nodes.len() {
            let device = &self.roles.nodes[node];
            let version =
                self.roles.sites[site].core.site_node(&device.name).map(|it| it.version());
            let served = self.checker.served(site, node).map(|it| it.0);
            let is_new = step.changed.site_nodes.contains(&device.name) && version != served;
            if device.site == site && is_new {
                self.poll_soon(node);
            }
        }
    }

    /// The engine reports events of its containers.
    pub(crate) fn engine_speaks(&mut self, node: usize) {
        if self.season == Season::Cut {
            for wait in [1_000, 4_000, 12_000] {
                self.after(wait, Happening::NodeLook { node, again: false });
            }
        }
    }

    fn poll_soon(&mut self, node: usize) {
        let soon = self.rng.range(50..1_000);
        self.after(soon, Happening::NodePoll { node, again: false });
    }
}
