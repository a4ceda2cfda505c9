//! The shell of the simulated CO: stores batches, reverts, sends commands.

use std::collections::BTreeMap;

use colony_core::event::{Event, Incarnation};
use colony_core::fleet::{
    BatchRefusal, Changed, Fleet, Revert, RevertDecision, Row, RowKey, revert_decision,
};
use colony_core::id::{BlobId, DeploymentName, PlacementId, SiteName};
use colony_core::site::{Action, Input};
use colony_core::state::State;
use colony_margo::Digest;

use crate::local::Local;
use crate::network::{Happening, ToCentral, ToLocal};
use crate::process::Process;
use crate::world::World;

const WORK: u64 = 4_000;

/// The central orchestrator with its database.
#[derive(Debug)]
pub(crate) struct Central {
    pub core: Fleet,
    pub process: Process,
    rows: BTreeMap<RowKey, Row>,
    /// Every event that was acknowledged, with its hash.
    pub events: BTreeMap<(SiteName, Incarnation), Vec<(Event, Digest)>>,
}

impl Central {
    pub(crate) fn new() -> Central {
        let (rows, events) = (BTreeMap::new(), BTreeMap::new());
        Central { core: Fleet::new(), process: Process::new(), rows, events }
    }

    fn persist(&mut self, changed: &Changed) {
        for key in changed.keys() {
            match self.core.row(key) {
                Some(row) => self.rows.insert(key.clone(), row),
                None => self.rows.remove(key),
            };
        }
    }

    fn restored(&self) -> Fleet {
        let rows = self.rows.values().map(|it| {
            let text = serde_json::to_string(it).expect("a row can be written");
            serde_json::from_str::<Row>(&text).expect("a row can be read")
        });
        let mut core = Fleet::restore(rows);
        for ((site, incarnation), events) in &self.events {
            if core.site(site).and_then(|it| it.incarnation()) == Some(*incarnation) {
                let last = events.len().saturating_sub(256);
                core.recall(site, events[last..].iter().map(|it| it.1));
            }
        }
        core
    }
}

impl World {
    /// Lets an LO join; CO decides.
    pub(crate) fn central_join(&mut self, site: &SiteName, replace: bool) -> Option<Incarnation> {
        let now = self.central.process.now(self.now, &mut self.rng).wall;
        self.central.core.site_add(site);
        let incarnation = self.central.core.join(site, now, replace).ok();
        let changed = self.central.core.take_changed();
        self.central.persist(&changed);
        incarnation
    }

    /// Tells a fresh LO what CO knows of its site.
    pub(crate) fn local_seed(&mut self, site: usize) {
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
        self.local_step(site, Input::Seed(Box::new(seeded.seed)));
    }

    /// A site's LO is lost with its disk, and another one takes over.
    pub(crate) fn replace_local(&mut self, site: usize) {
        let name = self.sites[site].name.clone();
        if !self.central.process.up || self.now < self.sites[site].wan_until {
            return;
        }
        let Some(incarnation) = self.central_join(&name, true) else { return };
        self.note(|_| format!("LO {name} is replaced by incarnation {incarnation}"));
        let old = &self.sites[site];
        let mut fresh = Local::new(name, incarnation);
        fresh.process = old.process.clone();
        fresh.process.die();
        fresh.process.rise(self.now, fresh.core.clock());
        (fresh.cut_until, fresh.git_until) = (old.cut_until, old.git_until);
        self.sites[site] = fresh;
        let was_calm = std::mem::replace(&mut self.calm, true);
        self.local_seed(site);
        self.calm = was_calm;
    }

    pub(crate) fn central_receive(&mut self, site: usize, message: ToCentral) {
        if !self.central.process.up {
            return;
        }
        match message {
            ToCentral::Events { incarnation, events } => {
                self.central_events(site, incarnation, &events);
            }
            ToCentral::CommandsPlease => {
                let name = &self.sites[site].name;
                let open = self.central.core.commands_open(name).into_iter().cloned().collect();
                let message = ToLocal::Commands(open);
                self.send_far(site, Happening::ToLocal { site, message });
            }
        }
    }

    fn central_events(&mut self, site: usize, incarnation: Incarnation, events: &[Event]) {
        let now = self.central.process.now(self.now, &mut self.rng).wall;
        let name = self.sites[site].name.clone();
        let next = match self.central.core.apply(&name, events, now) {
            Ok(applied) => {
                if self.dies() {
                    return self.central_crash("before it persisted");
                }
                self.central.persist(&applied.changed);
                let stored = self.central.events.entry((name, incarnation)).or_default();
                stored.extend(applied.fresh.into_iter().zip(applied.hashes));
                applied.next_seq
            }
            Err(BatchRefusal::Gap { next_seq }) => next_seq,
            Err(BatchRefusal::Fenced { current }) => {
                let message = ToLocal::Fenced { by: current };
                return self.send_far(site, Happening::ToLocal { site, message });
            }
            Err(refusal) => return self.violate(format!("CO refuses a batch: {refusal}")),
        };
        self.check_acknowledged(site);
        if self.dies() {
            return self.central_crash("before it answered");
        }
        let message = ToLocal::EventsTaken { incarnation, next };
        self.send_far(site, Happening::ToLocal { site, message });
    }

    /// What CO has stored is what the LO has written.
    fn check_acknowledged(&mut self, site: usize) {
        let local = &self.sites[site];
        let key = (local.name.clone(), local.core.log().incarnation);
        let Some(stored) = self.central.events.get(&key) else { return };
        let differs = stored.len() > local.log.len()
            || stored.last().is_some_and(|it| it.0 != local.log[stored.len() - 1]);
        if differs {
            let name = local.name.clone();
            self.violate(format!("LO {name} has lost or changed an acknowledged event"));
        }
    }

