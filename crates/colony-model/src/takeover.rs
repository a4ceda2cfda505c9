//! A new orchestrator is told what the centre knows of its site.

use std::sync::Arc;

use colony_core::site::{Input, Seed};
use colony_core::why::{self, Cause, SiteCause};

use crate::check::Rule;
use crate::plan::Flaw;
use crate::world::World;

impl World {
    /// What runs at the site is not known yet; asked as the role asks.
    pub(crate) fn lacks_seed(&self) -> bool {
        let core = &self.local.core;
        if core.is_ready() {
            return false;
        }
        let now = self.local.clock.at_site(self.now);
        why::site(core, now)
            .iter()
            .any(|it| matches!(it.cause, Cause::Site(SiteCause::SiteNotSeeded {})))
    }

    pub(crate) fn local_seed(&mut self) {
        let git = Arc::clone(&self.git);
        let seeded = self.central.core.seed(&self.site, |blob| git.text(blob));
        let seeded = seeded.expect("the site was added");
        if !seeded.left_out.is_empty() {
            self.break_rule(Rule::Seed, format!("left out: {:?}", seeded.left_out));
        }
        self.say("LO is told what the centre knows of its site".to_owned());
        let seed = match self.plan.flaw {
            Flaw::EmptySeed => Seed::default(),
            Flaw::None | Flaw::AcksFirst | Flaw::TakesStaged => seeded.seed,
        };
        self.seeded = seed.placements.iter().map(|it| (it.id.clone(), it.state)).collect();
        let _ = self.local_step(Input::Seed(Box::new(seed)));
        self.seeded.clear();
    }
}
