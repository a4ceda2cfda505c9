//! The faults stop: everything wanted must come true, and stay so.

use colony_core::event::HoldScope;
use colony_core::site::{Action, Input};

use crate::network::Happening;
use crate::world::World;

const MINUTE: u64 = 60_000;
/// So long may convergence take.
const PATIENCE: u64 = 6 * 60 * MINUTE;
/// So long it is shaken afterwards: nothing may restart.
const SHAKING: u64 = 10 * MINUTE;

impl World {
    /// Everybody is brought back, every line is mended.
    pub(crate) fn calm_down(&mut self) {
        self.note(|_| "the faults stop".to_owned());
        self.calm = true;
        let now = self.now;
        (self.central.process.skew, self.central.full_until) = (0, now);
        for site in &mut self.sites {
            (site.cut_until, site.wan_until, site.git_until) = (now, now, now);
            (site.registry_until, site.denied_until, site.full_until) = (now, now, now);
            site.process.skew = 0;
        }
        for node in &mut self.nodes {
            (node.cut_until, node.mute_until, node.unheard_until) = (now, now, now);
            node.full_until = now;
            node.process.skew = 0;
            node.engine.mend(now);
        }
        for path in self.git.paths() {
            if path.starts_with("sites/") {
                self.git.commit(vec![(path, None)]);
            }
        }
        self.bring_nodes_home();
        self.wake_all();
    }

    /// Whoever still talks to an LO that was replaced finds the one in charge.
    fn bring_nodes_home(&mut self) {
        for node in 0..self.nodes.len() {
            let name = &self.sites[self.nodes[node].site].name;
            let home = self.sites.iter().position(|it| it.name == *name);
            let soon = self.rng.range(1..60_000);
            self.after(soon, Happening::EdgeMoves { node, site: home.unwrap_or(0) });
        }
    }

    /// Runs until everything is as wanted, then shakes it; returns when it was.
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

    /// An operator who lets everything go.
    fn lift_holds(&mut self) {
        for site in 0..self.founded {
            if !self.sites[site].process.up {
                continue;
            }
            self.local_rejoin(site);
            let core = &self.sites[site].core;
            let scopes: Vec<HoldScope> = core.holds().keys().cloned().collect();
            let removals = core.held_removal().is_some();
            let history = core.held_history().map(|it| it.commit.clone());
            let cordoned: Vec<_> = core.members().filter(|it| it.is_cordoned()).collect();
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

    /// An LO that came from a backup knows devices that were scrapped since.
    fn retire_again(&mut self, site: usize) {
        let scrapped = self.nodes.iter().filter(|it| it.retired).map(|it| it.name.clone());
        let core = &self.sites[site].core;
        let known: Vec<_> = scrapped.filter(|it| core.member(it).is_some()).collect();
        for node in known {
            self.local_command(site, Action::Retire { node });
        }
    }

    /// Devices that joined after the backups of both LO and CO join once more.
    fn welcome_again(&mut self, site: usize) {
        let core = &self.sites[site].core;
        let own = self.nodes.iter().filter(|it| it.site == site && !it.retired);
        let unknown = own.filter(|it| core.is_ready() && core.member(&it.name).is_none());
        let unknown: Vec<_> = unknown.map(|it| it.name.clone()).collect();
        for node in unknown {
            self.local_step(site, Input::Joined(node));
        }
    }

    /// Processes die, lines break: no workload may be restarted by that.
    fn shake(&mut self, start: u64) {
        let before = self.runs();
        self.note(|_| "converged; shaking".to_owned());
        for minute in 0..SHAKING / MINUTE {
            let at = start + minute * MINUTE;
            let nodes = self.nodes.len() as u64;
            let node = usize::try_from(self.rng.range(0..nodes)).unwrap_or(0);
            let site = self.nodes[node].site;
            match self.rng.range(0..4) {
                0 if self.nodes[node].process.up => self.edge_crash(node, "while shaken"),
                1 if self.sites[site].process.up => self.local_crash(site, "while shaken"),
                2 => self.nodes[node].cut_until = at + 40_000,
                _ => self.sites[site].wan_until = at + 40_000,
            }
            self.run_until(at + MINUTE);
        }
        let after = self.runs();
        // What was being repaired may come back meanwhile; what ran runs on.
        let lost: Vec<&String> = before.iter().filter(|it| !after.contains(it)).collect();
        if self.violation.is_none() && !lost.is_empty() {
            self.violate(format!("shaking restarted workloads: {lost:?} of {after:?}"));
        }
    }

    /// Every workload that runs well, with the number of its run.
    fn runs(&self) -> Vec<String> {
        let mut all = Vec::new();
        for edge in &self.nodes {
            let well = edge.engine.running(self.now);
            let runs = edge.engine.runs();
            let own = well.keys().filter_map(|it| Some((it, runs.get(it)?.1)));
            all.extend(own.map(|(id, run)| format!("{}:{id}:{run}", edge.name)));
        }
        all
    }
}