    /// Follows rollbacks with commits: found in the state, so no crash loses one.
    pub(crate) fn central_work(&mut self) {
        let next = self.rng.range(WORK / 2..WORK * 2);
        self.after(next, Happening::CentralWork);
        if !self.central.process.up {
            return;
        }
        for revert in self.central.core.reverts_open() {
            let delay = self.rng.range(20..3_000);
            self.after(delay, Happening::CentralRevert(revert));
        }
    }

    /// Only the bad file is replaced: whoever was quicker wins.
    pub(crate) fn central_revert(&mut self, revert: &Revert) {
        let path = format!("deployments/{}/{}.yaml", revert.site, revert.name);
        let decision = revert_decision(revert, self.git.blob_at_head(&path));
        let RevertDecision::Restore(blob) = decision else { return };
        let Some(text) = self.git.text(&blob).filter(|_| self.central.process.up) else { return };
        self.note(|_| format!("CO reverts {path}"));
        self.git.commit(vec![(path, Some(text))]);
        if self.dies() {
            self.central_crash("after it reverted");
        }
    }

    /// An operator deploys through CO: written now, pushed a little later.
    pub(crate) fn central_deploy(&mut self, site: usize, path: &str, text: Option<String>) {
        let Some(name) = path.rsplit('/').next().and_then(|it| it.strip_suffix(".yaml")) else {
            return;
        };
        let Some(name) = name.parse().ok().filter(|_| self.central.process.up) else { return };
        let expected = self.git.blob_at_head(path).cloned();
        let now = self.central.process.now(self.now, &mut self.rng).wall;
        let site_name = self.sites[site].name.clone();
        let _ = self.central.core.target_planned(&site_name, &name, now);
        self.central_store();
        let delay = self.rng.range(50..8_000);
        self.after(delay, Happening::CentralPush { site, name, expected, text });
    }

    /// Compare and swap: a file somebody else wrote is left alone.
    pub(crate) fn central_push(
        &mut self,
        site: usize,
        name: DeploymentName,
        expected: Option<BlobId>,
        text: Option<String>,
    ) {
        if !self.central.process.up {
            let push = Happening::CentralPush { site, name, expected, text };
            return self.after(5_000, push);
        }
        let site_name = self.sites[site].name.clone();
        let path = format!("deployments/{site_name}/{name}.yaml");
        let found = self.git.blob_at_head(&path).cloned();
        let now = self.central.process.now(self.now, &mut self.rng).wall;
        let core = &mut self.central.core;
        if found != expected {
            let _ = core.target_conflict(&site_name, &name, (expected, found), "", now);
            self.note(|_| format!("CO finds {path} changed: conflict"));
        } else {
            self.git.commit(vec![(path.clone(), text)]);
            let (head, blob) = (self.git.head().clone(), self.git.blob_at_head(&path).cloned());
            let _ = core.target_committed(&site_name, &name, head, blob, now);
            self.note(|_| format!("CO pushes {path}"));
        }
        self.central_store();
    }

    fn central_store(&mut self) {
        let changed = self.central.core.take_changed();
        self.central.persist(&changed);
    }

    pub(crate) fn central_command(&mut self, site: usize, action: Action) {
        if !self.central.process.up {
            return;
        }
        let name = self.sites[site].name.clone();
        let now = self.central.process.now(self.now, &mut self.rng).wall;
        let expires = now.after(std::time::Duration::from_secs(600));
        let _ = self.central.core.command(&name, action, "ben", expires);
        let changed = self.central.core.take_changed();
        self.central.persist(&changed);
    }

    pub(crate) fn central_crash(&mut self, when: &str) {
        if !self.central.process.up {
            return;
        }
        let down = self.rng.range(500..60_000);
        self.note(|_| format!("CO dies {when}"));
        self.central.process.die();
        self.after(down, Happening::CentralUp);
    }

    pub(crate) fn central_up(&mut self) {
        if self.central.process.up {
            return;
        }
        self.central.core = self.central.restored();
        self.central.process.rise(self.now, Default::default());
        self.note(|_| "CO is back".to_owned());
    }

    /// CO has been told everything, and believes what is.
    pub(crate) fn central_unfinished(&self, site: usize) -> Option<String> {
        let local = &self.sites[site];
        let view = self.central.core.site(&local.name)?;
        let mine = local.core.placements().map(|it| (it.id.clone(), it.state()));
        let mine: BTreeMap<PlacementId, State> = mine.collect();
        let theirs = view.placements.values().flat_map(|it| it.values());
        let theirs = theirs.map(|it| (it.id.clone(), it.state)).collect();
        if mine != theirs {
            return Some(format!("CO believes {theirs:?} of {}", local.name));
        }
        let flagged =
            view.placements.values().flat_map(|it| it.values()).find(|it| it.flagged.is_some());
        if let Some(flagged) = flagged {
            return Some(format!(
                "CO flags {} at {}: {:?}",
                flagged.id, local.name, flagged.flagged
            ));
        }
        let reverts = self.central.core.reverts_open();
        // Where somebody edited the file since, it is theirs to mend.
        reverts.iter().find_map(|it| {
            let path = format!("deployments/{}/{}.yaml", it.site, it.name);
            let decision = revert_decision(it, self.git.blob_at_head(&path));
            let open = matches!(decision, RevertDecision::Restore(_));
            open.then(|| format!("{path} is not reverted"))
        })
    }
}
