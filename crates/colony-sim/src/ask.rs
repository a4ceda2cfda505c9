//! `why` under fire: at random moments every role is asked about everything.
//!
//! Whatever is not final must have an answer, at its site and at CO, and the
//! answer must be more than that nothing is known.

use std::time::Duration;

use colony_core::site::Site;
use colony_core::state::State;
use colony_core::time::Now;
use colony_core::why::{self, Why};
use colony_testkit::{is_open, is_vague};

use crate::network::Happening;
use crate::world::World;

impl World {
    pub(crate) fn ask(&mut self) {
        let next = self.rng.range(15_000..90_000) * self.season.slowness();
        self.after(next, Happening::Ask);
        for site in 0..self.sites.len() {
            if self.sites[site].process.up {
                self.ask_site(site);
            }
        }
        if self.central.process.up {
            self.ask_central();
        }
    }

    fn ask_site(&mut self, site: usize) {
        let now = self.sites[site].process.now(self.now, &mut self.rng);
        let now = if self.rng.chance(20) { self.later(now) } else { now };
        let core = &self.sites[site].core;
        let mut answers = why::site(core, now);
        let mut mute = (answers.is_empty() && !core.is_ready()).then(|| "the site".to_owned());
        for deployment in core.deployments() {
            let all = why::deployment_by_id(core, &deployment.id, now);
            if all.is_empty() && is_open(core, deployment) {
                mute.get_or_insert(deployment.name.to_string());
            }
            answers.extend(all);
        }
        mute = mute.or(ask_placements(core, now, &mut answers));
        mute = mute.or(ask_nodes(core, &mut answers));
        let vague = answers.iter().map(|it| it.text(now.wall)).find(|it| is_vague(it));
        answers.extend(self.sites[site].answers.current().cloned());
        answers.iter().for_each(|it| self.coverage.why(it));
        let name = &self.sites[site].name;
        let mute = mute.map(|it| format!("{name} does not know why {it} is not as it should be"));
        if let Some(what) = mute.or(vague.map(|it| format!("{name} says only: {it}"))) {
            self.violate(what);
        }
    }

    /// A busy LO is behind with its timers when somebody asks.
    fn later(&mut self, now: Now) -> Now {
        let behind = Duration::from_millis(self.rng.range(1_000..600_000));
        Now { mono: now.mono.after(behind), wall: now.wall.after(behind), ..now }
    }

    fn ask_central(&mut self) {
        let now = self.central.process.now(self.now, &mut self.rng).wall;
        let fleet = &self.central.core;
        let mut wrong = None;
        let mut shown = Vec::new();
        for (site, view) in fleet.sites() {
            let own = fleet.deployment_names().filter(|it| fleet.sites_of(it).any(|s| s.0 == site));
            for name in own {
                let standing = view.standing(name);
                let all = fleet.why(site, name, None, now).unwrap_or_default();
                if all.is_empty() && !standing.is_at_rest() {
                    wrong = Some(format!("CO does not know why {name} is {standing} at {site}"));
                }
                if let Some(it) = all.iter().map(|it| it.text(now)).find(|it| is_vague(it)) {
                    wrong = Some(format!("CO says only of {name} at {site}: {it}"));
                }
                shown.extend(all);
            }
            let failed = view.placements.values().flat_map(|it| it.values());
            let mut failed = failed.filter(|it| matches!(it.state, State::Failed(_)));
            if let Some(it) = failed.find(|it| it.failure.is_none()) {
                wrong = Some(format!("CO does not know how {} has failed at {site}", it.id));
            }
        }
        shown.iter().for_each(|it| self.coverage.why(it));
        if let Some(what) = wrong {
            self.violate(what);
        }
    }
}

fn ask_placements(core: &Site, now: Now, answers: &mut Vec<Why>) -> Option<String> {
    let mut mute = None;
    for placement in core.placements() {
        match why::placement(core, &placement.id, now) {
            Some(why) => answers.push(why),
            None if placement.state().is_final() => {}
            None => mute = Some(placement.id.to_string()),
        }
    }
    mute
}

fn ask_nodes(core: &Site, answers: &mut Vec<Why>) -> Option<String> {
    let mut mute = None;
    for member in core.members() {
        let open = member.is_online() && !member.is_cordoned() && member.capabilities().is_some();
        match why::node(core, &member.name) {
            Some(why) => answers.push(why),
            None if open => {}
            None => mute = Some(member.name.to_string()),
        }
    }
    mute
}
