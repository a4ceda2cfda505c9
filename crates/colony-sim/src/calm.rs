//! The faults stop: the fleet must converge, and stay converged.

use colony_core::event::HoldScope;
use colony_core::site::{Action, Input};
use colony_world::LocalShell;

use crate::network::Happening;
use crate::world::World;

const MINUTE: u64 = 60_000;
/// The longest time convergence may take.
const PATIENCE: u64 = 6 * 60 * MINUTE;
/// How long the converged fleet is disturbed: no workload may restart.
const SHAKING: u64 = 10 * MINUTE;

impl World {
    /// Ends all faults and restarts every process.
    pub(crate) fn calm_down(&mut self) {
        self.note(|_| "the faults stop".to_owned());
        self.calm = true;
        let now = self.now;
        (self.roles.central.process.skew, self.roles.central.full_until) = (0, now);
        for site in &mut self.roles.sites {
            (site.cut_until, site.wan_until, site.git_until) = (now, now, now);
            (site.registry_until, site.denied_until, site.full_until) = (now, now, now);
            site.process.skew = 0;
        }
        for node in &mut self.roles.nodes {
            (node.cut_until, node.mute_until, node.unheard_until) = (now, now, now);
            node.full_until = now;
            node.process.skew = 0;
            node.engine.mend(now);
        }
        for path in self.roles.git.paths() {
            if path.starts_with("sites/") {
                self.roles.git.commit(vec![(path, None)]);
            }
        }
        self.bring_nodes_home();
        self.wake_all();
    }

    /// Nodes that are still connected to a replaced LO move to the LO in
    /// charge.
    fn bring_nodes_home(&mut self) {
        for node in 0..self.roles.nodes.len() {
            let name = &self.roles.sites[self.roles.nodes[node].site].name;
            let home = self.roles.sites.iter().position(|it| it.name == *name);
            let soon = self.rng.range(1..60_000);
            self.after(soon, Happening::NodeMoves { node, site: home.unwrap_or(0) });
        }
    }

    /// Runs until the fleet has converged, then disturbs it; returns the time
    /// of convergence.
    pub(crate) fn converge(&mut self, start: u64) -> u64 {
        let mut at = start;
        loop {
            at += MINUTE;
            self.run_until(at);
            self.lift_holds();
            if self.violation.is_some() {
                return at;
            }
            match self.unfinished() {
                None => break,
                Some(what) if at - start > PATIENCE => {
                    self.note_standing();
                    self.violate(format!("no convergence: {what}"));
                    return at;
                }
                Some(_) => {}
            }
        }
        self.shake(at);
        at
    }

    /// An operator releases all holds, cordons and waiting rollouts.
    fn lift_holds(&mut self) {
        for site in 0..self.founded {
            if !self.roles.sites[site].process.up {
                continue;
            }
            self.local_rejoin(site);
            let core = &self.roles.sites[site].core;
            let scopes: Vec<HoldScope> = core.holds().keys().cloned().collect();
            let removals = core.held_removal().is_some();
            let history = core.held_history().map(|it| it.commit.clone());
            let cordoned: Vec<_> = core.site_nodes().filter(|it| it.is_cordoned()).collect();
            let cordoned: Vec<_> = cordoned.iter().map(|it| it.name.clone()).collect();
            for scope in scopes {
                self.local_command(site, Action::ReleaseHold { scope });
            }
            for node in cordoned {
                self.local_command(site, Action::Uncordon { node });
            }
            self.retire_again(site);
            self.release_rollouts(site);
            self.label_canaries(site);
            self.welcome_again(site);
            if removals {
                self.local_command(site, Action::ReleaseRemoval);
            }
            if let Some(commit) = history {
                self.local_command(site, Action::AcceptHistory { commit });
            }
        }
    }

    /// An LO restored from a backup may know devices that were retired since.
    fn retire_again(&mut self, site: usize) {
        let scrapped = self.roles.nodes.iter().filter(|it| it.retired).map(|it| it.name.clone());
        let core = &self.roles.sites[site].core;
        let known: Vec<_> = scrapped.filter(|it| core.site_node(it).is_some()).collect();
        for node in known {
            self.local_command(site, Action::Retire { node });
        }
    }

    /// Devices that joined after the backups of both LO and CO join again.
    fn welcome_again(&mut self, site: usize) {
        let core = &self.roles.sites[site].core;
        let own = self.roles.nodes.iter().filter(|it| it.site == site && !it.retired);
        let unknown = own.filter(|it| core.is_ready() && core.site_node(&it.name).is_none());
        let unknown: Vec<_> = unknown.map(|it| it.name.clone()).collect();
        for node in unknown {
            self.local_step(site, Input::Joined(node));
        }
    }

    /// Processes crash and connections break: no workload may be restarted by
    /// that.
    fn shake(&mut self, start: u64) {
        let before = self.runs();
        self.note(|_| "converged; shaking".to_owned());
        for minute in 0..SHAKING / MINUTE {
            let at = start + minute * MINUTE;
            let nodes = self.roles.nodes.len() as u64;
            let node = usize::try_from(self.rng.range(0..nodes)).unwrap_or(0);
            let site = self.roles.nodes[node].site;
            match self.rng.range(0..4) {
                0 if self.roles.nodes[node].process.up => self.node_crash(node, "while shaken"),
                1 if self.roles.sites[site].process.up => self.local_crash(site, "while shaken"),
                2 => self.roles.nodes[node].cut_until = at + 40_000,
                _ => self.roles.sites[site].wan_until = at + 40_000,
            }
            self.run_until(at + MINUTE);
        }
        let after = self.runs();
        // Workloads under repair may recover meanwhile; running ones must keep
        // running.
        let lost: Vec<&String> = before.iter().filter(|it| !after.contains(it)).collect();
        if self.violation.is_none() && !lost.is_empty() {
            self.violate(format!("shaking restarted workloads: {lost:?} of {after:?}"));
        }
    }

    /// Every healthy workload, with the number of its run.
    fn runs(&self) -> Vec<String> {
        let mut all = Vec::new();
        for device in &self.roles.nodes {
            let well = device.engine.running(self.now);
            let runs = device.engine.runs();
            let own = well.keys().filter_map(|it| Some((it, runs.get(it)?.1)));
            all.extend(own.map(|(id, run)| format!("{}:{id}:{run}", device.name)));
        }
        all
    }
}
