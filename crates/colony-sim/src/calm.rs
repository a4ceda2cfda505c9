//! The faults stop: everything wanted must come true, and stay so.

use colony_core::event::HoldScope;
use colony_core::site::Action;
use colony_core::state::{Op, State};
use colony_core::why;

use crate::network::Happening;
use crate::world::World;

const MINUTE: u64 = 60_000;
/// So long may convergence take.
const PATIENCE: u64 = 6 * 60 * MINUTE;
/// So long it is shaken afterwards: nothing may restart.
const SHAKING: u64 = 10 * MINUTE;

impl World {
    /// Everybody is brought back, every line is mended, every hold lifted.
    pub(crate) fn calm_down(&mut self) {
        self.note(|_| "the faults stop".to_owned());
        self.calm = true;
        let now = self.now;
        for site in &mut self.sites {
            (site.cut_until, site.wan_until, site.git_until, site.registry_until) =
                (now, now, now, now);
            site.process.skew = 0;
        }
        for node in &mut self.nodes {
            node.cut_until = now;
            node.process.skew = 0;
            let engine = &mut node.engine;
            (engine.down_until, engine.disk_full_until, engine.stubborn_until) = (now, now, now);
        }
        for path in self.git.paths() {
            if path.starts_with("sites/") {
                self.git.commit(vec![(path, None)]);
            }
        }
        self.after(1, Happening::CentralUp);
        for site in 0..self.sites.len() {
            self.after(1, Happening::LocalUp { site });
        }
        for node in 0..self.nodes.len() {
            self.after(1, Happening::EdgeUp { node });
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
        for site in 0..self.sites.len() {
            let core = &self.sites[site].core;
            let scopes: Vec<HoldScope> = core.holds().keys().cloned().collect();
            let removals = !core.held_removals().is_empty();
            let history = core.held_history().cloned();
            let cordoned: Vec<_> = core.members().filter(|it| it.is_cordoned()).collect();
            let cordoned: Vec<_> = cordoned.iter().map(|it| it.name.clone()).collect();
            for scope in scopes {
                self.local_command(site, Action::ReleaseHold { scope });
            }
            for node in cordoned {
                self.local_command(site, Action::Uncordon { node });
            }
            if removals {
                self.local_command(site, Action::ReleaseRemoval);
            }
            if let Some(commit) = history {
                self.local_command(site, Action::AcceptHistory { commit });
            }
        }
    }

    /// The first thing that is not as it should be.
    fn unfinished(&self) -> Option<String> {
        (0..self.sites.len())
            .find_map(|site| self.site_unfinished(site))
            .or_else(|| (0..self.nodes.len()).find_map(|node| self.node_unfinished(node)))
    }

    fn site_unfinished(&self, site: usize) -> Option<String> {
        let local = &self.sites[site];
        let core = &local.core;
        if !core.is_ready() || core.git() != Some(self.git.head()) {
            return Some(format!("{} is not at Git's head", local.name));
        }
        if let Some(member) = core.members().find(|it| !it.is_online()) {
            return Some(format!("{} is {:?}", member.name, member.presence()));
        }
        let open = core.placements().find(|it| !self.is_settled(site, it));
        open.map(|it| format!("{} is {} at {}", it.id, it.state(), local.name))
            .or_else(|| self.central_unfinished(site))
    }

    /// As wanted, or failed for good by the revision's own fault.
    fn is_settled(&self, site: usize, placement: &colony_core::site::Placement) -> bool {
        let core = &self.sites[site].core;
        let Some(deployment) = core.deployment(&placement.id.deployment) else { return false };
        match placement.state() {
            State::Installed => {
                let target = placement.revisions.target.as_ref().map(|it| it.workload);
                deployment.effective().map(|it| it.workload) == target
                    || deployment
                        .workload_rejected_on(&placement.id.node)
                        .is_some_and(|it| Some(it) != target)
                    || deployment.is_stopped()
            }
            State::Pending => deployment.is_stopped(),
            State::Failed(op) => {
                op != Op::Delete && placement.retry_at().is_none() && placement.tries() > 0
                    || deployment.is_stopped()
            }
            State::Installing
            | State::Updating
            | State::RollingBack
            | State::Unknown(_)
            | State::Deleting
            | State::Deleted => false,
        }
    }

    /// What runs on the device is what the site believes.
    fn node_unfinished(&self, node: usize) -> Option<String> {
        let edge = &self.nodes[node];
        let core = &self.sites[edge.site].core;
        let there = edge.engine.deployments();
        let running = edge.engine.running(self.now);
        let own = || core.placements().filter(|it| it.id.node == edge.name);
        let stray = there.iter().find(|it| !own().any(|p| p.id.deployment == **it));
        if let Some(stray) = stray {
            return Some(format!("{} still has {stray}", edge.name));
        }
        let missing = own()
            .find(|it| it.state() == State::Installed && !running.contains_key(&it.id.deployment));
        missing.map(|it| format!("{} does not run {}", edge.name, it.id.deployment))
    }

    /// Processes die, lines break: no workload may be restarted by that.
    fn shake(&mut self, start: u64) {
        let before = self.runs();
        self.note(|_| "converged; shaking".to_owned());
        for minute in 0..SHAKING / MINUTE {
            let at = start + minute * MINUTE;
            let node = usize::try_from(self.rng.range(0..self.nodes.len() as u64)).unwrap_or(0);
            let site = self.nodes[node].site;
            match self.rng.range(0..4) {
                0 => self.edge_crash(node, "while shaken"),
                1 if self.sites[site].process.up => self.local_crash(site, "while shaken"),
                2 => self.nodes[node].cut_until = at + 40_000,
                _ => self.sites[site].wan_until = at + 40_000,
            }
            self.run_until(at + MINUTE);
        }
        let after = self.runs();
        if self.violation.is_none() && before != after {
            self.violate(format!("shaking restarted workloads: {before:?} became {after:?}"));
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

impl World {
    /// Where everybody stands, for the trace of a story that ends badly.
    pub(crate) fn note_standing(&mut self) {
        for site in 0..self.sites.len() {
            let now = self.sites[site].process.now(self.now, &mut self.rng);
            let core = &self.sites[site].core;
            let open = core.placements().filter(|it| !self.is_settled(site, it));
            let open: Vec<String> = open
                .map(|it| match why::placement(core, &it.id, now) {
                    Some(why) => format!("{}: {why}", it.id),
                    None => format!("{} is {}", it.id, it.state()),
                })
                .collect();
            open.into_iter().for_each(|line| self.note(|_| line));
        }
        for node in 0..self.nodes.len() {
            self.note(|w| {
                let edge = &w.nodes[node];
                let core = &w.sites[edge.site].core;
                let wanted: Vec<String> = edge
                    .core
                    .wanted()
                    .keys()
                    .map(|it| format!("{} {:?}", &it.to_string()[..8], edge.core.phase(it)))
                    .collect();
                format!(
                    "EN {} at version {:?} of {}, listed {:?}, wants {wanted:?}, reports {}",
                    edge.name,
                    edge.core.version().map(|it| it.get()),
                    core.member(&edge.name).map_or(0, |it| it.version()),
                    core.member(&edge.name).map(|it| it.listed().len()),
                    edge.core.reports().len(),
                )
            });
        }
    }
}
