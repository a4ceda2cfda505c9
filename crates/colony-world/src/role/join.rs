//! A local orchestrator joins its site, and gets its seed from the central one.

use colony_core::event::Incarnation;
use colony_core::id::SiteName;
use colony_core::site::{Input, Seed, Site};
use colony_core::time::Now;
use colony_core::why::{self, Cause, SiteCause};

use crate::host::{Breach, Flaw, Host, Role};
use crate::role::central::CentralShell;
use crate::role::local::LocalShell;

/// The orchestrator has its seed; checked as the role checks it.
pub fn knows_its_site(core: &Site) -> bool {
    let frozen = why::site(core, Now::default());
    !frozen.iter().any(|it| matches!(it.cause, Cause::Site(SiteCause::SiteNotSeeded {})))
}

/// Joins and seeds.
pub trait JoinShell: Host {
    /// An orchestrator joins, if the central one accepts it and can answer.
    fn central_join(&mut self, site: &SiteName, replace: bool) -> Option<Incarnation> {
        let now = self.present(Role::Central).wall;
        let core = &mut self.roles_mut().central.core;
        core.site_add(site);
        let incarnation = core.join(site, now, replace).ok();
        incarnation.filter(|_| self.central_record(|_| {}))
    }

    /// A fresh orchestrator gets the seed of its site.
    fn local_seed(&mut self, site: usize) {
        let roles = self.roles();
        let name = roles.sites[site].name.clone();
        let seeded = roles.central.core.seed(&name, |blob| roles.git.text(blob));
        let seeded = seeded.expect("the site was added");
        if !seeded.left_out.is_empty() {
            self.breach(Breach::Seed, format!("left out of the seed: {:?}", seeded.left_out));
        }
        self.say(|_| "LO receives what CO knows of its site".to_owned());
        let empty = self.flaw() == Flaw::EmptySeed;
        let seed = if empty { Seed::default() } else { seeded.seed };
        self.before_seed(site, &seed);
        if self.local_step(site, Input::Seed(Box::new(seed))).is_some() {
            self.roles_mut().sites[site].seeded = true;
        }
    }
}

impl<H: Host> JoinShell for H {}
