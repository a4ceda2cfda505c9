//! LOs join, are replaced, and join again; those they replace may still run.

use std::collections::BTreeMap;

use colony_core::event::Incarnation;
use colony_core::id::{PlacementId, SiteName};
use colony_core::site::Input;
use colony_core::state::State;

use crate::local::Local;
use crate::network::Happening;
use crate::world::World;

impl World {
    /// Lets an LO join; CO decides.
    pub(crate) fn central_join(&mut self, site: &SiteName, replace: bool) -> Option<Incarnation> {
        let now = self.central.process.now(self.now, &mut self.rng).wall;
        self.central.core.site_add(site);
        let incarnation = self.central.core.join(site, now, replace).ok();
        incarnation.filter(|_| self.central_store())
    }

    /// A fresh LO asks CO what it knows of the site, until it was told.
    pub(crate) fn local_seed(&mut self, site: usize) {
        if !self.can_join(site) {
            return;
        }
        let name = self.sites[site].name.clone();
        let seeded = self.central.core.seed(&name, |blob| self.git.text(blob));
        let seeded = seeded.expect("the site was added");
        if !seeded.left_out.is_empty() {
            self.violate(format!("left out of the seed: {:?}", seeded.left_out));
        }
        let states = seeded.seed.placements.iter().map(|it| (it.id.clone(), it.state));
        let states: BTreeMap<PlacementId, State> = states.collect();
        let log = self.sites[site].core.log().clone();
        self.checker.begin(site, log, states);
        let step = self.local_step(site, Input::Seed(Box::new(seeded.seed)));
        self.sites[site].seeded |= step.is_some();
    }

    fn can_join(&self, site: usize) -> bool {
        self.central.process.up && self.now >= self.sites[site].wan_until
    }

    /// Another LO takes a site over; the one before is lost, or runs on.
    pub(crate) fn replace_local(&mut self, site: usize) {
        if !self.can_join(site) {
            return;
        }
        let name = self.sites[site].name.clone();
        let replace = self.rng.chance(70);
        let Some(incarnation) = self.central_join(&name, replace) else {
            return self.note(|_| format!("CO lets nobody take {name} over"));
        };
        self.note(|_| format!("LO {name} is replaced by incarnation {incarnation}"));
        let runs_on = self.sites[site].process.up && self.rng.chance(50);
        if runs_on {
            self.checker.haunts(site, self.sites.len());
        }
        let old = self.begin_local(site, incarnation);
        if runs_on {
            self.haunt(site, old);
        }
    }

    /// An LO with another past than CO's is invited again, on its machine.
    pub(crate) fn local_rejoin(&mut self, site: usize) {
        if !self.sites[site].uplink.diverged {
            return;
        }
        if !self.can_join(site) {
            return self.after(60_000, Happening::LocalRejoin { site });
        }
        let name = self.sites[site].name.clone();
        let Some(incarnation) = self.central_join(&name, true) else { return };
        self.note(|_| format!("LO {name} joins again as incarnation {incarnation}"));
        // Records of the same incarnation are its own: it goes on with them.
        if incarnation == self.sites[site].core.log().incarnation {
            return self.sites[site].uplink.forget();
        }
        self.begin_local(site, incarnation);
    }

    /// Puts an empty LO in the place of the one that was there.
    fn begin_local(&mut self, site: usize, incarnation: Incarnation) -> Local {
        let old = &self.sites[site];
        let mut fresh = Local::new(old.name.clone(), incarnation, self.season.timing());
        fresh.process = old.process.clone();
        fresh.process.die();
        fresh.process.rise(self.now, fresh.core.clock());
        fresh.answers.restart(fresh.process.life);
        (fresh.cut_until, fresh.git_until) = (old.cut_until, old.git_until);
        (fresh.wan_until, fresh.registry_until) = (old.wan_until, old.registry_until);
        let old = std::mem::replace(&mut self.sites[site], fresh);
        self.checker.successor(&old.name, old.incarnation, &self.central.events);
        self.checker.begin(site, self.sites[site].core.log().clone(), BTreeMap::new());
        old
    }

    /// The old LO runs on, and some nodes talk to it for a while.
    fn haunt(&mut self, site: usize, mut old: Local) {
        let ghost = self.sites.len();
        old.ghost = true;
        old.process.forget_tick();
        self.sites.push(old);
        for node in 0..self.nodes.len() {
            if self.nodes[node].site == site && self.rng.chance(50) {
                self.nodes[node].site = ghost;
                let late = self.rng.range(5_000..900_000);
                self.after(late, Happening::EdgeMoves { node, site });
            }
        }
        self.note(|w| format!("the LO before of {} runs on", w.sites[site].name));
        self.after(100, Happening::LocalSync { site: ghost });
        self.local_step(ghost, Input::Tick);
    }

    /// The node is told of the LO that is in charge.
    pub(crate) fn edge_moves(&mut self, node: usize, site: usize) {
        self.nodes[node].site = site;
    }

    /// Whoever was replaced and can reach CO must know it by the end.
    pub(crate) fn ghosts_unfinished(&self) -> Option<String> {
        let mut ghosts = self.sites.iter().filter(|it| it.ghost && it.process.up);
        let free = ghosts.find(|it| it.core.fenced_by().is_none())?;
        Some(format!("a replaced LO of {} is not fenced", free.name))
    }
}
