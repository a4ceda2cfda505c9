//! The rounds of the simulated CO: its Git writer, crashes and restarts.

use colony_core::fleet::Effect;
use colony_core::id::SiteName;
use colony_world::{Change, WriterShell};

use crate::network::Happening;
use crate::world::World;

const WORK: u64 = 4_000;

impl World {
    /// Queues reverts for rollbacks, and writes the queued changes.
    pub(crate) fn central_work(&mut self) {
        let next = self.rng.range(WORK / 2..WORK * 2) * self.season.slowness();
        self.after(next, Happening::CentralWork);
        if !self.roles.central.process.up {
            return;
        }
        self.central_queue_reverts();
        let queued: Vec<u64> = self.roles.central.changes.keys().copied().collect();
        for number in queued {
            let delay = self.rng.range(20..3_000);
            self.after(delay, Happening::CentralPush { number });
        }
    }

    /// An operator deploys through CO: accepted at once, written a little
    /// later.
    pub(crate) fn central_deploy(
        &mut self,
        site: &SiteName,
        path: &str,
        text: Option<String>,
        mark: Option<(String, Option<String>)>,
    ) {
        let name = path.rsplit('/').next().and_then(|it| it.strip_suffix(".yaml"));
        let name = name.and_then(|it| it.parse().ok()).filter(|_| self.roles.central.process.up);
        let Some(name) = name else { return };
        let expected = self.roles.git.blob_at_head(path).cloned();
        let now = self.roles.central.process.now(self.now, self.rng.next()).wall;
        let _ = self.roles.central.core.change_planned(site, &name, now);
        let site = site.clone();
        self.central_queue(Change { site, name, expected, text, mark, reverts: false });
    }

    /// CO must not flag any transition of a sound LO.
    pub(crate) fn check_effects(&mut self, effects: &[Effect]) {
        let flag = effects.iter().find_map(|it| match it {
            Effect::Flagged { site, placement, flag } => {
                Some(format!("CO flags {placement} at {site}: {flag}"))
            }
            Effect::Revert(_) => None,
        });
        if let Some(what) = flag {
            self.violate(what);
        }
    }

    pub(crate) fn central_crash(&mut self, when: &str) {
        if !self.roles.central.process.up {
            return;
        }
        let down = self.rng.range(500..60_000);
        self.note(|_| format!("CO dies {when}"));
        self.roles.central.process.die();
        self.after(down, Happening::CentralUp);
    }

    pub(crate) fn central_up(&mut self) {
        if self.roles.central.process.up {
            return;
        }
        let central = &mut *self.roles.central;
        central.restore();
        central.process.rise(self.now, Default::default());
        self.note(|_| "CO is back".to_owned());
    }
}
