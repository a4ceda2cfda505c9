//! What a site says of its deployments: accepted, refused, rolled back, gone.

use colony_margo::Digest;

use crate::attempt::Revision;
use crate::event::{Body, Event};
use crate::fleet::pen::Pen;
use crate::fleet::view::{DeploymentView, RolledBack, StoppedAt};
use crate::fleet::{Effect, Revert, RowKey};
use crate::id::{DeploymentId, DeploymentName};
use crate::site::Quarantine;

/// As many as the site itself remembers.
const QUARANTINE_LIMIT: usize = 32;

impl Pen<'_> {
    /// Writes a deployment the view knows; an unknown one was never accepted.
    pub(super) fn deployment(
        &mut self,
        id: &DeploymentId,
        write: impl FnOnce(&mut DeploymentView),
    ) {
        if let Some(deployment) = self.view.deployments.get_mut(id) {
            write(deployment);
            self.mark(|site| RowKey::Deployment(site, id.clone()));
        }
    }

    pub(super) fn accepted(
        &mut self,
        event: &Event,
        id: &DeploymentId,
        name: &DeploymentName,
        revision: &Revision,
    ) {
        self.rename(id, name);
        let fresh = || blank(event, id, name, revision);
        let deployment = self.view.deployments.entry(id.clone()).or_insert_with(fresh);
        deployment.take(event, name, revision);
        self.mark(|site| RowKey::Deployment(site, id.clone()));
        self.removal_undone(id);
        self.adopt_policy(id, revision);
        self.target_accepted(name, Some(&revision.blob), event.at);
    }

    fn rename(&mut self, id: &DeploymentId, name: &DeploymentName) {
        let before = self.view.deployments.get(id).map(|it| it.name.clone());
        if let Some(before) = before.filter(|it| it != name) {
            self.unname(id, &before);
        }
        self.view.names.entry(name.clone()).or_default().insert(id.clone());
        self.link(name);
    }

    fn unname(&mut self, id: &DeploymentId, name: &DeploymentName) {
        if let Some(ids) = self.view.names.get_mut(name) {
            ids.remove(id);
            if ids.is_empty() {
                self.view.names.remove(name);
            }
        }
        self.unlink(name);
    }

    /// Another file with the same workload restarts nothing and is no event.
    fn adopt_policy(&mut self, id: &DeploymentId, revision: &Revision) {
        let mut adopted = Vec::new();
        for placement in self.view.placements.get_mut(id).into_iter().flat_map(|it| it.values_mut())
        {
            if let Some(target) = placement.revisions.target.as_mut()
                && target.workload == revision.workload
                && target != revision
            {
                target.clone_from(revision);
                adopted.push(placement.id.clone());
            }
        }
        for id in adopted {
            self.mark(|site| RowKey::Placement(site, id));
        }
    }

    pub(super) fn withdrawn(&mut self, event: &Event, id: &DeploymentId) {
        self.deployment(id, |it| (it.withdrawn, it.since) = (true, event.at));
        self.removal_undone(id);
        let name = self.view.deployments.get(id).map(|it| it.name.clone());
        if let Some(name) = name {
            self.target_accepted(&name, None, event.at);
        }
        self.forget_if_gone(id);
    }

    /// The deployment waits for nobody's release any more.
    fn removal_undone(&mut self, id: &DeploymentId) {
        let Some(removal) = self.view.holds.removal.as_mut() else { return };
        if !removal.deployments.remove(id) {
            return;
        }
        self.view.holds.removal.take_if(|it| it.deployments.is_empty());
        self.mark(RowKey::Holds);
    }

    /// The site forgets what is withdrawn and nowhere placed, without a word.
    pub(super) fn forget_if_gone(&mut self, id: &DeploymentId) {
        let gone = self.view.deployments.get(id).is_some_and(|it| it.withdrawn);
        if !gone || self.view.placements.contains_key(id) {
            return;
        }
        if let Some(deployment) = self.view.deployments.remove(id) {
            self.target_gone(&deployment.name);
            self.unname(id, &deployment.name);
            self.mark(|site| RowKey::Deployment(site, id.clone()));
        }
    }

    pub(super) fn quarantined(&mut self, event: &Event, id: &DeploymentId) {
        let Body::Quarantined { bad, good, node, failure, .. } = &event.body else { return };
        let entry = Quarantine {
            revision: bad.clone(),
            node: node.clone(),
            failure: failure.clone(),
            since: event.at,
        };
        self.deployment(id, |it| {
            it.quarantine.insert(bad.workload, entry);
            it.forget_oldest_quarantine();
            it.rolled_back = None;
            it.good = good.clone().or(it.good.take());
        });
    }

    pub(super) fn released(&mut self, id: &DeploymentId, workload: Digest) {
        self.deployment(id, |it| {
            it.quarantine.remove(&workload);
            it.release();
        });
    }

    pub(super) fn rolled_back(
        &mut self,
        event: &Event,
        id: &DeploymentId,
        bad: &Revision,
        good: Option<&Revision>,
    ) {
        let pair = RolledBack { bad: bad.clone(), good: good.cloned(), since: event.at };
        self.deployment(id, |it| it.rolled_back = Some(pair));
        let Some(name) = self.view.deployments.get(id).map(|it| it.name.clone()) else { return };
        self.effects.push(Effect::Revert(Revert {
            site: self.site.clone(),
            deployment: id.clone(),
            name,
            bad: bad.clone(),
            good: good.cloned(),
        }));
    }

    pub(super) fn stopped(&mut self, event: &Event, id: &DeploymentId) {
        let Body::RolloutStopped { revision, node, failure, .. } = &event.body else { return };
        let (workload, since) = (revision.workload, event.at);
        let stopped = StoppedAt { workload, node: node.clone(), failure: failure.clone(), since };
        self.deployment(id, |it| it.stopped = Some(stopped));
    }
}

impl DeploymentView {
    fn take(&mut self, event: &Event, name: &DeploymentName, revision: &Revision) {
        let workload = revision.workload;
        if self.accepted.workload != workload {
            self.since = event.at;
            self.rejected.retain(|_, it| *it == workload);
        }
        self.stopped.take_if(|it| it.workload != workload);
        // The revert of a bad revision is still the end of a rollback.
        self.rolled_back.take_if(|it| {
            let good = it.good.as_ref().map(|it| it.workload);
            it.bad.workload != workload && good != Some(workload)
        });
        self.name.clone_from(name);
        self.withdrawn = false;
        self.accepted.clone_from(revision);
    }

    /// An operator lets what was condemned here try again.
    pub(super) fn release(&mut self) {
        self.rejected.clear();
        self.stopped = None;
        self.rolled_back = None;
    }

    fn forget_oldest_quarantine(&mut self) {
        while self.quarantine.len() > QUARANTINE_LIMIT {
            let oldest = self.quarantine.iter().min_by_key(|it| it.1.since).map(|it| *it.0);
            oldest.map(|it| self.quarantine.remove(&it));
        }
    }
}

fn blank(
    event: &Event,
    id: &DeploymentId,
    name: &DeploymentName,
    revision: &Revision,
) -> DeploymentView {
    DeploymentView {
        id: id.clone(),
        name: name.clone(),
        accepted: revision.clone(),
        since: event.at,
        withdrawn: false,
        good: None,
        quarantine: Default::default(),
        rejected: Default::default(),
        stopped: None,
        rolled_back: None,
    }
}
