//! LOs join, are replaced, and join again; a replaced LO may still run.

use std::collections::BTreeMap;

use colony_core::event::Incarnation;
use colony_core::site::Input;
use colony_world::{JoinShell, Local, LocalShell, Shared};

use crate::network::Happening;
use crate::world::World;

impl World {
    /// A fresh LO requests its seed from CO until it gets one.
    pub(crate) fn request_seed(&mut self, site: usize) {
        if self.can_join(site) {
            self.local_seed(site);
        }
    }

    fn can_join(&self, site: usize) -> bool {
        self.roles.central.process.up && self.now >= self.roles.sites[site].wan_until
    }

    /// Another LO takes a site over; the one before is lost, or continues to
    /// run.
    pub(crate) fn replace_local(&mut self, site: usize) {
        if !self.can_join(site) {
            return;
        }
        let name = self.roles.sites[site].name.clone();
        let replace = self.rng.chance(70);
        let Some(incarnation) = self.central_join(&name, replace) else {
            return self.note(|_| format!("CO lets no LO take {name} over"));
        };
        self.note(|_| format!("LO {name} is replaced by incarnation {incarnation}"));
        let runs_on = self.roles.sites[site].process.up && self.rng.chance(50);
        if runs_on {
            self.checker.haunts(site, self.roles.sites.len());
        }
        let old = self.begin_local(site, incarnation);
        if runs_on {
            self.haunt(site, old);
        }
    }

    /// An LO whose log diverged from CO's joins again, on the same machine.
    pub(crate) fn local_rejoin(&mut self, site: usize) {
        if !self.roles.sites[site].uplink.diverged {
            return;
        }
        if !self.can_join(site) {
            return self.after(60_000, Happening::LocalRejoin { site });
        }
        let name = self.roles.sites[site].name.clone();
        let Some(incarnation) = self.central_join(&name, true) else { return };
        self.note(|_| format!("LO {name} joins again as incarnation {incarnation}"));
        // Records of the same incarnation are its own: it continues with them.
        if incarnation == self.roles.sites[site].core.log().incarnation {
            return self.roles.sites[site].uplink.forget();
        }
        self.begin_local(site, incarnation);
    }

    /// Replaces the LO of a site by an empty one.
    fn begin_local(&mut self, site: usize, incarnation: Incarnation) -> Shared<Local> {
        let old = &self.roles.sites[site];
        let mut fresh = Local::new(old.name.clone(), incarnation, self.season.timing());
        fresh.process = old.process.clone();
        fresh.process.die();
        fresh.process.rise(self.now, fresh.core.clock());
        fresh.answers.restart(fresh.process.life);
        (fresh.cut_until, fresh.git_until) = (old.cut_until, old.git_until);
        (fresh.wan_until, fresh.registry_until) = (old.wan_until, old.registry_until);
        let old = std::mem::replace(&mut self.roles.sites[site], Shared::new(fresh));
        self.checker.successor(&old.name, old.incarnation, &self.roles.central.events);
        self.checker.begin(site, self.roles.sites[site].core.log().clone(), BTreeMap::new());
        old
    }

    /// The old LO continues to run, and some nodes stay connected to it for a
    /// while.
    fn haunt(&mut self, site: usize, mut old: Shared<Local>) {
        let ghost = self.roles.sites.len();
        old.ghost = true;
        old.process.forget_tick();
        self.roles.sites.push(old);
        for node in 0..self.roles.nodes.len() {
            if self.roles.nodes[node].site == site && self.rng.chance(50) {
                self.roles.nodes[node].site = ghost;
                let late = self.rng.range(5_000..900_000);
                self.after(late, Happening::NodeMoves { node, site });
            }
        }
        self.note(|w| format!("the LO before of {} runs on", w.roles.sites[site].name));
        self.after(100, Happening::LocalSync { site: ghost });
        self.local_step(ghost, Input::Tick);
    }

    /// The node connects to the LO in charge.
    pub(crate) fn node_moves(&mut self, node: usize, site: usize) {
        self.roles.nodes[node].site = site;
    }

    /// A replaced LO that can reach CO must be fenced in the end.
    pub(crate) fn ghosts_unfinished(&self) -> Option<String> {
        let mut ghosts = self.roles.sites.iter().filter(|it| it.ghost && it.process.up);
        let free = ghosts.find(|it| it.core.fenced_by().is_none())?;
        Some(format!("a replaced LO of {} is not fenced", free.name))
    }
}
