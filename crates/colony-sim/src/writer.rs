//! CO's Git writer: a durable queue, compare and swap per file, rollbacks.
//!
//! A change stays in the queue until its outcome is recorded. Power may fail
//! before Git's ref is synced (nothing happened) or after it and before the
//! record (it is there already, and counts as done the second time).

use colony_core::fleet::{Revert, RevertDecision, revert_decision};
use colony_core::id::{BlobId, DeploymentName, SiteName};
use colony_testkit::blob;

use crate::network::Happening;
use crate::world::World;

const WORK: u64 = 4_000;

/// One file to be written or removed.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    site: SiteName,
    name: DeploymentName,
    /// What Git must hold for the change to be made.
    expected: Option<BlobId>,
    text: Option<String>,
    /// Git follows a rollback; otherwise an operator wants it.
    reverts: bool,
}

impl Change {
    fn path(&self) -> String {
        path(&self.site, &self.name)
    }
}

pub(crate) fn path(site: &SiteName, name: &DeploymentName) -> String {
    format!("deployments/{site}/{name}.yaml")
}

impl World {
    /// Follows rollbacks, and writes what is queued.
    pub(crate) fn central_work(&mut self) {
        let next = self.rng.range(WORK / 2..WORK * 2) * self.season.slowness();
        self.after(next, Happening::CentralWork);
        if !self.central.process.up {
            return;
        }
        // Found in the state, so no crash loses one.
        for revert in self.central.core.reverts_open() {
            self.queue_revert(&revert);
        }
        let queued: Vec<u64> = self.central.changes.keys().copied().collect();
        for number in queued {
            let delay = self.rng.range(20..3_000);
            self.after(delay, Happening::CentralPush { number });
        }
    }

    fn queue_revert(&mut self, revert: &Revert) {
        let path = path(&revert.site, &revert.name);
        let RevertDecision::Restore(good) = revert_decision(revert, self.git.blob_at_head(&path))
        else {
            return;
        };
        if self.central.changes.values().any(|it| it.path() == path) {
            return;
        }
        let Some(text) = self.git.text(&good) else {
            return self.violate(format!("Git has lost {good}, which was good at {path}"));
        };
        let expected = Some(revert.bad.blob.clone());
        let (site, name) = (revert.site.clone(), revert.name.clone());
        self.queue(Change { site, name, expected, text: Some(text), reverts: true });
    }

    /// An operator deploys through CO: accepted now, written a little later.
    pub(crate) fn central_deploy(&mut self, site: &SiteName, path: &str, text: Option<String>) {
        let name = path.rsplit('/').next().and_then(|it| it.strip_suffix(".yaml"));
        let name = name.and_then(|it| it.parse().ok()).filter(|_| self.central.process.up);
        let Some(name) = name else { return };
        let expected = self.git.blob_at_head(path).cloned();
        let now = self.central.process.now(self.now, &mut self.rng).wall;
        let _ = self.central.core.target_planned(site, &name, now);
        let site = site.clone();
        self.queue(Change { site, name, expected, text, reverts: false });
    }

    fn queue(&mut self, change: Change) {
        if self.central_store() {
            self.central.changes_count += 1;
            self.central.changes.insert(self.central.changes_count, change);
        }
    }

    /// A file that is not as expected is left alone: whoever was quicker wins.
    pub(crate) fn central_push(&mut self, number: u64) {
        let change = self.central.changes.get(&number).cloned();
        let Some(change) = change.filter(|_| self.central.process.up) else { return };
        let path = change.path();
        let found = self.git.blob_at_head(&path).cloned();
        let wanted = change.text.as_deref().map(blob);
        if found != wanted && found == change.expected {
            if self.dies() {
                return self.central_crash("before Git's ref was synced");
            }
            let verb = if change.reverts { "reverts" } else { "pushes" };
            self.note(|_| format!("CO {verb} {path}"));
            self.git.commit(vec![(path, change.text.clone())]);
            if self.dies() {
                return self.central_crash("after it wrote Git, before it recorded that");
            }
        }
        self.central_record(number, &change, found);
    }

    /// The outcome and the end of the change are one transaction.
    fn central_record(&mut self, number: u64, change: &Change, found: Option<BlobId>) {
        let now = self.central.process.now(self.now, &mut self.rng).wall;
        let wanted = change.text.as_deref().map(blob);
        let there = self.git.blob_at_head(&change.path()).cloned();
        let (core, site, name) = (&mut self.central.core, &change.site, &change.name);
        if there == wanted {
            let _ = core.target_committed(site, name, self.git.head().clone(), there, now);
        } else {
            let pair = (change.expected.clone(), found);
            let _ = core.target_conflict(site, name, pair, "", now);
            self.note(|_| format!("CO finds {} changed: conflict", change.path()));
        }
        if self.central_store() {
            self.central.changes.remove(&number);
        }
    }
}
