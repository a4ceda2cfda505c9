//! The rounds of the simulated LOs: when they read Git, send events and tick.

use colony_core::site::{Input, Step};
use colony_world::{LocalShell, ToLocal, UplinkShell};

use crate::network::Happening;
use crate::world::World;

const SYNC: u64 = 3_000;

impl World {
    /// Schedules the timer of a stored step.
    pub(crate) fn schedule_local(&mut self, site: usize, step: &Step) {
        let process = &mut self.roles.sites[site].process;
        let life = process.life;
        if let Some(at) = process.plan_tick(step.wake) {
            self.at(at, Happening::LocalWake { site, life, at });
        }
    }

    pub(crate) fn local_crash(&mut self, site: usize, when: &str) {
        let down = self.rng.range(500..60_000);
        self.note(|w| format!("LO {} dies {when}", w.roles.sites[site].name));
        self.roles.sites[site].process.die();
        self.after(down, Happening::LocalUp { site });
    }

    pub(crate) fn local_up(&mut self, site: usize) {
        if self.roles.sites[site].process.up || self.season.locals_off() {
            return;
        }
        self.roles.sites[site].set_timing(self.season.timing());
        self.note(|w| format!("LO {} is back", w.roles.sites[site].name));
        self.local_start(site);
    }

    pub(crate) fn local_wake(&mut self, site: usize, life: u64, at: u64) {
        if self.roles.sites[site].process.ticks(at, life) {
            self.local_step(site, Input::Tick);
        }
    }

    /// Reads Git, sends events, requests commands.
    pub(crate) fn local_sync(&mut self, site: usize) {
        let next = self.rng.range(SYNC / 2..SYNC * 2) * self.season.slowness();
        self.after(next, Happening::LocalSync { site });
        if !self.roles.sites[site].process.up {
            return;
        }
        if !self.roles.sites[site].seeded {
            self.request_seed(site);
        }
        let cut = self.now < self.roles.sites[site].git_until;
        self.local_git_answers(site, !cut);
        if !cut && self.roles.sites[site].process.up {
            self.local_fetch(site);
        }
        if self.roles.sites[site].process.up {
            self.local_send_events(site);
            self.local_request_commands(site);
        }
    }

    pub(crate) fn local_hears(&mut self, site: usize, message: ToLocal) {
        if let ToLocal::EventsTaken { incarnation, answers, .. } = &message
            && self.roles.sites[site].process.up
        {
            self.local_answered(site, *incarnation, *answers);
        }
        self.local_receive(site, message);
    }
}
